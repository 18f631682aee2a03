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
"""The paper's Table 1 with measured rows beside the quoted ones, as markdown, CSV and JSON. Figures in per cent."""

from __future__ import annotations

import csv
import io
import json
import math
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from genenv_verl.benchmarks.prepare import TRAIN_SPLIT
from genenv_verl.evaluation.paper_rows import COLUMNS, PAPER_ROWS

QUOTED, MEASURED = "quoted", "measured"
_Z95 = 1.959964


@dataclass(frozen=True)
class Cell:
    """One figure in per cent.

    Attributes:
        value: None where nothing has been scored.
        low, high: 95 % bootstrap interval, None where there is none.
        standard_error: Of the bootstrap.
        scored: Steps behind the figure, None for a quoted one.
        records: Records behind it.
        failed: Steps that have no verdict because a request failed.
        limited: Whether not all steps of the benchmark were asked.
        metric: What is measured, where it is not the benchmark's own score.
    """

    value: float | None
    low: float | None = None
    high: float | None = None
    standard_error: float | None = None
    scored: int | None = None
    records: int | None = None
    failed: int = 0
    limited: bool = False
    metric: str = "score"

    @property
    def complete(self) -> bool:
        return self.value is not None and not self.failed and not self.limited


@dataclass(frozen=True)
class Row:
    """One model. ``cells`` by benchmark; ``average`` only where all five columns have a figure."""

    model: str
    source: str
    cells: Mapping[str, Cell] = field(default_factory=dict)
    average: Cell | None = None


def paper_rows() -> list[Row]:
    """The twelve rows of the paper."""
    return [
        Row(model, QUOTED, dict(zip(COLUMNS, map(Cell, figures[:5]), strict=True)), Cell(figures[5]))
        for model, figures in PAPER_ROWS.items()
    ]


def measured_row(model: str, results: Mapping[str, Mapping[str, Any]]) -> Row:
    """The row of a run, out of its results by benchmark."""
    cells = {name: _cell(results[name]) for name in COLUMNS if name in results}
    return Row(model, MEASURED, cells, _average(cells))


def _cell(result: Mapping[str, Any]) -> Cell:
    interval = result["interval"] or {}
    figure = result["figure"]
    return Cell(
        value=None if figure is None else 100 * figure,
        **{name: 100 * interval[name] for name in ("low", "high", "standard_error") if name in interval},
        scored=result["scored_steps"],
        records=result["scored_records"],
        failed=result["failed_steps"],
        limited=result["limited"],
        metric=result["metric"] + (", training split" if TRAIN_SPLIT in result["splits"] else ""),
    )


def _average(cells: Mapping[str, Cell]) -> Cell | None:
    """The unweighted mean of all five columns.

    Its interval takes the benchmarks as independent and normal. It has none where a column is 0 or 100 throughout: of
    such a column the spread is not known.
    """
    if cells.keys() != COLUMNS.keys() or any(cell.value is None for cell in cells.values()):
        return None
    value = sum(cell.value for cell in cells.values()) / len(cells)
    errors = [cell.standard_error for cell in cells.values()]
    error = None if not all(errors) else math.sqrt(sum(e * e for e in errors)) / len(cells)
    return Cell(
        value,
        low=None if error is None else value - _Z95 * error,
        high=None if error is None else value + _Z95 * error,
        standard_error=error,
        scored=sum(cell.scored for cell in cells.values()),
        records=sum(cell.records for cell in cells.values()),
        failed=sum(cell.failed for cell in cells.values()),
        limited=any(cell.limited for cell in cells.values()),
        metric="mean",
    )


def markdown(rows: Sequence[Row]) -> str:
    """The table as markdown, with what its marks mean."""
    lines = [
        f"| Model | {' | '.join(COLUMNS.values())} | Average |",
        "|---|" + "---|" * (len(COLUMNS) + 1),
        *(_markdown_row(row) for row in rows),
    ]
    notes = [
        "Figures in per cent. *quoted*: from the paper's Table 1 (arXiv 2512.19682), not measured here. [a, b]: 95 % "
        "bootstrap interval, drawn by episode; n: scored steps. The average is there only with all five figures."
    ]
    if any(cell.failed for row in rows for cell in row.cells.values()):
        notes.append("†: incomplete. So many requests failed; the figure is over the others.")
    if any(cell.limited for row in rows for cell in row.cells.values()):
        notes.append("‡: a part of the benchmark (--limit).")
    return "\n".join([*lines, "", *(note + "\n" for note in notes)])


def _markdown_row(row: Row) -> str:
    cells = [_markdown_cell(row.cells.get(name)) for name in COLUMNS]
    model = " ".join(row.model.replace("\\", r"\\").replace("|", r"\|").splitlines())
    name = f"{model} *(quoted)*" if row.source == QUOTED else f"**{model}**"
    return f"| {name} | {' | '.join(cells)} | {_markdown_cell(row.average)} |"


def _markdown_cell(cell: Cell | None) -> str:
    if cell is None:
        return "–"
    if cell.scored is None:
        return f"{cell.value:.1f}"
    parts = ["–" if cell.value is None else f"{cell.value:.1f}"]
    if cell.low is not None and cell.high is not None:
        parts.append(f"[{cell.low:.1f}, {cell.high:.1f}]")
    of = f" of {cell.records} records" if cell.records != cell.scored else ""
    parts.append(f"n={cell.scored}{of}{'‡' if cell.limited else ''}")
    if cell.failed:
        parts.append(f"†{cell.failed} failed")
    if cell.metric not in ("score", "mean"):
        parts.append(f"({cell.metric})")
    return " ".join(parts)


def as_csv(rows: Sequence[Row]) -> str:
    """The table as CSV, a line a model; five columns a figure."""
    text = io.StringIO()
    names = [*COLUMNS, "average"]
    kinds = ["", "_low", "_high", "_steps", "_failed", "_metric"]
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(["model", "source", *(name + kind for name in names for kind in kinds)])
    for row in rows:
        cells = [row.cells.get(name) if name != "average" else row.average for name in names]
        writer.writerow([row.model, row.source, *(field for cell in cells for field in _csv_fields(cell))])
    return text.getvalue()


def _csv_fields(cell: Cell | None) -> list[Any]:
    if cell is None:
        return [""] * 6
    numbers = [cell.value, cell.low, cell.high]
    metric = "" if cell.scored is None else cell.metric
    counts = ["", ""] if cell.scored is None else [cell.scored, cell.failed]
    return [*("" if number is None else f"{number:.4f}" for number in numbers), *counts, metric]


def as_json(rows: Sequence[Row]) -> str:
    """The table as JSON: a list of rows."""
    return json.dumps([asdict(row) for row in rows], ensure_ascii=False, indent=1) + "\n"


WRITERS: dict[str, Callable[[Sequence[Row]], str]] = {"markdown": markdown, "csv": as_csv, "json": as_json}


def row_names(runs: Mapping[Path, Mapping[str, Mapping[str, Any]]]) -> dict[Path, str]:
    """A name for the row of each run: its model, with the prompt style where it is not the shared one, and with the
    folder where two would be called the same."""
    names = {}
    for run, results in runs.items():
        settings = next(iter(results.values()))["settings"]
        names[run] = settings["model"] + ("" if settings["style"] == "unified" else f", {settings['style']}")
    twice = {name for name, times in Counter(names.values()).items() if times > 1}
    return {run: f"{name} ({run})" if name in twice else name for run, name in names.items()}
