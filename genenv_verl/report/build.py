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
"""Makes the report of some runs: figures, task parts, page."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable, Sequence
from datetime import datetime, timezone
from functools import partial
from pathlib import Path
from typing import Any

from genenv_verl.report.figures.catalogue import Panel, comparison_panels, run_panels
from genenv_verl.report.groups import RunGroup, group_runs
from genenv_verl.report.page import render_page
from genenv_verl.report.part_store import MAX_EMBEDDED_CHARS, PartStore
from genenv_verl.report.run_files import Run, find_run, read_run, run_names
from genenv_verl.report.seed_tasks import seed_rows
from genenv_verl.report.summary import EPOCH_COLUMNS, config_rows, cost_table, epoch_rows, headline, warnings
from genenv_verl.report.task_parts import epoch_part, seeds_part


class ReportBuilder:
    """Builds a report, and builds it again when its runs have gone on.

    Args:
        runs: Folders of runs; one that is given twice counts once.
        out: Folder of the report.
        seeds: File with the seed tasks, where the runs' own configuration does not lead to it.
        live: Whether the page is served and follows its runs.
        embed: Most characters of tasks that go into the page itself.

    Raises:
        NoRun: A folder holds nothing of a run.
    """

    def __init__(
        self,
        runs: Sequence[Path],
        out: Path,
        seeds: Path | None = None,
        live: bool = False,
        embed: int = MAX_EMBEDDED_CHARS,
    ):
        by_folder = {find_run(path)[1].resolve(): path for path in runs}
        self.paths = list(by_folder.values())
        self.names = run_names(self.paths)
        self.out = out
        self.seeds = seeds
        self.live = live
        self.version = ""
        self.parts = PartStore(out / "tasks", 0 if live else embed)

    def state(self) -> str:
        """Changes when any run has gone on: the sizes and times of what the report reads."""
        files = [self.seeds] if self.seeds else []
        for path in self.paths:
            root, folder = find_run(path)
            files += [
                folder / "epochs.jsonl",
                root / "metrics.jsonl",
                folder / "validation.jsonl",
                *sorted((folder / "tasks").glob("epoch_*.jsonl")),
            ]
        return hashlib.sha256(repr([_file_state(file) for file in files]).encode()).hexdigest()[:16]

    def build(self, progress: Callable[[str], None] = lambda _: None) -> Path:
        """Writes ``index.html``, ``figures/`` and, for many tasks, ``tasks/``.

        Args:
            progress: Told what is being done.

        Returns:
            The page.
        """
        version = self.state()
        self.out.mkdir(parents=True, exist_ok=True)
        runs = [read_run(path, name) for path, name in zip(self.paths, self.names, strict=True)]
        self.parts.begin()
        seeds = [self._add_parts(place, run, progress) for place, run in enumerate(runs)]
        self.parts.finish()
        data = {
            "live": self.live,
            "version": version,
            "runs": [
                {"name": run.name, "epochs": list(run.task_files), "seeds": has_seeds}
                for run, has_seeds in zip(runs, seeds, strict=True)
            ],
        }
        html = self._render(runs, data, progress)
        page = self.out / "index.html"
        draft = page.with_name("index.html.tmp")
        draft.write_text(html, encoding="utf-8", errors="replace")
        os.replace(draft, page)
        self.version = version
        return page

    def _render(self, runs: Sequence[Run], data: dict[str, Any], progress: Callable[[str], None]) -> str:
        """The page, with its figures drawn."""
        figures, groups = self.out / "figures", group_runs(runs)
        progress("figures")
        comparison = comparison_panels(groups, figures) if len(runs) > 1 else []
        return render_page(
            data=data,
            has_part_files=self.parts.embedded is None,
            is_live=self.live,
            title=_title(runs),
            made=datetime.now(timezone.utc).strftime("%Y-%m-%d %H:%M UTC"),
            runs=[_run_content(run, place, groups, figures, progress) for place, run in enumerate(runs)],
            overview_columns=list(dict.fromkeys(name for run in runs for name, _ in headline(run))),
            epoch_columns=[name for name, _, _ in EPOCH_COLUMNS],
            comparison=[_panel(its, "these runs") for its in comparison],
            parts=self.parts.embedded,
        )

    def _add_parts(self, place: int, run: Run, progress: Callable[[str], None]) -> bool:
        """Adds a run's tasks and seeds; whether it has seeds."""
        for epoch, path in run.task_files.items():
            progress(f"{run.name}: tasks of epoch {epoch}")
            self.parts.add(f"r{place}-e{epoch}", _file_state(path), partial(epoch_part, path))
        seeds = seed_rows(run, self.seeds, run.notes) if run.task_files else {}
        if seeds:
            self.parts.add(f"r{place}-seeds", len(seeds), partial(seeds_part, seeds))
        return bool(seeds)


def _file_state(path: Path) -> tuple[str, int, int] | None:
    try:
        its = path.stat()
    except OSError:
        return None
    return (str(path), its.st_mtime_ns, its.st_size)


def _title(runs: Sequence[Run]) -> str:
    return f"GenEnv report: {runs[0].name}" if len(runs) == 1 else f"GenEnv report: {len(runs)} runs"


def _run_content(
    run: Run, place: int, groups: Sequence[RunGroup], figures: Path, progress: Callable[[str], None]
) -> dict[str, Any]:
    """What the template shows of a run."""
    progress(f"{run.name}: figures")
    return {
        "name": run.name,
        "variant": run.variant,
        "group": next(group.name for group in groups if any(its is run for its in group.runs)),
        "headline": dict(headline(run)),
        "notes": run.notes,
        "warnings": warnings(run),
        "panels": [_panel(its, "this run") for its in run_panels(run, place, figures)],
        "cost": cost_table(run),
        "epochs": epoch_rows(run),
        "versions": run.versions,
        "overrides": run.config.overrides if run.config else [],
        "config": config_rows(run),
    }


def _panel(panel: Panel, whose: str) -> dict[str, Any]:
    return {**vars(panel), "whose": whose}
