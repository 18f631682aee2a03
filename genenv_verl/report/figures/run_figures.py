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
"""The figures of a single run, in the order of the page."""

from __future__ import annotations

import numpy as np
from matplotlib.axes import Axes
from matplotlib.colors import ListedColormap, to_rgba
from matplotlib.figure import Figure

from genenv_verl.report.figures.style import (
    PALETTE,
    NotRecorded,
    as_share,
    edges,
    label_epochs,
    legend_beside,
    new_figure,
    plot,
    stack,
)
from genenv_verl.report.groups import Series
from genenv_verl.report.run_files import Run
from genenv_verl.report.series import (
    SECOND_PHASES,
    TOKEN_PHASES,
    band,
    epoch_series,
    half_width,
    histograms,
    share_series,
    stacked_counts,
    step_series,
    validation_series,
)

BLUE, ORANGE, GREEN, PURPLE, VIOLET, OLIVE, RED, TEAL = PALETTE
MOST_COLUMNS = 120


def training(run: Run) -> Figure:
    """The agent's reward and validation score over steps, where verl's file logger kept them; else p̂ and R_env."""
    reward, validation = step_series(run, "critic/score/mean"), validation_series(run)
    if reward or validation:
        figure, (axes,) = new_figure()
        _plot_all(axes, [(reward, "GRPO reward of the batch", BLUE), (validation, "validation score", ORANGE)])
        label_epochs(axes, "agent step")
    else:
        lines = [
            (epoch_series(run, "success_rate"), "p̂ on fresh tasks", BLUE),
            (epoch_series(run, "env_reward_mean"), "R_env (mean)", ORANGE),
        ]
        _require(lines, "success_rate and env_reward_mean")
        figure, (axes,) = new_figure()
        _plot_all(axes, lines)
        label_epochs(axes)
    as_share(axes, "score")
    legend_beside(axes, 2)
    return figure


def length(run: Run) -> Figure:
    """Response length and success, one above the other."""
    tokens = epoch_series(run, "response_tokens_mean")
    _require([(tokens, "", "")], "response_tokens_mean")
    figure, (above, below) = new_figure(2)
    plot(above, tokens, PURPLE)
    above.set_ylabel("response tokens")
    above.set_ylim(bottom=0)
    plot(below, epoch_series(run, "success_rate"), BLUE)
    as_share(below, "p̂")
    label_epochs(below)
    return figure


def calibration(run: Run) -> Figure:
    """p̂ with the band α ± k_min, and under it the distribution of p̂ over tasks."""
    success, trusted = epoch_series(run, "success_rate"), epoch_series(run, "success_rate_trusted")
    _require([(success, "", "")], "success_rate")
    figure, (above, below) = new_figure(2, height=4.2)
    target, width = band(run), half_width(run)
    column = edges([epoch for epoch, _ in target])
    low, high = [alpha - width for _, alpha in target], [alpha + width for _, alpha in target]
    above.stairs(high, column, baseline=low, fill=True, color=GREEN, alpha=0.2, linewidth=0, label="band α ± k_min")
    plot(above, success, BLUE, "p̂ on fresh tasks")
    if trusted:
        plot(above, trusted, ORANGE, "p̂ on tasks without a doubt", line="--", width=1.2)
    as_share(above, "success rate")
    legend_beside(above, 3)
    _heat_map(below, histograms(run))
    below.set_ylabel("p̂ of a task")
    label_epochs(below)
    return figure


def _heat_map(axes: Axes, rows: list[tuple[float, list[float]]]) -> None:
    """One column an epoch, one cell a tenth of p̂; the fuller the stronger, on a light and on a dark page."""
    axes.set_ylim(0, 1)
    axes.grid(False)
    if not rows:
        axes.text(0.5, 0.5, "distribution not recorded", ha="center", va="center", transform=axes.transAxes)
        return
    columns = merged(rows, MOST_COLUMNS)
    cells = np.array([shares for _, shares in columns]).T
    shades = ListedColormap([(0, 0, 0, 0), *(to_rgba(BLUE, 0.1 + 0.9 * step / 255) for step in range(256))])
    borders = edges([epoch for epoch, _ in columns])
    axes.pcolormesh(borders, np.linspace(0, 1, 11), cells, cmap=shades, vmin=0, vmax=cells.max())
    axes.set_title(f"share of tasks, at most {cells.max():.0%}", loc="left", fontsize=8)


