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
"""How sure a figure is: bootstrap intervals, and two runs on the same records side by side.

Steps cut from one episode (the turns of a dialogue, the steps of a game) are not independent: the bootstrap draws whole
episodes. Every function takes a seed, so that a table can be made again.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass

import numpy as np

Figure = Callable[[Sequence[int]], float]
"""A figure over items, given as positions; a position may occur several times."""


@dataclass(frozen=True)
class Interval:
    """A percentile interval and the standard error of a figure."""

    low: float
    high: float
    standard_error: float


@dataclass(frozen=True)
class PairedComparison:
    """Two runs on the same items.

    Attributes:
        difference: Figure of the second run minus figure of the first.
        interval: Bootstrap interval of the difference.
        p_bootstrap: Two-sided p value of the bootstrap, 1 / resamples at least.
        better, worse: Items on which the second run scores higher and lower.
        p_sign: Two-sided exact p value of ``better`` against ``worse``: McNemar's exact test where scores are 0 or 1,
            the sign test otherwise. It takes items as independent.
    """

    difference: float
    interval: Interval
    p_bootstrap: float
    better: int
    worse: int
    p_sign: float


def bootstrap_interval(
    groups: Sequence[Hashable], figure: Figure, *, resamples: int = 1000, seed: int = 0, level: float = 0.95
) -> Interval | None:
    """Percentile bootstrap of a figure over items, drawn by group.

    Where every draw is 0 (or 1) the bootstrap sees no spread at all: the other end is then Clopper and Pearson's exact
    limit for as many trials as there are groups.

    Args:
        groups: The group (episode) of each item.
        figure: The figure, in [0, 1].
        resamples: Number of draws.
        seed: Of the draws.
        level: Share of the draws inside the interval.

    Returns:
        None with fewer than two groups: one episode says nothing about its spread.
    """
    drawn = _drawn_figures(groups, [figure], resamples, seed)
    if drawn is None:
        return None
    interval = _interval(drawn[:, 0], level)
    if interval.low == interval.high and interval.low in (0.0, 1.0):
        beyond = 1.0 - ((1.0 - level) / 2) ** (1 / len(set(groups)))
        ends = (0.0, beyond) if interval.high == 0.0 else (1.0 - beyond, 1.0)
        return Interval(*ends, standard_error=0.0)
    return interval


def compare_paired(
    groups: Sequence[Hashable],
    first: tuple[Figure, Sequence[float]],
    second: tuple[Figure, Sequence[float]],
    *,
    resamples: int = 1000,
    seed: int = 0,
    level: float = 0.95,
) -> PairedComparison | None:
    """Compares two runs on the same items, each given as its figure and its scores by item.

    Returns:
        None with fewer than two groups.
    """
    drawn = _drawn_figures(groups, [first[0], second[0]], resamples, seed)
    if drawn is None:
        return None
    differences = drawn[:, 1] - drawn[:, 0]
    tail = min((differences <= 0).mean(), (differences >= 0).mean())
    better = sum(b > a for a, b in zip(first[1], second[1], strict=True))
    worse = sum(b < a for a, b in zip(first[1], second[1], strict=True))
    everything = range(len(groups))
    return PairedComparison(
        difference=second[0](everything) - first[0](everything),
        interval=_interval(differences, level),
        p_bootstrap=float(min(1.0, max(2 * tail, 1 / resamples))),
        better=better,
        worse=worse,
        p_sign=sign_test(better, worse),
    )


def sign_test(better: int, worse: int) -> float:
    """Two-sided exact binomial p value of ``better`` against ``worse`` at equal odds; 1 if both are 0."""
    n = better + worse
    tail, ways = 0, 1  # whole numbers: the ways to get k of n, k counting up
    for k in range(min(better, worse) + 1):
        tail += ways
        ways = ways * (n - k) // (k + 1)
    return min(1.0, 2 * tail / 2**n)


def _drawn_figures(
    groups: Sequence[Hashable], figures: Sequence[Figure], resamples: int, seed: int
) -> np.ndarray | None:
    """The figures of each draw, shape (resamples, len(figures)); the same draw for all figures."""
    members: dict[Hashable, list[int]] = {}
    for position, group in enumerate(groups):
        members.setdefault(group, []).append(position)
    by_group = list(members.values())
    if len(by_group) < 2:
        return None
    draws = np.random.default_rng(seed).integers(len(by_group), size=(resamples, len(by_group)))
    drawn = np.empty((resamples, len(figures)))
    for row, draw in enumerate(draws):
        positions = [position for group in draw for position in by_group[group]]
        drawn[row] = [figure(positions) for figure in figures]
    return drawn


def _interval(drawn: np.ndarray, level: float) -> Interval:
    low, high = np.quantile(drawn, [(1 - level) / 2, (1 + level) / 2])
    return Interval(float(low), float(high), float(drawn.std(ddof=1)))
