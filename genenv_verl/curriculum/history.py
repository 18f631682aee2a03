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
"""The agent's recent success, which the environment policy reads when it writes the next tasks (SPEC section 1)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from genenv_verl.curriculum.difficulty import Attempts

_Tally = tuple[float, float]

# Scored attempts, decayed; what is less is forgotten, before floating point takes the rate with it.
_FORGOTTEN = 1e-200


class SuccessHistory:
    """Exponentially decayed successes k and scored attempts n: per seed, per family and over all.

    Every update multiplies all k and n by ``decay`` and then adds the epoch's. A seed that is not attempted keeps its
    rate and loses weight, so that new attempts soon outweigh old ones.

    Args:
        decay: What is left of an epoch after one more, in [0, 1]: 0 remembers the last epoch alone, 1 forgets nothing.

    Raises:
        ValueError: If decay is out of its range.
    """

    def __init__(self, decay: float):
        if not 0.0 <= decay <= 1.0:
            raise ValueError(f"decay must be in [0, 1], got {decay}")
        self.decay = decay
        self._seeds: dict[str, _Tally] = {}
        self._families: dict[str, _Tally] = {}
        self._overall: _Tally = (0.0, 0.0)

    def update(self, attempts: Sequence[Attempts]) -> None:
        """Adds one epoch's attempts; unscored ones count nowhere."""
        self._seeds = self._decayed(self._seeds)
        self._families = self._decayed(self._families)
        self._overall = self._decayed({"": self._overall}).get("", (0.0, 0.0))
        for entry in attempts:
            self._seeds[entry.seed_id] = _plus(self._seeds.get(entry.seed_id, (0.0, 0.0)), entry)
            self._families[entry.family] = _plus(self._families.get(entry.family, (0.0, 0.0)), entry)
            self._overall = _plus(self._overall, entry)

    def seed_success(self, seed_id: str) -> float | None:
        """The recent success rate at the seed's tasks in [0, 1]; None if no scored attempt is remembered."""
        return _rate(self._seeds.get(seed_id, (0.0, 0.0)))

    def family_success(self, family: str) -> float | None:
        """The recent success rate at the family's tasks in [0, 1]; None if no scored attempt is remembered."""
        return _rate(self._families.get(family, (0.0, 0.0)))

    def overall_success(self) -> float | None:
        """The recent success rate at all tasks in [0, 1]; None if no scored attempt is remembered."""
        return _rate(self._overall)

    def state_dict(self) -> dict[str, Any]:
        """All tallies as ``[k, n]``, safe for JSON. The decay is configuration, not state."""
        return {
            "seeds": {seed: list(tally) for seed, tally in self._seeds.items()},
            "families": {family: list(tally) for family, tally in self._families.items()},
            "overall": list(self._overall),
        }

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Replaces all tallies by those of :meth:`state_dict`."""
        self._seeds = {seed: (k, n) for seed, (k, n) in state["seeds"].items()}
        self._families = {family: (k, n) for family, (k, n) in state["families"].items()}
        k, n = state["overall"]
        self._overall = (k, n)

    def _decayed(self, tallies: dict[str, _Tally]) -> dict[str, _Tally]:
        decayed = {name: (self.decay * k, self.decay * n) for name, (k, n) in tallies.items()}
        return {name: (k, n) for name, (k, n) in decayed.items() if n >= _FORGOTTEN}


def _plus(tally: _Tally, entry: Attempts) -> _Tally:
    return tally[0] + entry.successes, tally[1] + entry.scored


def _rate(tally: _Tally) -> float | None:
    return tally[0] / tally[1] if tally[1] > 0.0 else None