def merged(rows: list[tuple[float, list[float]]], most: int) -> list[tuple[float, list[float]]]:
    """The rows, or their means over neighbours where there are more than ``most``."""
    size = -(-len(rows) // most)
    chunks = [rows[start : start + size] for start in range(0, len(rows), size)]
    return [
        (sum(epoch for epoch, _ in chunk) / len(chunk), np.mean([shares for _, shares in chunk], axis=0).tolist())
        for chunk in chunks
    ]


def validity(run: Run) -> Figure:
    """What became of the generations: rejected by reason, as counts."""
    epochs, table = stacked_counts(run, "invalid_reasons")
    valid = epoch_series(run, "valid_fraction")
    if not epochs and not valid:
        raise NotRecorded("invalid_reasons")
    figure, (above, below) = new_figure(2, height=4.0)
    plot(above, valid, GREEN)
    as_share(above, "valid share")
    if any(table.values()):
        stack(below, epochs, table)
        legend_beside(below, 3)
    else:
        below.text(0.5, 0.5, "no generation was rejected", ha="center", va="center", transform=below.transAxes)
        below.set_yticks([])
    below.set_ylabel("rejected")
    label_epochs(below)
    return figure


TRUST_LABELS = {
    "suspected_wrong_gold": "suspected wrong gold", "ambiguous": "ambiguous", "lucky": "lucky",
    "unsolvable_for_now": "unsolvable for now", "quarantined": "quarantined",
}  # fmt: skip


def trust(run: Run) -> Figure:
    """Tasks by what their attempts say about them."""
    lines = [
        (epoch_series(run, f"trust.{flag}"), label, PALETTE[place])
        for place, (flag, label) in enumerate(TRUST_LABELS.items())
    ]
    _require(lines, "trust")
    figure, (axes,) = new_figure()
    _plot_all(axes, lines)
    axes.set_ylabel("tasks")
    axes.set_ylim(bottom=0)
    legend_beside(axes, 3)
    label_epochs(axes)
    return figure


def novelty(run: Run) -> Figure:
    """How new the generations are, and over how many families and tools they spread."""
    shares = [
        (epoch_series(run, "unique_fraction"), "unique", BLUE),
        (share_series(run, "novelty.same_template", "novelty.parsed"), "template used before", ORANGE),
        (epoch_series(run, "novelty.seed_distance.median"), "distance from the seed (median)", GREEN),
        (epoch_series(run, "novelty.similarity_mean"), "similarity to the nearest", PURPLE),
    ]
    spread = [
        (epoch_series(run, "coverage.families_effective"), "families (effective)", VIOLET),
        (epoch_series(run, "coverage.tools_effective"), "tools (effective)", TEAL),
    ]
    _require(shares + spread, "unique_fraction, novelty and coverage")
    has_spread = any(points for points, _, _ in spread)
    figure, axes = new_figure(2 if has_spread else 1, height=4.2 if has_spread else 3.2)
    _plot_all(axes[0], shares)
    as_share(axes[0], "share")
    legend_beside(axes[0], 2)
    if has_spread:
        _plot_all(axes[1], spread)
        axes[1].set_ylabel("effective number")
        axes[1].set_ylim(bottom=0)
        legend_beside(axes[1], 2)
    label_epochs(axes[-1])
    return figure


def update(run: Run) -> Figure:
    """How far the environment moved, and what the filter let in."""
    kl = [
        (epoch_series(run, "env_update.kl_initial"), "KL to the initial environment", BLUE),
        (epoch_series(run, "env_update.kl_step"), "KL of the step", ORANGE),
    ]
    accepted = [
        (epoch_series(run, "acceptance_rate"), "groups in the band", GREEN),
        (share_series(run, "accepted_groups", "groups"), "groups trained on", PURPLE),
    ]
    _require(kl + accepted, "env_update and acceptance_rate")
    figure, (above, below) = new_figure(2, height=4.0)
    if any(points for points, _, _ in kl):
        _plot_all(above, kl)
        legend_beside(above, 2)
        above.set_ylim(bottom=0)
    else:
        above.text(0.5, 0.5, "the environment is not trained", ha="center", va="center", transform=above.transAxes)
    above.set_ylabel("nats a token")
    _plot_all(below, accepted)
    as_share(below, "share")
    legend_beside(below, 2)
    label_epochs(below)
    return figure


def cost(run: Run) -> Figure:
    """Tokens and seconds of both players, an epoch."""
    tokens, seconds = stacked_counts(run, "tokens"), stacked_counts(run, "seconds")
    parts = [
        (epochs, {phase: table[phase] for phase in phases if phase in table}, phases, unit)
        for (epochs, table), phases, unit in ((tokens, TOKEN_PHASES, "tokens"), (seconds, SECOND_PHASES, "seconds"))
    ]
    parts = [part for part in parts if part[1]]
    if not parts:
        raise NotRecorded("tokens and seconds")
    figure, axes = new_figure(len(parts), height=2.2 * len(parts) + 0.4)
    for its, (epochs, table, labels, unit) in zip(axes, parts, strict=True):
        stack(its, epochs, table, labels)
        its.set_ylabel(unit)
        legend_beside(its, 2)
    label_epochs(axes[-1])
    return figure


def _plot_all(axes: Axes, lines: list[tuple[Series, str, str]]) -> None:
    for points, label, colour in lines:
        if points:
            plot(axes, points, colour, label)


def _require(lines: list[tuple[Series, str, str]], fields: str) -> None:
    if not any(points for points, _, _ in lines):
        raise NotRecorded(fields)
