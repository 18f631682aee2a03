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

from genenv_verl.report.task_text import printable
from genenv_verl.rewards.solved import is_solved
from genenv_verl.tasks.inspection import first_complaint
from genenv_verl.tasks.records import TaskFileError, read_tasks


def check_seeds(files: Annotated[list[Path], typer.Argument(help="Seed files: verl parquet or JSON Lines of tasks.")]):
    """Reads seed files as a run would and says what is in them, or which rows are broken.

    A seed that breaks a validity rule is used all the same; it is named, because tasks written like it are rejected.
    Checkers are not run: `genenv-verl tasks validate FILE` does that.

    Example: `genenv-verl check-seeds seeds.parquet`
    """
    console = Console(markup=False, highlight=False, emoji=False)
    table = Table("file", "tasks", "families", "evaluations")
    notes = []
    for file in files:
        try:
            tasks = read_tasks(file)
        except (TaskFileError, OSError) as error:
            raise SystemExit(f"genenv: {error}") from None
        if not tasks:
            raise SystemExit(f"genenv: {file}: no seed task in it")
        families = Counter(task.family for task in tasks)
        kinds = Counter(task.evaluation.kind for task in tasks)
        reasons = Counter(reason for task in tasks if (reason := first_complaint(task, is_solved)[0]) is not None)
        table.add_row(str(file), str(len(tasks)), _counts(families), _counts(kinds))
        if reasons:
            broken = ", ".join(f"{reason} {count}" for reason, count in reasons.most_common())
            notes.append(
                f"{file}: seeds that break a rule: {broken}. They are used; tasks written like them are rejected. "
                f"Row by row: genenv-verl tasks validate {file}"
            )
            if "undeclared_tool" in reasons:
                notes.append("undeclared_tool: name a row's tools in extra_info.tools (docs/own_domain.md)")
    console.print(table)
    for note in notes:
        console.print(printable(note), soft_wrap=True)


def _counts(counter: Counter[str]) -> str:
    return "\n".join(f"{name}: {count}" for name, count in counter.most_common(20))
