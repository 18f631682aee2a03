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
"""The figures that put groups of runs beside one another (paper Fig. 6)."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from matplotlib.figure import Figure

from genenv_verl.report.figures.style import (
    PALETTE,
    NotRecorded,
    as_share,
    label_epochs,
    legend_beside,
    new_figure,
    plain_label,
    plot,
    plot_average,
)
from genenv_verl.report.groups import RunGroup, Series, averaged, estimate
from genenv_verl.report.run_files import Run
from genenv_verl.report.series import epoch_series, success_over_tokens, validation_over_tokens, validation_series


def success(groups: Sequence[RunGroup]) -> Figure:
    """p̂ on each run's own fresh tasks. Not a measure of skill: every environment writes its own tasks."""
    figure = _averages(groups, lambda run: epoch_series(run, "success_rate"), "success_rate")
    as_share(figure.axes[0], "p̂ on fresh tasks")
    return figure


def validation(groups: Sequence[RunGroup]) -> Figure:
    """Validation score over agent steps."""
    figure = _averages(groups, validation_series, "validation scores", "agent step")
    as_share(figure.axes[0], "validation score")
    return figure


def response_length(groups: Sequence[RunGroup]) -> Figure:
    """Response length on fresh tasks."""
    figure = _averages(groups, lambda run: epoch_series(run, "response_tokens_mean"), "response_tokens_mean")
    figure.axes[0].set_ylabel("response tokens")
    figure.axes[0].set_ylim(bottom=0)
    return figure


def last_validation(groups: Sequence[RunGroup]) -> Figure:
    """The last validation score of each group: mean, 95 % interval, and every run as a dot."""
    rows = []
    for place, group in enumerate(groups):
        scores = [series[-1][1] for run in group.runs if (series := validation_series(run))]
        if scores:
            rows.append((group.name, PALETTE[place % len(PALETTE)], scores))
    if not rows:
        raise NotRecorded("validation scores")
    figure, (axes,) = new_figure(height=1.0 + 0.4 * len(rows))
    for row, (_, colour, scores) in enumerate(rows):
        its = estimate(scores)
        axes.barh(row, its.mean, height=0.6, color=colour, alpha=0.45)
        if its.half_width is not None:
            axes.errorbar(its.mean, row, xerr=its.half_width, color=colour, capsize=3)
        axes.plot(scores, [row] * len(scores), "o", color=colour, markersize=3.5)
    axes.set_yticks(range(len(rows)), [plain_label(name) for name, _, _ in rows])
    axes.invert_yaxis()
    scores = [score for _, _, scores in rows for score in scores]
    axes.set_xlim(min(0, *scores), max(1, *scores))
    axes.set_xlabel("last validation score")
    return figure


def over_tokens(groups: Sequence[RunGroup]) -> Figure:
    """The score over the tokens of both players, every run a line: the environment's compute counts, too.

    The score is that of the validation, of all runs or none; without it p̂ on fresh tasks.
    """
    runs = [run for group in groups for run in group.runs]
    validated = any(validation_over_tokens(run) for run in runs)
    series_of = validation_over_tokens if validated else success_over_tokens
    if not any(series_of(run) for run in runs):
        raise NotRecorded("tokens, with validation scores or success_rate")
    figure, (axes,) = new_figure(height=_height(groups))
    for place, group in enumerate(groups):
        colour, line = _look(place)
        label: str | None = group.name
        for points in filter(None, map(series_of, group.runs)):
            plot(axes, points, colour, label, line)
            label = None
    axes.set_xlabel("tokens of both players")
    as_share(axes, "validation score" if validated else "p̂ on fresh tasks")
    legend_beside(axes)
    return figure


def _averages(groups: Sequence[RunGroup], series_of: Callable[[Run], Series], fields: str, x: str = "epoch") -> Figure:
    figure, (axes,) = new_figure(height=_height(groups))
    for place, group in enumerate(groups):
        points = averaged(group, series_of)
        if points:
            colour, line = _look(place)
            runs = len([run for run in group.runs if series_of(run)])
            label = f"{plain_label(group.name)}, {runs} {'run' if runs == 1 else 'runs'}"
            plot_average(axes, points, colour, label, line)
    if not axes.lines:
        raise NotRecorded(fields)
    label_epochs(axes, x)
    legend_beside(axes)
    return figure


def _look(place: int) -> tuple[str, str]:
    """Colour and line of a group; after the last colour the lines change."""
    return PALETTE[place % len(PALETTE)], ("-", "--", ":", "-.")[place // len(PALETTE) % 4]


def _height(groups: Sequence[RunGroup]) -> float:
    """Inches for the axes and one line of legend a group."""
    return 2.9 + 0.18 * len(groups)
