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
"""Early against late: the few statistics that the rules read off a series."""

from __future__ import annotations

import bisect
import statistics
from collections.abc import Sequence

WINDOW = 3
"""Epochs that are averaged at either end, at most: one strange epoch is no trend, three are."""
MIN_TREND = 3
"""Values below which nothing is said about a trend."""


def early_and_late(values: Sequence[float]) -> tuple[float, float] | None:
    """Mean of the first and of the last values, three each or half of what there is; ``None`` below three values."""
    if len(values) < MIN_TREND:
        return None
    width = min(WINDOW, len(values) // 2)
    return statistics.fmean(values[:width]), statistics.fmean(values[-width:])


def fallen(values: Sequence[float], by: float, below: float) -> tuple[float, float] | None:
    """Early and late mean of a share that fell by ``by``, or whose late mean is below ``below``; else ``None``.

    With too few values for a trend, first and last value, if all of them are below.
    """
    trend = early_and_late(values)
    if trend is not None:
        return trend if trend[1] < below or trend[0] - trend[1] >= by else None
    return (values[0], values[-1]) if values and max(values) < below else None


def recent_mean(values: Sequence[float]) -> float | None:
    """Mean of the last three values, or of what there is; ``None`` without any."""
    return statistics.fmean(values[-WINDOW:]) if values else None


def largest_jump(values: Sequence[float]) -> tuple[int, float]:
    """Where a value is the largest multiple of the median of all before it, and that multiple.

    Values with fewer than :data:`MIN_TREND` before them are not looked at; (0, 1.0) where none is left.
    """
    place, factor = 0, 1.0
    before: list[float] = []
    for index, value in enumerate(values):
        if index >= MIN_TREND:
            median = (before[(index - 1) // 2] + before[index // 2]) / 2.0
            if median > 0.0 and value / median > factor:
                place, factor = index, value / median
        bisect.insort(before, value)
    return place, factor
