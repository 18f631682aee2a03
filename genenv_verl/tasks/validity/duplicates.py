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
"""Rules on tasks that exist already."""

from __future__ import annotations

from genenv_verl.tasks.novelty import fingerprint
from genenv_verl.tasks.validity.registry import Candidate, rule


@rule("duplicate")
def is_new(candidate: Candidate) -> str | None:
    mark = fingerprint(candidate.task)
    if mark == fingerprint(candidate.seed):
        return "goal and gold are the seed's"
    return "an earlier task has this goal and gold" if mark in candidate.limits.seen else None


@rule("contradicts_seed")
def leaves_the_seed_its_gold(candidate: Candidate) -> str | None:
    """To the prompt of a seed the seed's gold is right: a copy of the prompt with another gold is wrong, or not new."""
    task, seed = candidate.task, candidate.seed
    # Letter case and all else that normalisation takes away may be what is asked: 5 mW and 5 MW, 10² and 102.
    if task.context.goal.split() != seed.context.goal.split():
        return None
    same_prompt = task.context.model_copy(update={"goal": seed.context.goal}) == seed.context
    if not same_prompt or fingerprint(task) == fingerprint(seed):
        return None
    return "asks word for word what the seed asks, and has another gold"


@rule("near_duplicate")
def is_no_paraphrase(candidate: Candidate) -> str | None:
    novelty = candidate.novelty
    if novelty is None or novelty.near_duplicate_of is None:
        return None
    return f"says in other words what {novelty.near_duplicate_of} says"


@rule("same_template")
def changes_more_than_names_and_numbers(candidate: Candidate) -> str | None:
    novelty, limit = candidate.novelty, candidate.limits.max_same_template
    if novelty is None or limit is None or novelty.template_uses < limit:
        return None
    return f"{novelty.template_uses} tasks differ from it in names and numbers only"


@rule("contaminated")
def is_apart_from_the_evaluation(candidate: Candidate) -> str | None:
    evaluation = candidate.limits.evaluation
    return None if evaluation is None else evaluation.overlap(candidate.task)
