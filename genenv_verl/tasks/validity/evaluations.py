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
"""Rules on the evaluation that need no trial."""

from __future__ import annotations

from genenv_verl.tasks.validity.registry import Candidate, rule


@rule("checker_unavailable")
def checker_can_run(candidate: Candidate) -> str | None:
    if candidate.task.evaluation.kind == "checker" and candidate.limits.checkers is None:
        return "no sandbox is configured that could run the checker"
    return None


@rule("indiscriminate")
def evaluation_rejects_empty_answers(candidate: Candidate) -> str | None:
    """Where no call is the gold, every sentence succeeds: sound only for a seed that is of this kind itself."""
    task = candidate.task
    if task.evaluation.kind == "exact_match" and not task.gold_action and candidate.seed.gold_action != []:
        return "every answer without a call would succeed, and the seed wants a call or an answer"
    return None
