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
"""What is in a task file, line by line, with the reason for each line that is no valid task.

Read are files of tasks, verl's rows, and a run's ``tasks/epoch_0007.jsonl``, whose lines are generations: the task or
the reason of its rejection, the agent's attempts, p̂ and R_env.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from genenv_verl.tasks.generation import Rejection
from genenv_verl.tasks.records import RecordError, scan_records, task_of
from genenv_verl.tasks.sandbox.base import CheckerBackend
from genenv_verl.tasks.schema import Task
from genenv_verl.tasks.self_test import Solves
from genenv_verl.tasks.validity import RULES, Candidate, ValidityFilter

# Rules that need a run's seeds and pools. The others judge a task by itself, or say nothing without a run.
_RULES_OF_A_RUN = ("duplicate",)
_RULES_ON_CHECKERS = ("checker_unavailable", "checker_undiscriminating")
# What a run has tried with its own reward and sandbox is not tried again with the defaults.
_RULES_TRIED_BY_A_RUN = (*_RULES_ON_CHECKERS, "reference_undiscriminating")


@dataclass(frozen=True, slots=True)
class InspectedTask:
    """A line of a task file.

    Attributes:
        row: Its number, from 1.
        task: The task, None if the line holds none.
        reason: Why it is not valid: a reason of ``RecordError``, of a validity rule, or the run's own rejection. None
            if it is valid.
        detail: What is wrong in particular.
        generation: The line of an epoch's task file (``attempts``, ``p_hat``, ``reward``, ``text`` …), else empty.
    """

    row: int
    task: Task | None
    reason: str | None = None
    detail: str = ""
    generation: Mapping[str, Any] = field(default_factory=dict)

    @property
    def task_id(self) -> str | None:
        return self.task.task_id if self.task else self.generation.get("task_id")


def inspect_tasks(path: str | Path, solves: Solves, checkers: CheckerBackend | None = None) -> Iterator[InspectedTask]:
    """Reads a file line by line; whatever stands in a line, it is reported and the next is read.

    A task is checked against the schema and against the validity rules that need no run: no tokenizer, no pool.

    Args:
        path: ``.jsonl``, ``.json`` or ``.parquet``, see ``scan_records``.
        solves: R_agent, for the rule that tries a task's gold and wrong answers; a run's tasks have been tried by it.
        checkers: What tries checkers, but for those of a run's tasks, which the run has tried. None: they are not run.

    Raises:
        TaskFileError: The file cannot be read at all.
    """
    rows_of: dict[str, int] = {}
    for row, record in scan_records(path):
        inspected = _inspect(row, record, solves, checkers)
        if inspected.task is not None:
            earlier = rows_of.setdefault(inspected.task.task_id, row)
            if earlier != row and inspected.reason is None:
                detail = f"task_id {inspected.task.task_id!r} is row {earlier}'s already"
                inspected = InspectedTask(row, inspected.task, "duplicate_id", detail, inspected.generation)
        yield inspected


def _inspect(row: int, record: Any, solves: Solves, checkers: CheckerBackend | None) -> InspectedTask:
    if isinstance(record, RecordError):
        return InspectedTask(row, None, record.reason, str(record))
    generation: Mapping[str, Any] = {}
    left_out = _RULES_OF_A_RUN if checkers else _RULES_OF_A_RUN + _RULES_ON_CHECKERS
    if isinstance(record, Mapping) and "rejection" in record and "task" in record:
        generation, rejection = record, record["rejection"]
        if record["task"] is None:
            known = isinstance(rejection, Mapping)
            reason = str(rejection.get("reason")) if known else "schema"
            detail = str(rejection.get("detail", "")) if known else "neither a task nor a rejection"
            return InspectedTask(row, None, reason, detail, generation)
        record, left_out = record["task"], _RULES_OF_A_RUN + _RULES_TRIED_BY_A_RUN
    try:
        task = task_of(record)
    except RecordError as error:
        return InspectedTask(row, None, error.reason, str(error), generation)
    return InspectedTask(row, task, *first_complaint(task, solves, checkers, left_out), generation)


def first_complaint(
    task: Task,
    solves: Solves,
    checkers: CheckerBackend | None = None,
    left_out: tuple[str, ...] = _RULES_OF_A_RUN + _RULES_ON_CHECKERS,
) -> tuple[str | None, str]:
    """The first validity rule that a task breaks by itself, and what is wrong; None and no text for a valid one."""
    no_limits = ValidityFilter(
        max_prompt_tokens=0,
        max_response_tokens=0,
        count_prompt_tokens=lambda task: 0,
        count_response_tokens=lambda text: 0,
        seen=frozenset(),
        solves=solves,
        checkers=checkers,
    )
    candidate = Candidate(task, task, no_limits)
    for reason, complaint_about in RULES.items():
        complaint = None if reason in left_out else complaint_about(candidate)
        if isinstance(complaint, Rejection):
            return complaint.reason, complaint.detail
        if complaint is not None:
            return reason, complaint
    return None, ""
