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
"""How figures look: one palette for light and dark pages, no state of pyplot, text that is never read as markup."""

from __future__ import annotations

import re
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from io import BytesIO, StringIO
from pathlib import Path

import matplotlib
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from genenv_verl.report.groups import Estimate, Series

INK = "#1b1c1e"
"""Colour of text and axes. In a page it becomes ``currentColor``, so that a dark page has light axes."""

PALETTE = ("#2f7fc1", "#c8701f", "#2b9365", "#b5539a", "#7f6fd0", "#95831c", "#cf554c", "#2d94a3")
"""Every colour has a contrast of 3 or more to white and to the dark page (WCAG's limit for graphics)."""

REST = "#808488"
WIDTH_IN, HEIGHT_IN = 5.4, 3.2
MOST_MARKED_POINTS = 40
MAX_LABEL_CHARS = 44
MAX_LEGEND_CHARS, MARK_CHARS = 76, 7
"""In a line of a legend, and what a label's mark takes of it. What is wider than the figure is cut off, and takes the
curves' place."""

_STYLE = {
    "axes.edgecolor": INK, "axes.labelcolor": INK, "text.color": INK, "xtick.color": INK, "ytick.color": INK,
    "axes.titlecolor": INK, "legend.labelcolor": INK, "axes.spines.top": False, "axes.spines.right": False,
    "axes.grid": True, "grid.color": REST, "grid.alpha": 0.25, "grid.linewidth": 0.6, "axes.axisbelow": True,
    "font.size": 9, "axes.titlesize": 9, "legend.fontsize": 8, "legend.frameon": False, "lines.linewidth": 1.6,
    "figure.constrained_layout.use": True, "text.parse_math": False, "svg.fonttype": "none",
    "savefig.transparent": True, "axes.facecolor": "none", "figure.facecolor": "none", "path.simplify": True,
}  # fmt: skip


class NotRecorded(Exception):
    """The runs hold nothing of what a figure would show; the message says what is missing."""


@contextmanager
def report_style() -> Iterator[None]:
    """The style of all figures, whatever the user's own matplotlib settings are."""
    with matplotlib.rc_context(), warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="Glyph .* missing")  # a run's name in a script the font lacks
        matplotlib.rcdefaults()
        matplotlib.rcParams.update(_STYLE)
        yield


def new_figure(rows: int = 1, height: float = HEIGHT_IN) -> tuple[Figure, list[Axes]]:
    """An empty figure with axes under one another that share epochs."""
    figure = Figure(figsize=(WIDTH_IN, height))
    return figure, list(figure.subplots(rows, 1, sharex=True, squeeze=False)[:, 0])


def plain_label(text: str) -> str:
    """A label that matplotlib shows as it is: one line, no control characters, not hidden by a leading underscore."""
    shown = "".join(character if character.isprintable() else "�" for character in text.strip())
    if len(shown) > MAX_LABEL_CHARS:
        shown = f"{shown[: MAX_LABEL_CHARS - 1]}…"
    return f"\u2009{shown}" if shown.startswith("_") else shown


def plot(axes: Axes, points: Series, colour: str, label: str | None = None, line: str = "-", width: float = 1.6):
    """One series; few points get marks, so that a single epoch is seen."""
    mark = {"marker": "o", "markersize": 3.5} if len(points) <= MOST_MARKED_POINTS else {}
    xs, ys = [x for x, _ in points], [y for _, y in points]
    axes.plot(xs, ys, line, color=colour, label=label and plain_label(label), linewidth=width, **mark)


def plot_average(axes: Axes, points: Sequence[tuple[float, Estimate]], colour: str, label: str, line: str = "-"):
    """A mean over runs with its 95 % interval as a shade; where there is one run there is no shade."""
    plot(axes, [(x, its.mean) for x, its in points], colour, label, line)
    shaded = [(x, its) for x, its in points if its.half_width is not None]
    low, high = [its.mean - its.half_width for _, its in shaded], [its.mean + its.half_width for _, its in shaded]
    axes.fill_between([x for x, _ in shaded], low, high, color=colour, alpha=0.18, linewidth=0)


