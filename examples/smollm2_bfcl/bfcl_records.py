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
"""Single-turn records of the Berkeley Function-Calling Leaderboard as tasks, read out of the ``bfcl-eval`` wheel.

A record is one user message and the tools that it may use. Its answer lists the acceptable values of every argument; a
task needs one gold action, so one value of each list is taken.
"""

from __future__ import annotations

import json
import zipfile
from pathlib import Path
from typing import Any

from genenv_verl.benchmarks.bfcl_release import json_schema
from genenv_verl.tasks.schema import Task
from genenv_verl.tasks.validity import (
    Candidate,
    ValidityFilter,
    gold_is_not_in_the_prompt,
    gold_satisfies_the_tool_schemas,
    gold_uses_declared_tools,
    tool_schemas_are_sound,
)

CATEGORIES = ("simple_python", "multiple", "parallel", "parallel_multiple", "live_simple", "live_multiple")


def gold_arguments(acceptable: dict[str, list[Any]]) -> dict[str, Any]:
    """One value of each list of acceptable ones: the first.

    An argument with ``""`` among its values may be left out, and is. An object among the values holds lists of
    acceptable values itself.

    Raises:
        ValueError: an argument has something else than a list of values.
    """
    if not all(isinstance(values, list) for values in acceptable.values()):
        raise ValueError(f"not every argument has a list of acceptable values: {acceptable}")
    return {name: _plain(values[0]) for name, values in acceptable.items() if values and "" not in values}


def _plain(value: Any) -> Any:
    if isinstance(value, dict):
        return gold_arguments(value)
    if isinstance(value, list):
        return [_plain(item) for item in value]
    if isinstance(value, float) and value.is_integer():
        # "a radius of 5" has the answer 5.0; in JSON both are the same number, and this is how the goal spells it
        return int(value)
    return value


def to_task(record: dict[str, Any], ground_truth: list[dict[str, Any]], category: str) -> Task:
    """A record and its answer as a task of the family ``bfcl/<category>``.

    Raises:
        ValueError: the record is no single turn, or its answer is no list of acceptable values an argument.
    """
    turns = record["question"]
    roles = [message["role"] for message in turns[0]]
    if len(turns) != 1 or roles not in (["user"], ["system", "user"]):
        raise ValueError(f"{record['id']}: {len(turns)} turns with the roles {roles}")
    *system, user = (message["content"].strip() for message in turns[0])
    functions = [{**function, "parameters": json_schema(function["parameters"])} for function in record["function"]]
    calls = [(name, gold_arguments(acceptable)) for call in ground_truth for name, acceptable in call.items()]
    return Task.model_validate(
        {
            "task_id": record["id"],
            "family": f"bfcl/{category}",
            "context": {
                "system": "".join(system),
                "tools": [{"type": "function", "function": function} for function in functions],
                "goal": user,
            },
            "gold_action": [{"name": name, "arguments": arguments} for name, arguments in calls],
        }
    )


def is_sound(task: Task, limits: ValidityFilter) -> bool:
    """Whether the tools are valid, and the gold fits them and is not spelled out in the goal."""
    candidate = Candidate(task, task, limits)
    rules = (
        tool_schemas_are_sound,
        gold_uses_declared_tools,
        gold_satisfies_the_tool_schemas,
        gold_is_not_in_the_prompt,
    )
    return all(complaint_about(candidate) is None for complaint_about in rules)


def read_wheel(wheel: Path) -> tuple[list[Task], int]:
    """The single-turn records of a ``bfcl-eval`` wheel, in the order of ``CATEGORIES`` and of their files.

    Returns:
        The tasks, and the number of records that ``to_task`` refuses.

    Raises:
        KeyError: the wheel lacks one of the categories.
    """
    tasks: list[Task] = []
    others = 0
    with zipfile.ZipFile(wheel) as archive:
        for category in CATEGORIES:
            answers = _json_lines(archive, f"bfcl_eval/data/possible_answer/BFCL_v4_{category}.json")
            truth_of = {answer["id"]: answer["ground_truth"] for answer in answers}
            for record in _json_lines(archive, f"bfcl_eval/data/BFCL_v4_{category}.json"):
                try:
                    tasks.append(to_task(record, truth_of[record["id"]], category))
                except ValueError:
                    others += 1
    return tasks, others


def _json_lines(archive: zipfile.ZipFile, name: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in archive.read(name).decode().splitlines() if line.strip()]
