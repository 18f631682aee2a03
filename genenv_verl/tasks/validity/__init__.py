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
"""Which tasks may reach the agent: every rule is a small function with a reason of its own (SPEC section 3).

A new rule is a function that looks at a ``Candidate`` and returns what is wrong, or None::

    @rule("shouting")
    def goal_is_not_all_capitals(candidate: Candidate) -> str | None:
        return "the goal is all capitals" if candidate.task.context.goal.isupper() else None

Rules run in the order of their registration and the first complaint counts. The modules below are imported in that
order: the cheap rules, and those that bound the size of what the others read, stand first. A run loads rules of its own
with ``genenv.validity_rules``.
"""

# isort: off
from genenv_verl.tasks.validity.registry import RULES, Candidate, ValidityFilter, load_rules, rule
from genenv_verl.tasks.validity import texts
from genenv_verl.tasks.validity import duplicates
from genenv_verl.tasks.validity import golds
from genenv_verl.tasks.validity import tools
from genenv_verl.tasks.validity import evaluations
from genenv_verl.tasks.validity import prompts
from genenv_verl.tasks.validity import self_tests

# isort: on
from genenv_verl.tasks.self_test import gold_response
from genenv_verl.tasks.validity.golds import gold_is_not_in_the_prompt
from genenv_verl.tasks.validity.tools import (
    gold_satisfies_the_tool_schemas,
    gold_uses_declared_tools,
    tool_schemas_are_sound,
    undeclared_tools,
)

__all__ = [
    "RULES",
    "Candidate",
    "ValidityFilter",
    "duplicates",
    "evaluations",
    "gold_is_not_in_the_prompt",
    "gold_response",
    "gold_satisfies_the_tool_schemas",
    "gold_uses_declared_tools",
    "golds",
    "load_rules",
    "prompts",
    "rule",
    "self_tests",
    "texts",
    "tool_schemas_are_sound",
    "tools",
    "undeclared_tools",
]
