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
"""The register of validity rules and the filter that applies them."""

from __future__ import annotations

from collections.abc import Callable, Container
from dataclasses import dataclass

from genenv_verl.tasks.generation import Rejection
from genenv_verl.tasks.schema import Task


@dataclass(frozen=True)
class ValidityFilter:
    """Accepts or rejects the environment's tasks.

    Attributes:
        max_prompt_tokens: Limit of the agent's prompt, in tokens.
        max_response_tokens: Limit of the agent's response, in tokens: the gold must fit.
        count_prompt_tokens: Counts the tokens of the agent's prompt for a task.
        count_response_tokens: Counts the tokens of a response text.
        seen: The fingerprints of this epoch's tasks and of the pools, usually a ``SeenTasks``. Read only: the caller
            adds what it takes.
        allow_checkers: Whether a sandbox can run checkers. Without one they are refused: a checker that cannot be
            tested scores nothing (fail closed).
        control_tokens: Texts of the tokenizer's special tokens. A chat template turns them into the tokens themselves,
            so a task that spells one could end the agent's turn or open a system turn.
    """

    max_prompt_tokens: int
    max_response_tokens: int
    count_prompt_tokens: Callable[[Task], int]
    count_response_tokens: Callable[[str], int]
    seen: Container[str]
    allow_checkers: bool = False
    control_tokens: frozenset[str] = frozenset()

    def check(self, task: Task, seed: Task) -> Rejection | None:
        """The first rule's complaint about a task that the environment wrote from ``seed``, or None if it is valid."""
        candidate = Candidate(task, seed, self)
        for reason, complaint_about in RULES.items():
            if (detail := complaint_about(candidate)) is not None:
                return Rejection(reason, detail)
        return None


@dataclass(frozen=True)
class Candidate:
    """What a rule may look at."""

    task: Task
    seed: Task
    limits: ValidityFilter


Rule = Callable[[Candidate], str | None]

RULES: dict[str, Rule] = {}


def rule(reason: str) -> Callable[[Rule], Rule]:
    """Registers a rule under the reason that is counted.

    Raises:
        ValueError: Another rule has this reason.
    """

    def register(function: Rule) -> Rule:
        if reason in RULES:
            raise ValueError(f"a validity rule with the reason {reason!r} exists already: {RULES[reason].__name__}")
        RULES[reason] = function
        return function

    return register
