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
"""Which records are seeds, which are held out and which warm the models up."""

from __future__ import annotations

import random
from collections import defaultdict
from dataclasses import dataclass

from genenv_verl.tasks.schema import Task


@dataclass(frozen=True)
class Split:
    """Records by use."""

    seeds: list[Task]
    validation: list[Task]
    warm_start: list[Task]


def split_by_tools(tasks: list[Task], n_seeds: int, n_validation: int, rng: random.Random) -> Split:
    """Splits so that records which share a tool, directly or through others, stay together.

    Large groups go to the warm start: one of them would be most of the validation. So does what is left over. The
    result depends on the order of ``tasks`` and on ``rng`` alone.
    """
    groups = tool_groups(tasks)
    rng.shuffle(groups)
    split = Split([], [], [])
    largest = max(1, n_validation // 8)
    for group in groups:
        if len(group) > largest:
            split.warm_start.extend(group)
        elif len(split.validation) + len(group) <= n_validation:
            split.validation.extend(group)
        elif len(split.seeds) + len(group) <= n_seeds:
            split.seeds.extend(group)
        else:
            split.warm_start.extend(group)
    return split


def tool_groups(tasks: list[Task]) -> list[list[Task]]:
    """The connected components of records under "has a tool of the same name", in the order of their first record."""
    parent: dict[str, str] = {}

    def root(name: str) -> str:
        while parent.setdefault(name, name) != name:
            name = parent[name]
        return name

    for task in tasks:
        first, *others = (tool.name for tool in task.context.tools)
        for name in others:
            parent[root(name)] = root(first)
    groups: dict[str, list[Task]] = defaultdict(list)
    for task in tasks:
        groups[root(task.context.tools[0].name)].append(task)
    return list(groups.values())
