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
"""The mixture that an epoch's tasks come from: base data, earlier tasks of D_train, fresh tasks (SPEC section 1)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

SOURCES = ("base", "pool", "fresh")


@dataclass(frozen=True)
class Refill:
    """A split of a batch that the sources can serve.

    Attributes:
        counts: Tasks to take from each source; the sum is that of the wanted split.
        fresh_missing: Fresh tasks that were wanted and not there.
        pool_missing: Pool tasks that were wanted and not there.
        from_pool: How many of the missing fresh tasks the pool gives.
        from_base: How many of all missing tasks the base data gives.
    """

    counts: dict[str, int]
    fresh_missing: int
    pool_missing: int
    from_pool: int
    from_base: int


def refill(wanted: Mapping[str, int], *, fresh_available: int, pool_size: int) -> Refill:
    """Replaces what is missing: fresh tasks by tasks of the pool, and what the pool lacks by base data.

    The pool gives no task twice in a batch; base data never runs out (it is drawn in cycles).

    Args:
        wanted: Tasks wanted from ``base``, ``pool`` and ``fresh``.
        fresh_available: Valid fresh tasks of the epoch, >= 0.
        pool_size: Tasks in D_train, >= 0.
    """
    fresh = min(wanted["fresh"], fresh_available)
    pool = min(wanted["pool"], pool_size)
    fresh_missing = wanted["fresh"] - fresh
    pool_missing = wanted["pool"] - pool
    from_pool = min(fresh_missing, pool_size - pool)
    from_base = fresh_missing + pool_missing - from_pool
    counts = {"base": wanted["base"] + from_base, "pool": pool + from_pool, "fresh": fresh}
    return Refill(counts, fresh_missing, pool_missing, from_pool, from_base)


class Mixture:
    """Splits batches by fixed shares and draws from base data and pool, with a generator of its own.

    Nobody else's random numbers change what it draws, and its whole state goes into the checkpoint: a resumed run
    draws what the uninterrupted run would have drawn.

    Args:
        shares: ``base``, ``pool`` and ``fresh``, each >= 0, with sum 1.
        seed: Seed of the generator, >= 0.

    Raises:
        ValueError: If the shares are not those three, or are negative, or do not sum to 1.
    """

    def __init__(self, shares: Mapping[str, float], seed: int):
        if set(shares) != set(SOURCES) or min(shares.values()) < 0.0 or abs(sum(shares.values()) - 1.0) > 1e-6:
            raise ValueError(f"shares must be >= 0 for each of {SOURCES} and sum to 1, got {dict(shares)}")
        self.shares = {source: float(shares[source]) for source in SOURCES}
        self._generator = np.random.Generator(np.random.PCG64(seed))
        self._owed = dict.fromkeys(SOURCES, 0.0)
        self._base_items: int | None = None
        self._base_queue: list[int] = []

    def counts(self, n: int) -> dict[str, int]:
        """Splits a batch of n tasks (>= 0) over the sources.

        Every task goes to the source that is owed most (the largest remainder). What a source is still owed counts in
        the next call, so that the shares hold in the long run, however small the batches are.
        """
        owed = {source: self._owed[source] + n * self.shares[source] for source in SOURCES}
        counts = dict.fromkeys(SOURCES, 0)
        for _ in range(n):
            source = max(SOURCES, key=lambda source: owed[source])
            counts[source] += 1
            owed[source] -= 1.0
        self._owed = owed
        return counts

    def draw_base(self, n_items: int, n: int) -> list[int]:
        """Draws n positions of the base data in shuffled cycles: each item once before any comes twice.

        Where a draw goes on into the next cycle, that cycle begins with items that the draw does not hold yet: no
        item occurs twice in a draw of at most ``n_items``.

        Args:
            n_items: Size of the base data, >= 1; the same in every call.
            n: Positions to draw, >= 0.

        Raises:
            ValueError: If there are no items, or their number has changed.
        """
        if n_items < 1 or self._base_items not in (None, n_items):
            raise ValueError(f"base data of {n_items} items: expected {self._base_items or 'at least one'}")
        self._base_items = n_items
        drawn: list[int] = []
        while len(drawn) < n:
            if not self._base_queue:
                held = set(drawn)
                # A stable sort: the items that this draw holds go to the end of the new cycle.
                self._base_queue = sorted(self._generator.permutation(n_items).tolist(), key=held.__contains__)
            taken = n - len(drawn)
            drawn += self._base_queue[:taken]
            del self._base_queue[:taken]
        return drawn

    def draw_pool(self, pool_size: int, n: int) -> list[int]:
        """Draws n positions of the pool uniformly, none twice; more than the pool holds come in whole rounds of it.

        Raises:
            ValueError: If the pool is empty and n is not 0.
        """
        if pool_size < 1 and n > 0:
            raise ValueError(f"cannot draw {n} tasks from an empty pool")
        drawn: list[int] = []
        while len(drawn) < n:
            taken = min(n - len(drawn), pool_size)
            drawn += self._generator.choice(pool_size, size=taken, replace=False).tolist()
        return drawn

    def state_dict(self) -> dict[str, Any]:
        """The generator, the current cycle of the base data and what the sources are owed. Safe for JSON."""
        return {
            "generator": self._generator.bit_generator.state,
            "owed": dict(self._owed),
            "base_items": self._base_items,
            "base_queue": list(self._base_queue),
        }

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Continues from :meth:`state_dict`. Shares are configuration and stay."""
        self._generator.bit_generator.state = state["generator"]
        self._owed = dict(state["owed"])
        self._base_items = state["base_items"]
        self._base_queue = list(state["base_queue"])
