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
"""Rules that try the evaluation: it accepts the gold and rejects wrong answers. The dearest rules, hence the last."""

from __future__ import annotations

from genenv_verl.tasks.generation import Rejection
from genenv_verl.tasks.self_test import judge_checker, judge_scorer
from genenv_verl.tasks.validity.registry import Candidate, rule


@rule("reference_undiscriminating")
def reward_tells_gold_from_wrong_answers(candidate: Candidate) -> Rejection | None:
    if candidate.task.evaluation.kind == "checker":
        return None
    return judge_scorer(candidate.task, candidate.seed, candidate.limits.solves)


@rule("checker_undiscriminating")
def checker_tells_gold_from_wrong_answers(candidate: Candidate) -> Rejection | None:
    if candidate.task.evaluation.kind != "checker":
        return None
    return judge_checker(candidate.task, candidate.seed, candidate.limits.checkers)
