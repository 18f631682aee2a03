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
"""The tasks that a run evaluates on, from ``data.val_files`` and ``genenv.novelty.evaluation_files``."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from pathlib import Path

from genenv_verl.config.settings import Settings
from genenv_verl.tasks.contamination import EvaluationSet
from genenv_verl.tasks.records import TaskFileError, read_tasks
from genenv_verl.tasks.schema import Task

logger = logging.getLogger(__name__)

VALIDATION_REMEDY = "genenv.novelty.check_validation_files=false leaves data.val_files out of the check"


def read_evaluation_tasks(settings: Settings, val_files: str | Sequence[str] | None) -> list[Task]:
    """Reads the tasks that must not be trained on.

    Args:
        settings: The ``genenv`` block.
        val_files: verl's ``data.val_files``.

    Raises:
        TaskFileError: A file cannot be read as tasks; the message names the key and the remedy.
    """
    tasks = [
        task for file in settings.novelty.evaluation_files for task in _read("genenv.novelty.evaluation_files", file)
    ]
    if settings.novelty.check_validation_files:
        for file in [val_files] if isinstance(val_files, str) else val_files or ():
            try:
                tasks += _read("data.val_files", file)
            except TaskFileError as error:
                raise TaskFileError(f"{error}\n{VALIDATION_REMEDY}") from error
    return tasks


def evaluation_set(settings: Settings, val_files: str | Sequence[str] | None) -> EvaluationSet | None:
    """What generated tasks are held against; None if the run evaluates on nothing. Seeds that overlap are a warning."""
    tasks = read_evaluation_tasks(settings, val_files)
    if not tasks:
        return None
    seeds = [task for file in settings.seed_files for task in read_tasks(Path(file).expanduser())]
    evaluation = EvaluationSet(tasks, seeds, settings.novelty.near_duplicate)
    shared = [seed.task_id for seed in seeds if evaluation.same_task(seed) is not None]
    if shared:
        logger.warning(
            "genenv: %d of %d seed tasks (%s, …) are tasks of the evaluation, whose results will be too good",
            len(shared),
            len(seeds),
            shared[0],
        )
    return evaluation


def _read(key: str, file: str) -> list[Task]:
    path = Path(file).expanduser()
    if not path.is_file():
        raise TaskFileError(f"{key} = {file!r}: no such file")
    try:
        return read_tasks(path)
    except TaskFileError as error:
        raise TaskFileError(f"{key}: {error}") from error
