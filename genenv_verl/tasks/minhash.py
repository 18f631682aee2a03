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
"""MinHash and locality-sensitive hashing over sets of 32-bit numbers: who shares much with whom, without comparing all.

Broder, On the resemblance of documents (1997). Written out here, in numpy: sorted arrays keep a key in 12 bytes, where
``datasketch`` keeps a set of Python objects and needs scipy (``perf/novelty_speed.py --peers`` measures both).
"""

from __future__ import annotations

from collections import defaultdict

import numpy as np

BANDS, ROWS = 16, 4  # A pair of Jaccard similarity s shares a band with probability 1 - (1 - s^4)^16: 0.7 -> 0.99.

_generator = np.random.default_rng(0x6E6F76656C)
# Multiply-shift hashing (Dietzfelbinger et al., 1997): odd multipliers, arithmetic modulo 2^64, the upper half counts.
_MULTIPLIERS = _generator.integers(2**64, size=(BANDS * ROWS, 1), dtype=np.uint64) | np.uint64(1)
_OFFSETS = _generator.integers(2**64, size=(BANDS * ROWS, 1), dtype=np.uint64)
_ROW_MULTIPLIERS = _generator.integers(2**64, size=(BANDS, ROWS), dtype=np.uint64) | np.uint64(1)


def band_keys(elements: np.ndarray) -> np.ndarray:
    """The keys (uint64, one a band) of a non-empty set of uint32: two sets share a key if they agree on that band."""
    hashed = (_MULTIPLIERS * elements.astype(np.uint64) + _OFFSETS) >> np.uint64(32)
    minima = hashed.min(axis=1).reshape(BANDS, ROWS)
    # The multipliers differ between bands, so keys of different bands meet by chance only.
    return (_ROW_MULTIPLIERS * (minima + np.uint64(1))).sum(axis=1, dtype=np.uint64)


class KeyIndex:
    """Owners (numbers from 0, in ascending order) under keys (uint64): a large sorted part and a small recent one."""

    def __init__(self) -> None:
        self._keys = np.empty(0, np.uint64)
        self._owners = np.empty(0, np.int32)
        self._recent: defaultdict[int, list[int]] = defaultdict(list)

    def add(self, owner: int, keys: np.ndarray) -> None:
        """Files one owner under its keys in the recent part."""
        for key in keys.tolist():
            self._recent[key].append(owner)

    def forget_recent(self) -> None:
        """Empties the recent part."""
        self._recent.clear()

    def extend(self, first_owner: int, keys: list[np.ndarray]) -> None:
        """Files many owners, numbered from ``first_owner``, in the sorted part; ``keys`` has an array for each."""
        if keys:
            sizes = [len(its) for its in keys]
            owners = np.repeat(np.arange(first_owner, first_owner + len(keys), dtype=np.int32), sizes)
            self._keys = np.concatenate([self._keys, *keys])
            # A stable sort leaves the owners under a key in ascending order.
            order = np.argsort(self._keys, kind="stable")
            self._keys, self._owners = self._keys[order], np.concatenate([self._owners, owners])[order]

    def look_up(self, keys: np.ndarray, *, limit: int) -> np.ndarray:
        """The owners that share keys, those that share the most first.

        Args:
            keys: uint64.
            limit: At most so many owners. Under each key the newest ``limit`` are looked at: a key that thousands share
                tells little, and time stays bounded.
        """
        firsts = np.searchsorted(self._keys, keys, side="left").tolist()
        ends = np.searchsorted(self._keys, keys, side="right").tolist()
        found: list[int] = []
        for key, first, end in zip(keys.tolist(), firsts, ends, strict=True):
            recent = self._recent.get(key, [])[-limit:]
            found += self._owners[max(first, end - limit + len(recent)) : end].tolist()
            found += recent
        owners, shared = np.unique(np.array(found, np.int32), return_counts=True)
        return owners[np.argsort(-shared, kind="stable")[:limit]]
