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
"""The seeds of a run, to be seen beside the tasks that were written from them."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa

from genenv_verl.report.fields import clipped
from genenv_verl.report.run_files import Run
from genenv_verl.report.task_rows import context_texts, gold_text
from genenv_verl.tasks.records import TaskFileError, read_tasks

MAX_SEEDS = 20_000


def seed_rows(run: Run, given: Path | None, notes: list[str]) -> dict[str, dict[str, Any]]:
    """What the page shows of each seed task, by its id.

    Args:
        run: The run; its configuration names the seeds' file (``genenv.seeds``, ``data.train_files``).
        given: A file that is read instead.
        notes: Gets a sentence where the seeds cannot be had.
    """
    path = given or next((path for path in _configured_files(run) if os.path.isfile(path)), None)
    if path is None:
        notes.append(
            "The seeds' file of this run is not on this machine: give it with --seeds to see seeds beside tasks."
        )
        return {}
    try:
        tasks = read_tasks(path)[:MAX_SEEDS]
    except (TaskFileError, OSError, pa.ArrowException) as error:
        notes.append(f"The seeds cannot be shown: {clipped(str(error).splitlines()[0], 300)}")
        return {}
    return {
        clipped(task.task_id, 300): {
            "goal": clipped(task.context.goal),
            "context": context_texts(task.context.model_dump()),
            "gold": gold_text(
                None if task.gold_action is None else [call.model_dump() for call in task.gold_action],
                task.evaluation.model_dump(),
            ),
        }
        for task in tasks
    }


def _configured_files(run: Run) -> Iterator[Path]:
    """Where the seeds may lie: as configured, seen from the folder in which training was started, or from here."""
    if run.config is None:
        return
    for key in ("genenv.seeds", "data.train_files"):
        for name in (run.config.text(key) or "").split(", "):
            if name.strip("[]'\" "):
                path = Path(os.path.expanduser(name.strip("[]'\" ")))  # unlike Path's, it takes any text
                yield from ((run.config.cwd / path, path) if run.config.cwd else (path,))
