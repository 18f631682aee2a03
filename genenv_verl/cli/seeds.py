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
"""Commands that read seed files."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.table import Table

from genenv_verl.tasks.records import TaskFileError, read_tasks


def check_seeds(files: Annotated[list[Path], typer.Argument(help="Seed files: verl parquet or JSON Lines of tasks.")]):
    """Reads seed files as a run would and says what is in them, or which rows are broken.

    Example: `genenv-verl check-seeds seeds.parquet`
    """
    table = Table("file", "tasks", "families", "evaluations")
    for file in files:
        try:
            tasks = read_tasks(file)
        except (TaskFileError, OSError) as error:
            raise SystemExit(f"genenv: {error}") from None
        families = Counter(task.family for task in tasks)
        kinds = Counter(task.evaluation.kind for task in tasks)
        table.add_row(str(file), str(len(tasks)), _counts(families), _counts(kinds))
    Console().print(table)


def _counts(counter: Counter[str]) -> str:
    return "\n".join(f"{name}: {count}" for name, count in counter.most_common(20))
