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
"""``genenv-verl tasks``: look at what the environment wrote."""

from __future__ import annotations

import itertools
import json
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.table import Table
from rich.text import Text

from genenv_verl.report.task_text import describe_task, printable
from genenv_verl.rewards.solved import is_solved
from genenv_verl.tasks.inspection import InspectedTask, inspect_tasks
from genenv_verl.tasks.records import TaskFileError
from genenv_verl.tasks.sandbox.backends import shared_backend
from genenv_verl.tasks.sandbox.base import CheckerBackend
from genenv_verl.tasks.sandbox.settings import SandboxSettings
from genenv_verl.tasks.validity import load_rules

MAX_LISTED = 20

app = typer.Typer(
    no_args_is_help=True, help="Reads task files: seeds, verl's rows, or a run's `tasks/epoch_0007.jsonl`."
)

_File = Annotated[Path, typer.Argument(metavar="FILE", help="JSON Lines, JSON or parquet.")]


@app.command()
def validate(
    file: _File,
    rules: Annotated[
        list[str] | None,
        typer.Option(help="Further validity rules, as in genenv.validity_rules: a Python file or a module."),
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="One JSON object instead of tables.")] = False,
) -> None:
    """Counts valid tasks and the reasons of the others. Exit status 1 if a line is not valid, 2 if there is no file.

    Checked are the schema and the validity rules that need no run (no tokenizer, no pool). Checkers are tried in the
    jail, about a hundred answers each. In a run's task file the run's own rejections count, and what it has tried with
    its own reward and sandbox is not tried again.

    Example: `genenv-verl tasks validate run/genenv/tasks/epoch_0000.jsonl --rules my_rules.py`
    """
    try:
        load_rules(rules or ())
    except ValueError as error:
        typer.echo(f"genenv: {printable(str(error))}", err=True)
        raise typer.Exit(2) from None
    invalid: list[InspectedTask] = []
    total = 0
    for inspected in _inspected(file, shared_backend(SandboxSettings())):
        total += 1
        if inspected.reason is not None:
            invalid.append(inspected)
    reasons = Counter(inspected.reason for inspected in invalid)
    if as_json:
        typer.echo(json.dumps(_summary(total, reasons, invalid)))
    else:
        _print_summary(file, total, reasons, invalid)
    if invalid:
        raise typer.Exit(1)


@app.command()
def show(
    file: _File,
    limit: Annotated[int, typer.Option(min=1, help="At most this many tasks.")] = 10,
    task_id: Annotated[str | None, typer.Option("--id", help="Only this task.")] = None,
    reason: Annotated[
        str | None, typer.Option(help="Only tasks rejected for this reason; `valid`: valid ones.")
    ] = None,
    full: Annotated[bool, typer.Option("--full", help="Long texts and all attempts.")] = False,
) -> None:
    """Prints tasks: goal, tools, gold, evaluation, attempts, p̂, R_env, and why one was rejected.

    Example: `genenv-verl tasks show run/genenv/tasks/epoch_0000.jsonl --reason bad_arguments`
    """
    console = Console(markup=False, highlight=False, emoji=False)
    chosen = (
        inspected
        for inspected in _inspected(file)
        if task_id in (None, inspected.task_id) and reason in (None, inspected.reason or "valid")
    )
    shown = 0
    for inspected in itertools.islice(chosen, limit):
        shown += 1
        for label, text in describe_task(inspected, full=full):
            console.print(Text.assemble((f"{label:<11}", "bold"), text) if label else Text(text, style="bold reverse"))
        console.print()
    if not shown:
        typer.echo(f"genenv: no such task in {file}", err=True)
        raise typer.Exit(1)


def _inspected(file: Path, checkers: CheckerBackend | None = None) -> Iterator[InspectedTask]:
    try:
        yield from inspect_tasks(file, is_solved, checkers)
    except TaskFileError as error:
        typer.echo(f"genenv: {printable(str(error))}", err=True)
        raise typer.Exit(2) from None


def _summary(total: int, reasons: Counter[str | None], invalid: list[InspectedTask]) -> dict[str, Any]:
    return {
        "tasks": total,
        "valid": total - len(invalid),
        "invalid_reasons": dict(sorted(reasons.items())),
        "invalid": [
            {"row": one.row, "task_id": one.task_id, "reason": one.reason, "detail": one.detail} for one in invalid
        ],
    }


def _print_summary(file: Path, total: int, reasons: Counter[str | None], invalid: list[InspectedTask]) -> None:
    console = Console(markup=False, highlight=False, emoji=False)
    console.print(f"{printable(str(file))}: {total - len(invalid)} of {total} tasks are valid", soft_wrap=True)
    if not invalid:
        return
    counts = Table("reason", "count")
    for reason, count in reasons.most_common():
        counts.add_row(Text(printable(str(reason))), str(count))
    console.print(counts)
    lines = Table("row", "task", "reason", "detail")
    for one in invalid[:MAX_LISTED]:
        texts = (one.task_id or "-", str(one.reason), one.detail)
        lines.add_row(str(one.row), *(Text(printable(str(text))) for text in texts))
    console.print(lines)
    if len(invalid) > MAX_LISTED:
        console.print(f"… and {len(invalid) - MAX_LISTED} more; --json lists all")
