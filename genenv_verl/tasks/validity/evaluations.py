# Copyright 2025 Individual Contributor: the genenv_verl authors
#
# Licensed under the Apache License, Version 2.0 (the "License");
# you may not use this file except in compliance with the License.
# You may obtain a copy of the License at
#
#     http://www.apache.org/licenses/LICENSE-2.0
#
# Unless required by applicable law or agreed to in writing, software
# distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied.
# See the License for the specific language governing permissions and
# limitations under the License.
"""Rules on the evaluation: it can run, and it tells a right answer from a wrong one."""

from __future__ import annotations

from rapidfuzz import fuzz

from genenv_verl.tasks.novelty import normalise_text
from genenv_verl.tasks.validity.registry import Candidate, rule

_REFUSAL = "I'm sorry, but I can't help with that."


@rule("checker_unavailable")
def checker_can_run(candidate: Candidate) -> str | None:
    if candidate.task.evaluation.kind == "checker" and not candidate.limits.allow_checkers:
        return "no sandbox is configured that could run the checker"
    return None


@rule("indiscriminate")
def evaluation_rejects_empty_answers(candidate: Candidate) -> str | None:
    """An evaluation must fail responses that solve nothing: silence, an echo of the goal, a refusal."""
    task = candidate.task
    if task.evaluation.kind == "exact_match" and not task.gold_action and candidate.seed.gold_action != []:
        return "every answer without a call would succeed, and the seed wants a call or an answer"
    if task.evaluation.kind != "reference_answer":
        return None
    reference = normalise_text(task.evaluation.reference or "")
    limit = 100 * task.evaluation.success_threshold
    for name, probe in (("an empty answer", ""), ("the goal itself", task.context.goal), ("a refusal", _REFUSAL)):
        if fuzz.ratio(normalise_text(probe), reference, score_cutoff=limit) >= limit:
            return f"{name} would reach the threshold {task.evaluation.success_threshold:g}"
    return None
