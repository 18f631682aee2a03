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
from __future__ import annotations

import numpy as np
import pytest

from genenv_verl.tasks.minhash import BANDS, ROWS, KeyIndex, band_keys


def elements(rng, n):
    return rng.integers(2**32, size=n, dtype=np.uint32)


@pytest.mark.parametrize("similarity", [0.3, 0.5, 0.7, 0.9])
def test_pairs_share_a_band_as_often_as_the_theory_says(similarity):
    rng = np.random.default_rng(0)
    n, trials = 200, 400
    shared = round(2 * n * similarity / (1 + similarity))  # Of two sets of n elements each.
    meetings = 0
    for _ in range(trials):
        common, first, second = elements(rng, shared), elements(rng, n - shared), elements(rng, n - shared)
        keys = (band_keys(np.concatenate([common, own])) for own in (first, second))
        meetings += np.intersect1d(*keys).size > 0
    expected = 1 - (1 - similarity**ROWS) ** BANDS
    assert meetings / trials == pytest.approx(expected, abs=4 * (expected * (1 - expected) / trials) ** 0.5 + 0.005)


def test_order_and_repetition_do_not_count():
    some = elements(np.random.default_rng(1), 30)
    assert (band_keys(some) == band_keys(np.concatenate([some[::-1], some[:5]]))).all()


def test_the_best_matches_come_first_from_both_parts():
    keys = [np.arange(start, start + 5, dtype=np.uint64) for start in (0, 3, 100, 1)]
    index = KeyIndex()
    index.extend(0, keys[:2])
    index.add(2, keys[2])
    index.add(3, keys[3])
    assert index.look_up(np.arange(5, dtype=np.uint64), limit=10).tolist() == [0, 3, 1]
    assert len(index.look_up(np.arange(5, dtype=np.uint64), limit=2)) == 2
    assert index.look_up(np.array([100], np.uint64), limit=10).tolist() == [2]
    assert index.look_up(np.array([999], np.uint64), limit=10).tolist() == []
    index.forget_recent()
    assert index.look_up(np.arange(5, dtype=np.uint64), limit=10).tolist() == [0, 1]


def test_under_a_crowded_key_the_newest_are_looked_at():
    index = KeyIndex()
    index.extend(0, [np.array([7], np.uint64)] * 1000)
    for owner in range(1000, 1003):
        index.add(owner, np.array([7], np.uint64))
    found = index.look_up(np.array([7], np.uint64), limit=5).tolist()
    assert sorted(found) == [998, 999, 1000, 1001, 1002]
