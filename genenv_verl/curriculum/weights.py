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
"""Weights of the environment's update: how much each accepted generation counts, by regression (RWR) or by GRPO."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import Literal

import numpy as np

Objective = Literal["rwr", "grpo"]
Weighting = Literal["exp", "linear"]

# Rewards of equal worth may differ by rounding: p̂ = 0.3 and p̂ = 0.7, say, with α = 0.5.
_EQUAL = 1e-9


def regression_weights(rewards: Sequence[float], *, lam: float, kind: Weighting) -> np.ndarray:
    """RWR weights w_i ∝ exp(R_i / λ), or ∝ R_i, with mean 1 over the update batch (SPEC section 2, weight).

    Mean 1 keeps the size of the update independent of λ and of the batch. Rewards that are all zero have no linear
    weights of mean 1: they give zeros, an update that changes nothing.

    Args:
        rewards: R_env of the accepted generations, shape ``[n]``; none gives an empty array.
        lam: Temperature λ > 0, read by ``exp``. Small λ gives all the weight to the best.
        kind: ``exp`` (the paper) or ``linear``.

    Returns:
        float64, shape ``[n]``, all >= 0.

    Raises:
        ValueError: If λ is not positive, the kind is unknown, or a linear weight would be negative.
    """
    reward = np.asarray(rewards, dtype=np.float64)
    if reward.size == 0:
        return np.zeros(0)
    if kind == "exp":
        if not lam > 0.0:
            raise ValueError(f"lam must be > 0, got {lam}")
        # The largest exponent is 0: the mean is at least 1 / n, whatever λ is.
        weights = np.exp((reward - reward.max()) / lam)
    elif kind == "linear":
        if reward.min() < 0.0:
            raise ValueError(f"linear weights need rewards >= 0, got {reward.min()}")
        if reward.max() == 0.0:
            return np.zeros_like(reward)
        weights = reward
    else:
        raise ValueError(f"weight must be 'exp' or 'linear', got {kind!r}")
    return weights / weights.mean()


def group_advantages(rewards: Sequence[float], groups: Sequence[Hashable]) -> np.ndarray:
    """Group-relative advantages A_i = (R_i − mean) / (std + 1e-6) over the rewards of i's group (SPEC section 2).

    Source: GRPO, Shao et al. 2024, arXiv 2402.03300; the deviation is the sample's (m − 1), as in verl's GRPO. A group
    of one, and one of equal rewards, tells nothing: its advantages are exactly 0.

    Args:
        rewards: R_env of the accepted generations, shape ``[n]``; none gives an empty array.
        groups: For each of them what it is compared within, shape ``[n]``: its seed.

    Returns:
        float64, shape ``[n]``; the sum over a group is 0, and |A_i| < (m − 1) / √m in a group of m.

    Raises:
        ValueError: If there are not as many groups as rewards.
    """
    members_of: dict[Hashable, list[int]] = {}
    for position, (_, group) in enumerate(zip(rewards, groups, strict=True)):
        members_of.setdefault(group, []).append(position)
    reward = np.asarray(rewards, dtype=np.float64)
    advantages = np.zeros_like(reward)
    for members in members_of.values():
        own = reward[members]
        if np.ptp(own) > _EQUAL:
            advantages[members] = (own - own.mean()) / (own.std(ddof=1) + 1e-6)
    return advantages
