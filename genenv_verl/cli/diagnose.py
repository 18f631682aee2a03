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
"""The command that says what is wrong with a run."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer

from genenv_verl.cli.faults import told
from genenv_verl.report.diagnose import Diagnosis
from genenv_verl.report.diagnose import diagnose as diagnosis_of
from genenv_verl.report.run_files import NoRun, read_run


def diagnose(
    run: Annotated[Path, typer.Argument(help="A run: the folder given as trainer.default_local_dir.")],
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON instead of text.")] = False,
):
    """Says in plain language what looks wrong with a run, finished or going on, and which keys to try.

    The exit status is 0 whatever is found; it is 1 only if there is no run.

    Example: `genenv-verl diagnose quickstart_run/genenv`
    """
    try:
        diagnosis = diagnosis_of(read_run(run, run.name))
    except NoRun as error:
        raise SystemExit(f"genenv: {error}") from None
    except OSError as error:
        raise SystemExit(f"genenv: the run cannot be read: {told(error)}") from None
    if as_json:
        typer.echo(json.dumps(diagnosis.to_json(), indent=2))
    else:
        _print(diagnosis)


def _print(diagnosis: Diagnosis) -> None:
    epochs = "1 epoch" if diagnosis.epochs == 1 else f"{diagnosis.epochs} epochs"
    _line(f"{diagnosis.run}: variant {diagnosis.variant}, {epochs}")
    if not diagnosis.findings:
        _line("No findings.")
    for place, (name, finding) in enumerate(diagnosis.findings.items(), start=1):
        figures = ", ".join(f"{key} = {_figure(value)}" for key, value in finding.figures.items())
        _line(f"\n{place}. {name}: {finding.says}")
        _line(f"   rests on {figures}")
        for remedy in finding.remedies:
            _line(f"   try {remedy.key} ({remedy.advice})")
    if diagnosis.assumed or diagnosis.notes:
        _line("")
    for key, value in diagnosis.assumed.items():
        _line(f"assumed: {key} = {value} (the run does not record it)")
    for note in diagnosis.notes:
        _line(f"note: {note}")


def _line(text: str) -> None:
    """Prints a text without the control characters that a damaged or hostile file may hold."""
    typer.echo("".join(c if c.isprintable() or c == "\n" else "\ufffd" for c in text))


def _figure(value: float | int | str) -> str:
    return f"{value:.4g}" if isinstance(value, float) else str(value)
