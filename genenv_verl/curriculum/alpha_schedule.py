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
"""The target success rate α over the epochs; the paper keeps it at 0.5 (SPEC section 2, α over time)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class AlphaSchedule:
    """α as a function of the epoch, which is counted from 0.

    Attributes:
        points: (epoch, α) with ascending epochs, α in [0, 1]. Before the first and after the last point α stays.
        interpolated: Whether α moves on a straight line between two points, or stays at the earlier one.
    """

    points: tuple[tuple[int, float], ...]
    interpolated: bool = False

    def __post_init__(self):
        if not self.points:
            raise ValueError("an alpha schedule needs at least one [epoch, alpha]")
        epochs = [epoch for epoch, _ in self.points]
        if epochs[0] < 0 or any(later <= earlier for earlier, later in zip(epochs, epochs[1:], strict=False)):
            raise ValueError(f"the epochs of an alpha schedule must be >= 0 and ascend, got {epochs}")
        if not all(0.0 <= alpha <= 1.0 for _, alpha in self.points):
            raise ValueError(f"alpha must be in [0, 1], got {[alpha for _, alpha in self.points]}")

    @classmethod
    def constant(cls, alpha: float) -> AlphaSchedule:
        """The same α in every epoch."""
        return cls(((0, alpha),))

    @classmethod
    def linear(cls, start: float, end: float, epochs: int) -> AlphaSchedule:
        """From ``start`` in epoch 0 on a straight line to ``end`` in epoch ``epochs`` (>= 1), then constant."""
        return cls(((0, start), (epochs, end)), interpolated=True)

    @classmethod
    def piecewise(cls, points: Sequence[Sequence[float]]) -> AlphaSchedule:
        """Steps: ``[[epoch, alpha], …]``, each α from its epoch on."""
        return cls(tuple((int(epoch), float(alpha)) for epoch, alpha in points))

    def at(self, epoch: int) -> float:
        """α in the given epoch (>= 0)."""
        epochs, alphas = zip(*self.points, strict=True)
        if self.interpolated:
            return float(np.interp(epoch, epochs, alphas))
        return next((alpha for start, alpha in reversed(self.points) if start <= epoch), alphas[0])
