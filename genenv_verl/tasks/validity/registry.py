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

import importlib
import importlib.util
import sys
from collections.abc import Callable, Container, Iterable
from dataclasses import dataclass
from pathlib import Path

from genenv_verl.tasks.contamination import EvaluationSet
from genenv_verl.tasks.generation import Rejection
from genenv_verl.tasks.near_duplicates import Novelty
from genenv_verl.tasks.sandbox.base import CheckerBackend
from genenv_verl.tasks.schema import Task
from genenv_verl.tasks.self_test import Solves


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
        solves: R_agent as the run applies it. With it the gold and, for reference answers, the wrong answers of the
            self-test are tried.
        checkers: What runs checkers. Without it they are refused: a checker that cannot be tested scores nothing (fail
            closed).
        evaluation: The tasks that the agent is evaluated on; None: there are none.
        max_same_template: How many valid tasks may differ in names and numbers only; None: any number.
        control_tokens: Texts of the tokenizer's special tokens. A chat template turns them into the tokens themselves,
            so a task that spells one could end the agent's turn or open a system turn.
    """

    max_prompt_tokens: int
    max_response_tokens: int
    count_prompt_tokens: Callable[[Task], int]
    count_response_tokens: Callable[[str], int]
    seen: Container[str]
    solves: Solves
    checkers: CheckerBackend | None = None
    evaluation: EvaluationSet | None = None
    max_same_template: int | None = None
    control_tokens: frozenset[str] = frozenset()

    def check(self, task: Task, seed: Task, novelty: Novelty | None = None) -> Rejection | None:
        """The first rule's complaint about a task that the environment wrote from ``seed``, or None if it is valid.

        Args:
            task: What the environment wrote.
            seed: The seed task.
            novelty: How new the task is; None leaves out the rules on near-duplicates.
        """
        candidate = Candidate(task, seed, self, novelty)
        for reason, complaint_about in RULES.items():
            complaint = complaint_about(candidate)
            if complaint is not None:
                return complaint if isinstance(complaint, Rejection) else Rejection(reason, complaint)
        return None


@dataclass(frozen=True)
class Candidate:
    """What a rule may look at."""

    task: Task
    seed: Task
    limits: ValidityFilter
    novelty: Novelty | None = None


Rule = Callable[[Candidate], str | Rejection | None]
"""What is wrong with a candidate, or None. A rule that tells several faults apart returns a ``Rejection`` itself."""

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


def load_rules(modules: Iterable[str]) -> None:
    """Imports modules that register further rules; each of them once, however often it is named.

    Args:
        modules: Importable names (``my_project.rules``) or paths of Python files (``rules/shouting.py``).

    Raises:
        ValueError: A module is not there, fails, or brings a reason that exists already.
    """
    for name in modules:
        try:
            _import(name)
        except Exception as error:  # The boundary to the user's code: whatever it raises, the message names the module.
            raise ValueError(f"genenv.validity_rules: {name!r} cannot be imported: {error!r}") from error


def _import(name: str) -> None:
    if not name.endswith(".py"):
        importlib.import_module(name)
        return
    path = Path(name).resolve()
    known = f"genenv_rules:{path}"
    if known in sys.modules:
        return
    spec = importlib.util.spec_from_file_location(known, path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    sys.modules[known] = module
