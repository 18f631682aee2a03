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
"""Commands that read a run directory."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from genenv_verl.cli.faults import told
from genenv_verl.report.cost_table import cost_table
from genenv_verl.report.epoch_table import epoch_table, read_epochs


def epochs(
    runs: Annotated[list[Path], typer.Argument(help="Runs: the folder given as trainer.default_local_dir.")],
    cost: Annotated[bool, typer.Option("--cost", help="The cost ledger of each run instead: both players.")] = False,
):
    """Prints the epochs of one or more runs, finished or going on.

    Example: `genenv-verl epochs quickstart_run/genenv quickstart_run/random`
    """
    table = cost_table if cost else epoch_table
    console = Console(width=160)
    for run in runs:
        try:
            console.print(table(str(run), read_epochs(run)))
        except FileNotFoundError as error:
            raise SystemExit(f"genenv: {error}") from None
        except OSError as error:
            raise SystemExit(f"genenv: the run cannot be read: {told(error)}") from None
