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
"""What a finding is, and the list of all rules that make one."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from genenv_verl.report.diagnose.facts import Facts

Figure = float | int | str


@dataclass(frozen=True)
class Remedy:
    """A configuration key that may help, and how."""

    key: str
    advice: str


@dataclass(frozen=True)
class Finding:
    """Something about a run that a person should look at.

    Attributes:
        says: One or two sentences in plain language, with the figures in them.
        figures: The figures that it rests on, by the names of the run's fields.
        remedies: Keys to try, the most promising first.
    """

    says: str
    figures: dict[str, Figure]
    remedies: tuple[Remedy, ...]


Rule = Callable[[Facts], Finding | None]

RULES: dict[str, Rule] = {}


def rule(name: str) -> Callable[[Rule], Rule]:
    """Registers a rule under the name of its finding.

    Raises:
        ValueError: The name is taken.
    """

    def register(function: Rule) -> Rule:
        if name in RULES:
            raise ValueError(f"a rule {name!r} is registered already")
        RULES[name] = function
        return function

    return register
