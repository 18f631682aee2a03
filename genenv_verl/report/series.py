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
"""Figures of a run over its epochs and steps. A point that was not recorded is missing, never zero."""

from __future__ import annotations

from collections import defaultdict
from itertools import accumulate

from genenv_verl.report.fields import counts, field, number
from genenv_verl.report.groups import Series
from genenv_verl.report.run_files import Run

TOKEN_PHASES = {
    "env_generate": "environment writes", "env_train": "environment trains",
    "agent_generate": "agent attempts", "agent_train": "agent trains",
}  # fmt: skip
SECOND_PHASES = {
    "env_generate": "environment writes", "env_update": "environment trains", "agent": "agent attempts and trains",
    "checkpoint": "saving",
}  # fmt: skip
DEFAULT_ALPHA = 0.5
DEFAULT_K_MIN = 0.1


def epoch_series(run: Run, path: str) -> Series:
    """A number of the epoch line over epochs."""
    points = ((float(line["epoch"]), number(line, path)) for line in run.epochs)
    return [(epoch, value) for epoch, value in points if value is not None]


def share_series(run: Run, part: str, whole: str) -> Series:
    """One number of the epoch line divided by another, where the other is positive."""
    points = ((float(line["epoch"]), number(line, part), number(line, whole)) for line in run.epochs)
    return [(epoch, a / b) for epoch, a, b in points if a is not None and b is not None and b > 0]


def step_series(run: Run, name: str) -> Series:
    """A number of verl's file logger over agent steps."""
    return [(float(step), data[name]) for step, data in run.steps if name in data]


def validation_series(run: Run) -> Series:
    """The unweighted mean of all ``val-core/…`` metrics over agent steps; one metric a data source.

    verl logs several statistics of a source (``mean@8``, ``best@8/mean`` …): the ``mean@`` one is taken.
    """
    points = []
    for step, data in run.steps:
        means = [value for name, value in data.items() if name.startswith("val-core/") and "/mean@" in name]
        if means:
            points.append((float(step), sum(means) / len(means)))
    return points


def band(run: Run) -> Series:
    """α of every epoch; :data:`DEFAULT_ALPHA` where a line does not say."""
    alphas = [(float(line["epoch"]), number(line, "alpha")) for line in run.epochs]
    return [(epoch, DEFAULT_ALPHA if alpha is None else alpha) for epoch, alpha in alphas]


def half_width(run: Run) -> float:
    """k_min of the configuration; the paper's 0.1 where it is not recorded."""
    value = run.config.effective.get("genenv.k_min") if run.config else None
    return float(value) if isinstance(value, int | float) and 0 < value <= 1 else DEFAULT_K_MIN


def histograms(run: Run) -> list[tuple[float, list[float]]]:
    """The distribution of p̂ by epoch, as shares; epochs without an attempted task are left out."""
    rows = []
    for line in run.epochs:
        bins = field(line, "p_hat_histogram")
        numbers = list(counts({"bins": dict(enumerate(bins))}, "bins").values()) if isinstance(bins, list) else []
        if len(numbers) == 10 == len(bins) and sum(numbers) > 0:
            rows.append((float(line["epoch"]), [value / sum(numbers) for value in numbers]))
    return rows


def stacked_counts(run: Run, path: str, most: int = 8) -> tuple[list[float], dict[str, list[float]]]:
    """The counts under a path over epochs, by name, the most frequent first and the rest as ``other``.

    Returns:
        The epochs that have the mapping, and for each name one number an epoch.
    """
    lines = [line for line in run.epochs if isinstance(field(line, path), dict)]
    totals: dict[str, float] = defaultdict(float)
    for line in lines:
        for name, count in counts(line, path).items():
            totals[name] += count
    ranked = sorted((name for name in totals if totals[name] > 0), key=lambda name: (-totals[name], name))
    shown, rest = ranked[:most], set(ranked[most:])
    table = {name: [counts(line, path).get(name, 0.0) for line in lines] for name in shown}
    if rest:
        table["other"] = [sum(v for name, v in counts(line, path).items() if name in rest) for line in lines]
    return [float(line["epoch"]) for line in lines], table


def total_tokens(run: Run) -> Series:
    """Tokens of both players, generated and trained on, from the first to each epoch."""
    lines = [line for line in run.epochs if counts(line, "tokens")]
    sums = accumulate(sum(counts(line, "tokens").get(phase, 0.0) for phase in TOKEN_PHASES) for line in lines)
    return [(float(line["epoch"]), value) for line, value in zip(lines, sums, strict=True)]


def validation_over_tokens(run: Run) -> Series:
    """The validation score over the tokens of both players, at the epochs whose last step was validated."""
    scores, spent = dict(validation_series(run)), dict(total_tokens(run))
    steps = {float(line["epoch"]): number(line, "global_step") for line in run.epochs}
    return [(spent[epoch], scores[step]) for epoch, step in steps.items() if step in scores and epoch in spent]


def success_over_tokens(run: Run) -> Series:
    """p̂ on fresh tasks over the tokens of both players."""
    spent, rate = dict(total_tokens(run)), dict(epoch_series(run, "success_rate"))
    return [(spent[epoch], rate[epoch]) for epoch in sorted(spent.keys() & rate.keys())]


def totals(run: Run, path: str, phases: dict[str, str]) -> dict[str, float]:
    """The sum over all epochs of each phase's count; a phase that no line records is missing."""
    sums: dict[str, float] = {}
    for line in run.epochs:
        for phase, value in counts(line, path).items():
            if phase in phases:
                sums[phase] = sums.get(phase, 0.0) + value
    return sums
