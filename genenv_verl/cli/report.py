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
"""The command that makes a report of runs."""

from __future__ import annotations

import threading
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from genenv_verl.cli.faults import told


def report(
    runs: Annotated[list[Path], typer.Argument(help="Runs: the folder given as trainer.default_local_dir.")],
    out: Annotated[Path, typer.Option(help="Folder of the report: index.html and figures/.")],
    seeds: Annotated[
        Path | None,
        typer.Option(
            exists=True,
            dir_okay=False,
            help="File of the seed tasks, where the run's configuration does not lead to it.",
        ),
    ] = None,
    live: Annotated[
        bool, typer.Option("--live", help="Serve it on 127.0.0.1 and follow the runs until Ctrl-C.")
    ] = False,
    port: Annotated[int, typer.Option(help="Port of --live; 0 takes a free one.", min=0, max=65535)] = 8642,
):
    """Makes a report of one or more runs, finished or going on: a page that opens from disk, figures as SVG and PNG.

    Runs that differ in seeds, names and folders only are averaged, with their interval.

    Example: `genenv-verl report runs/genenv runs/random --out report`
    """
    from genenv_verl.report.build import ReportBuilder
    from genenv_verl.report.run_files import NoRun

    console = Console(stderr=True)
    try:
        builder = ReportBuilder(runs, out, seeds, live)
        if not live:
            with console.status("genenv: reading") as status:
                page = builder.build(lambda doing: status.update(f"genenv: {doing}"))
            print(page)
            return
        _serve(builder, port, console)
    except NoRun as error:
        raise SystemExit(f"genenv: {error}") from None
    except OSError as error:
        raise SystemExit(f"genenv: the report cannot be made: {told(error)}") from None


def _serve(builder, port: int, console: Console) -> None:
    from genenv_verl.report.live import LiveReport

    server = LiveReport(builder, port)
    console.print("genenv: making the report")
    server.update()
    server.start()
    print(f"genenv: {server.url} (Ctrl-C ends it)", flush=True)
    try:
        server.follow(lambda what: console.print(f"genenv: {what}", markup=False), threading.Event())
    except KeyboardInterrupt:
        pass
    finally:
        server.close()