def label_epochs(axes: Axes, name: str = "epoch") -> None:
    axes.set_xlabel(name)
    axes.xaxis.set_major_locator(MaxNLocator(integer=True, nbins=8))


def as_share(axes: Axes, name: str) -> None:
    """An axis of shares or scores: the whole of [0, 1], and more only if the curves that are drawn already need it."""
    axes.set_ylabel(name)
    heights = [height for line in axes.lines for height in line.get_ydata()]
    axes.set_ylim(min(-0.02, *heights, 0), max(1.02, *heights, 0))


def edges(places: Sequence[float]) -> list[float]:
    """Borders of the columns around ascending places: half-way between neighbours, as wide at both ends."""
    if len(places) == 1:
        return [places[0] - 0.5, places[0] + 0.5]
    middles = [(a + b) / 2 for a, b in zip(places, places[1:], strict=False)]
    return [2 * places[0] - middles[0], *middles, 2 * places[-1] - middles[-1]]


def stack(axes: Axes, places: Sequence[float], table: dict[str, list[float]], labels: dict[str, str] | None = None):
    """Columns of stacked counts, one outline a name."""
    base = [0.0] * len(places)
    for index, (name, values) in enumerate(table.items()):
        top = [b + v for b, v in zip(base, values, strict=True)]
        colour = REST if name == "other" else PALETTE[index % len(PALETTE)]
        label = plain_label((labels or {}).get(name, name))
        axes.stairs(top, edges(places), baseline=base, fill=True, color=colour, label=label, linewidth=0)
        base = top


def legend_beside(axes: Axes, columns: int = 1) -> None:
    """A legend under the axes' title, outside of the curves, in fewer columns where its labels are long."""
    lengths = [len(label) for label in axes.get_legend_handles_labels()[1]]
    while columns > 1 and _legend_chars(lengths, columns) > MAX_LEGEND_CHARS:
        columns -= 1
    axes.legend(loc="lower left", bbox_to_anchor=(0, 1.0), ncols=columns, borderaxespad=0.2, handlelength=1.4)


def _legend_chars(lengths: Sequence[int], columns: int) -> int:
    """How wide a legend is, in characters: every column is as wide as its longest label and its mark."""
    return sum(max(part, default=0) + MARK_CHARS for part in np.array_split(lengths, columns))


# ------------------------------------------------------------------ saving


def save(figure: Figure, name: str, folder: Path | None) -> str:
    """Writes ``name.svg`` and ``name.png`` into a folder, if there is one.

    Returns:
        The figure as an SVG element for a page.
    """
    buffer = StringIO()
    with matplotlib.rc_context({"svg.hashsalt": name}):
        figure.get_layout_engine().execute(figure)
        figure.set_layout_engine("none")  # laid out once, for both files
        figure.savefig(buffer, format="svg", metadata={"Date": None, "Creator": None, "Format": None, "Type": None})
    svg = buffer.getvalue()
    if folder is not None:
        folder.mkdir(parents=True, exist_ok=True)
        (folder / f"{name}.svg").write_text(svg, encoding="utf-8")
        png = BytesIO()
        figure.savefig(png, format="png", dpi=160, transparent=False, facecolor="white")
        (folder / f"{name}.png").write_bytes(png.getvalue())
    return inline_svg(svg, name)


def inline_svg(svg: str, name: str) -> str:
    """An SVG file's text as an element of a page: no prologue, no style for the whole page, ids of its own.

    Args:
        svg: What matplotlib wrote.
        name: Prefix of the ids; letters, digits, ``-`` and ``_``.
    """
    body = svg[svg.index("<svg") :].strip()
    body = re.sub(r"<metadata>.*?</metadata>", "", body, flags=re.DOTALL)
    body = re.sub(r"<style type=\"text/css\">.*?</style>", "", body, count=1, flags=re.DOTALL)
    body = re.sub(r'\bid="', f'id="{name}.', body)
    body = re.sub(r'(xlink:href="#|url\(#)', rf"\1{name}.", body)
    body = body.replace(INK, "currentColor")
    return re.sub(
        r"<svg [^>]*?viewBox=\"([^\"]*)\"[^>]*>", r'<svg class="plot" viewBox="\1" aria-hidden="true">', body, count=1
    )
