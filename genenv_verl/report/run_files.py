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
"""A run as a reader finds it: whole, going on, old, damaged or hardly there. Only a missing run raises."""

from __future__ import annotations

import re
from collections import defaultdict
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from typing import Any

from genenv_verl.report.fields import as_number, clipped
from genenv_verl.report.json_lines import read_json_lines
from genenv_verl.report.run_config import RunConfig, read_config
from genenv_verl.report.run_versions import read_versions

MAX_EPOCHS = 10_000
MAX_METRIC_LINES = 200_000  # of a file
_TASK_FILE = re.compile(r"epoch_(\d{1,9})\.jsonl")


class NoRun(FileNotFoundError):
    """A folder holds nothing of a run."""


@dataclass(frozen=True)
class Run:
    """What one run has written.

    Attributes:
        root: ``trainer.default_local_dir``.
        folder: The ``genenv`` folder in it; the pools and epoch lines.
        name: What it is called in the report, unique in it.
        epochs: The epoch lines in order of their epoch, one an epoch.
        task_files: By epoch, the file with its generations.
        steps: Metrics by agent step, in order: validation scores, and what verl's file logger kept (``metrics.jsonl``).
        config: Configuration of the start, secrets masked; ``None`` if it was not kept.
        versions: What is left of the versions that made it, by name.
        notes: What is damaged or missing, as sentences.
    """

    root: Path
    folder: Path
    name: str
    epochs: list[dict[str, Any]]
    task_files: dict[int, Path]
    steps: list[tuple[int, dict[str, Any]]]
    config: RunConfig | None
    versions: dict[str, str]
    notes: list[str] = field(default_factory=list)

    @property
    def variant(self) -> str:
        """The variant that the last epoch line names, else the configuration's, else ``unknown``."""
        named = [line["variant"] for line in self.epochs if isinstance(line.get("variant"), str)]
        configured = self.config.text("genenv.variant") if self.config else None
        return clipped(named[-1] if named else configured or "unknown", 60)


def find_run(path: Path) -> tuple[Path, Path]:
    """Root and ``genenv`` folder of a run.

    Args:
        path: ``trainer.default_local_dir``, or the ``genenv`` folder in it.

    Raises:
        NoRun: Neither epoch lines nor task files nor ``metrics.jsonl`` are there.
    """
    if _holds_run(path / "genenv"):
        return path, path / "genenv"
    if _holds_run(path):
        real = path if path.name == "genenv" else path.resolve()  # the parent of "." would be "." again
        return real.parent if real.name == "genenv" else path, path
    if (path / "metrics.jsonl").is_file():
        return path, path / "genenv"
    if is_begun(path):
        raise NoRun(f"{path}: the run has not ended an epoch yet; there is nothing to show")
    raise NoRun(
        f"{path}: no run in it (no genenv/epochs.jsonl, no genenv/tasks, no metrics.jsonl); "
        "give a run's trainer.default_local_dir"
    )


def is_begun(path: Path) -> bool:
    """Whether a run was started in a folder, its ``trainer.default_local_dir``, whatever it has written since."""
    return (path / "genenv.lock").is_file()


def _holds_run(folder: Path) -> bool:
    return (folder / "epochs.jsonl").is_file() or (folder / "tasks").is_dir()


def read_run(path: Path, name: str) -> Run:
    """Reads everything of a run but its tasks, which are read when they are needed.

    Raises:
        NoRun: See :func:`find_run`.
    """
    root, folder = find_run(path)
    notes: list[str] = []
    epochs = _read_epochs(folder / "epochs.jsonl", notes)
    task_files = _find_task_files(folder / "tasks")
    known = {line["epoch"] for line in epochs}
    if missing := sorted({line["epoch"] for line in epochs if _wrote_tasks(line)} - task_files.keys()):
        notes.append(f"No task file for {_some(missing)}: the task browser cannot show them.")
    if extra := sorted(task_files.keys() - known):
        notes.append(f"Task files without an epoch line: {_some(extra)}.")
    steps = _read_metrics([root / "metrics.jsonl", folder / "validation.jsonl"], notes)
    config = read_config(root, notes)
    return Run(root, folder, name, epochs, task_files, steps, config, read_versions(root, config), notes)


