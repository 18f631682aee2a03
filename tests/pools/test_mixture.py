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
import json
import random
from collections import Counter

import numpy as np
import pytest

from genenv_verl.pools.mixture import Mixture, refill

SHARES = {"base": 0.4, "pool": 0.3, "fresh": 0.3}


def draw(mixture):
    """One epoch's worth of everything that the mixture decides."""
    return mixture.counts(7), mixture.draw_base(13, 5), mixture.draw_pool(50, 4)


def test_c05_draws_after_a_resume_are_those_of_the_uninterrupted_run():
    uninterrupted = Mixture(SHARES, seed=1)
    draws = [draw(uninterrupted) for _ in range(15)]

    interrupted = Mixture(SHARES, seed=1)
    for _ in range(10):
        draw(interrupted)
    checkpoint = json.dumps(interrupted.state_dict())
    resumed = Mixture(SHARES, seed=999)
    resumed.load_state_dict(json.loads(checkpoint))
    after_resume = [draw(resumed) for _ in range(5)]
    assert after_resume == draws[10:]
    assert after_resume != draws[:5]


def test_c05_other_generators_change_nothing():
    alone, disturbed = Mixture(SHARES, seed=1), Mixture(SHARES, seed=1)
    for _ in range(5):
        random.random()
        np.random.seed(3)
        np.random.rand(4)
        assert draw(alone) == draw(disturbed)


def test_the_state_is_a_copy():
    mixture = Mixture(SHARES, seed=1)
    mixture.draw_base(13, 5)
    state = mixture.state_dict()
    before = json.dumps(state)
    draw(mixture)
    assert json.dumps(state) == before


def test_seeds_differ():
    assert Mixture(SHARES, seed=1).draw_base(100, 20) != Mixture(SHARES, seed=2).draw_base(100, 20)


def test_counts_are_exact_where_the_shares_are():
    assert Mixture(SHARES, seed=0).counts(10) == {"base": 4, "pool": 3, "fresh": 3}


@pytest.mark.parametrize("n", [0, 1, 2, 3, 7, 64])
def test_every_batch_is_full_and_the_shares_hold_in_the_long_run(n):
    mixture = Mixture({"base": 0.15, "pool": 0.6, "fresh": 0.25}, seed=0)
    total = Counter()
    for calls in range(1, 41):
        counts = mixture.counts(n)
        assert sum(counts.values()) == n
        assert min(counts.values()) >= 0
        total.update(counts)
        for source, share in mixture.shares.items():
            assert abs(total[source] - calls * n * share) < 2.0


def test_a_source_without_a_share_never_gets_a_task():
    mixture = Mixture({"base": 1 / 3, "pool": 0.0, "fresh": 2 / 3}, seed=0)
    assert all(mixture.counts(5)["pool"] == 0 for _ in range(200))


@pytest.mark.parametrize(
    "shares",
    [
        {"base": 0.5, "pool": 0.5},
        {"base": 0.5, "pool": 0.5, "replay": 0.0},
        {"base": 1.5, "pool": -0.5, "fresh": 0.0},
        {"base": 0.5, "pool": 0.5, "fresh": 0.5},
    ],
    ids=str,
)
def test_bad_shares_are_refused(shares):
    with pytest.raises(ValueError, match="shares"):
        Mixture(shares, seed=0)


def test_base_data_comes_in_cycles_each_item_once_before_any_twice():
    mixture = Mixture(SHARES, seed=0)
    drawn = [item for _ in range(13) for item in mixture.draw_base(13, 5)]
    cycles = [drawn[start : start + 13] for start in range(0, 65, 13)]
    assert all(sorted(cycle) == list(range(13)) for cycle in cycles)
    assert len({tuple(cycle) for cycle in cycles}) == 5


def test_no_base_item_comes_twice_in_a_draw_across_two_cycles():
    mixture = Mixture(SHARES, seed=0)
    for _ in range(100):
        assert len(set(mixture.draw_base(7, 5))) == 5


def test_a_draw_larger_than_the_base_data_takes_whole_cycles():
    counts = Counter(Mixture(SHARES, seed=0).draw_base(4, 10))
    assert sorted(counts.values()) == [2, 2, 3, 3]


def test_base_data_must_not_change_its_size():
    mixture = Mixture(SHARES, seed=0)
    with pytest.raises(ValueError, match="at least one"):
        mixture.draw_base(0, 1)
    mixture.draw_base(13, 1)
    with pytest.raises(ValueError, match="expected 13"):
        mixture.draw_base(14, 1)


def test_pool_draws_hold_nothing_twice_and_reach_everything_alike():
    mixture = Mixture(SHARES, seed=0)
    counts = Counter()
    for _ in range(2000):
        drawn = mixture.draw_pool(10, 4)
        assert len(set(drawn)) == 4
        counts.update(drawn)
    # 800 expected each, standard deviation 22.
    assert set(counts) == set(range(10))
    assert all(abs(count - 800) < 110 for count in counts.values())


def test_a_pool_smaller_than_the_draw_is_drawn_in_rounds():
    assert sorted(Counter(Mixture(SHARES, seed=0).draw_pool(3, 7)).values()) == [2, 2, 3]
    assert Mixture(SHARES, seed=0).draw_pool(0, 0) == []
    with pytest.raises(ValueError, match="empty pool"):
        Mixture(SHARES, seed=0).draw_pool(0, 1)


WANTED = {"base": 4, "pool": 3, "fresh": 3}


@pytest.mark.parametrize(
    ("fresh", "pool", "counts", "from_pool", "from_base"),
    [
        (9, 100, {"base": 4, "pool": 3, "fresh": 3}, 0, 0),
        (1, 100, {"base": 4, "pool": 5, "fresh": 1}, 2, 0),
        (1, 4, {"base": 5, "pool": 4, "fresh": 1}, 1, 1),
        (3, 0, {"base": 7, "pool": 0, "fresh": 3}, 0, 3),
        (0, 0, {"base": 10, "pool": 0, "fresh": 0}, 0, 6),
    ],
)
def test_refill(fresh, pool, counts, from_pool, from_base):
    refilled = refill(WANTED, fresh_available=fresh, pool_size=pool)
    assert refilled.counts == counts
    assert (refilled.from_pool, refilled.from_base) == (from_pool, from_base)
    assert refilled.fresh_missing == max(0, 3 - fresh)
    assert refilled.pool_missing == max(0, 3 - pool)
