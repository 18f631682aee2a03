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
"""Weights of reward-weighted regression: how much each accepted generation counts in the environment's update."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

import numpy as np

Weighting = Literal["exp", "linear"]


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
