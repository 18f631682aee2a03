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
"""Which groups enter the environment's update: the band |p̂ − α| <= k_min of the paper, and its alternatives."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from genenv_verl.curriculum.difficulty import Group

Filter = Literal["band", "top_k", "none"]

# 0.6 − 0.5 is a little more or less than 0.1 in floating point; the edge of the band belongs to the band.
_TOLERANCE = 1e-9


@dataclass(frozen=True)
class Selection:
    """The outcome of the filter; positions refer to the groups that were filtered, in ascending order.

    Attributes:
        accepted: Groups that enter the update.
        in_band: Groups with |p̂ − α| <= k_min, whatever the filter.
        fallback: Whether groups outside the band were accepted because the band held too few tasks.
    """

    accepted: tuple[int, ...]
    in_band: tuple[int, ...]
    fallback: bool


def is_in_band(p_hat: float, alpha: float, k_min: float) -> bool:
    """|p̂ − α| <= k_min, the edge included (SPEC section 2, filter)."""
    return abs(p_hat - alpha) <= k_min + _TOLERANCE


def select_groups(
    groups: Sequence[Group],
    *,
    alpha: float,
    k_min: float,
    filter: Filter,
    min_accepted: int,
    top_k: float,
) -> Selection:
    """Chooses the groups of the environment's update; one pass, never an error for lack of groups.

    - ``band``: the groups of the band. If they hold fewer than ``min_accepted`` tasks, the groups nearest to α are
      added one by one until that many tasks are in or no group is left (the cold start: at p̂ ≈ 0.14 almost nothing
      is in the band, and the environment would never move).
    - ``top_k``: the share ``top_k`` of the groups that lies nearest to α, at least one group.
    - ``none``: all groups.

    Of two groups at the same distance the earlier one is nearer.

    Args:
        groups: The groups with their p̂. None gives an empty selection.
        alpha: Target success rate in [0, 1].
        k_min: Half width of the band in [0, 1].
        filter: One of the three names above.
        min_accepted: Tasks (not groups) that an update needs, >= 0; read by ``band``.
        top_k: Share of the groups in (0, 1]; read by ``top_k``.

    Raises:
        ValueError: If the filter is unknown, or ``top_k`` is read and out of its range.
    """
    in_band = tuple(position for position, group in enumerate(groups) if is_in_band(group.p_hat, alpha, k_min))
    # Rounded, so that the same distance on both sides of α is a tie; the sort is stable.
    nearest = sorted(range(len(groups)), key=lambda position: round(abs(groups[position].p_hat - alpha), 9))
    if filter == "none":
        accepted = range(len(groups))
    elif filter == "top_k":
        if not 0.0 < top_k <= 1.0:
            raise ValueError(f"top_k must be in (0, 1], got {top_k}")
        accepted = nearest[: max(1, math.ceil(top_k * len(groups) - _TOLERANCE))]
    elif filter == "band":
        accepted = list(in_band)
        tasks = sum(len(groups[position].members) for position in in_band)
        for position in (position for position in nearest if position not in in_band):
            if tasks >= min_accepted:
                break
            accepted.append(position)
            tasks += len(groups[position].members)
    else:
        raise ValueError(f"filter must be 'band', 'top_k' or 'none', got {filter!r}")
    fallback = filter == "band" and len(accepted) > len(in_band)
    return Selection(tuple(sorted(accepted)), in_band, fallback)
