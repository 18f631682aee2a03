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
"""R_env, what the environment policy earns for a task that the agent solves at rate p̂ (Eq. 3)."""

from __future__ import annotations

import math


def environment_reward(p_hat: float, alpha: float, beta: float) -> float:
    """R_env(p̂) = exp(−β (p̂ − α)²), Eq. 3; the same formula everywhere in [0, 1], both ends included.

    An invalid generation has no p̂ and hence no R_env at all, neither 0 nor 1.

    Args:
        p_hat: Success rate in [0, 1].
        alpha: Target success rate in [0, 1]; the paper has 0.5.
        beta: Sharpness, > 0; 2.0 in the authors' code.

    Returns:
        The reward in (0, 1], 1 at p̂ = α.

    Raises:
        ValueError: If an argument is out of its range.
    """
    if not 0.0 <= p_hat <= 1.0:
        raise ValueError(f"p_hat must be in [0, 1], got {p_hat}")
    if not 0.0 <= alpha <= 1.0:
        raise ValueError(f"alpha must be in [0, 1], got {alpha}")
    if not beta > 0.0:
        raise ValueError(f"beta must be > 0, got {beta}")
    return math.exp(-beta * (p_hat - alpha) ** 2)


def novelty_factor(similarity: float, lam_dup: float) -> float:
    """1 − λ_dup · similarity, what R_env is multiplied with where being new is paid for.

    Args:
        similarity: Similarity to the nearest of seeds, pool and epoch in [0, 1].
        lam_dup: λ_dup in [0, 1); 0 pays the same for every task.

    Returns:
        The factor in (0, 1].

    Raises:
        ValueError: If an argument is out of its range.
    """
    if not 0.0 <= similarity <= 1.0:
        raise ValueError(f"similarity must be in [0, 1], got {similarity}")
    if not 0.0 <= lam_dup < 1.0:
        raise ValueError(f"lam_dup must be in [0, 1), got {lam_dup}")
    return 1.0 - lam_dup * similarity