def _read_epochs(path: Path, notes: list[str]) -> list[dict[str, Any]]:
    if not path.exists():
        notes.append("No epochs.jsonl: figures over epochs are empty.")
        return []
    lines: dict[int, dict[str, Any]] = {}
    damaged = doubled = 0
    try:
        for line in read_json_lines(path):
            number = as_number(line.get("epoch")) if line else None
            if number is None or not number.is_integer() or not 0 <= number < 10**9:
                damaged += 1
                continue
            epoch = int(number)
            doubled += epoch in lines
            lines[epoch] = line | {"epoch": epoch}
            if len(lines) >= MAX_EPOCHS:
                notes.append(f"Only the first {MAX_EPOCHS:,} epochs of {path.name} are shown.")
                break
    except OSError as error:
        notes.append(f"{path.name} cannot be read: {error.strerror}.")
    if damaged:
        notes.append(f"{damaged} damaged {_lines(damaged)} in {path.name}, left out of every figure.")
    if doubled:
        notes.append(
            f"{doubled} {_lines(doubled)} in {path.name} for an epoch that is there twice: the later one counts."
        )
    if not lines:
        notes.append("No epoch has finished.")
    return [lines[epoch] for epoch in sorted(lines)]


def _wrote_tasks(line: dict[str, Any]) -> bool:
    """Whether an epoch has a task file; those of stock verl and of fixed sets have none."""
    return line.get("variant") not in ("static", "offline", "grpo")


def _find_task_files(folder: Path) -> dict[int, Path]:
    found = {}
    try:
        for path in sorted(folder.iterdir()) if folder.is_dir() else ():
            if (match := _TASK_FILE.fullmatch(path.name)) and path.is_file():
                found[int(match[1])] = path
    except OSError:
        return {}
    return dict(sorted(found.items()))


def _read_metrics(paths: list[Path], notes: list[str]) -> list[tuple[int, dict[str, Any]]]:
    """The lines ``{"step": …, "data": {…}}`` of files, in the form of verl's file logger; the later line of a step
    counts."""
    steps: dict[int, dict[str, Any]] = defaultdict(dict)
    for path in paths:
        if not path.is_file():
            continue
        damaged = 0
        try:
            for line in islice(read_json_lines(path), MAX_METRIC_LINES):
                step, data = (line or {}).get("step"), (line or {}).get("data")
                if as_number(step) is None or not isinstance(data, dict):
                    damaged += 1
                else:
                    steps[int(step)].update(_shown_metrics(data))
        except OSError as error:
            notes.append(f"{path.name} cannot be read: {error.strerror}.")
        if damaged:
            notes.append(f"{damaged} damaged {_lines(damaged)} in {path.name}, left out.")
    return sorted(steps.items())


SHOWN_METRICS = ("critic/score/mean", "response_length/mean")


def _shown_metrics(data: dict[str, Any]) -> dict[str, float]:
    """Of the hundreds of numbers of a step those that a figure shows."""
    numbers = {name: as_number(data.get(name)) for name in SHOWN_METRICS}
    numbers |= {name: as_number(value) for name, value in data.items() if name.startswith("val-core/")}
    return {name: value for name, value in numbers.items() if value is not None}


def _lines(count: int) -> str:
    return "line" if count == 1 else "lines"


def _some(epochs: list[int]) -> str:
    shown = ", ".join(map(str, epochs[:8]))
    return f"epoch {shown}" if len(epochs) <= 8 else f"{len(epochs)} epochs ({shown}, …)"


def run_names(paths: list[Path]) -> list[str]:
    """A short name for each run, unique among them: the last folder (of a single run the last two), with as many above
    it as that takes."""
    parts = [_named_folder(path).parts for path in paths]
    depth = 2 if len(parts) == 1 else 1
    longest = max((len(part) for part in parts), default=1)
    while depth < longest and len({part[-depth:] for part in parts}) < len(parts):
        depth += 1
    return [clipped("/".join(part[-depth:]), 300) for part in parts]


def _named_folder(path: Path) -> Path:
    """The root of a run; a root that is called ``genenv``, as the variant, keeps its name."""
    try:
        return find_run(path)[0].resolve()
    except NoRun:
        return path.resolve()
