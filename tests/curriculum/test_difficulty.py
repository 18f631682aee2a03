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
import pytest

from genenv_verl.curriculum.difficulty import Attempts, group_attempts, shrink_to_seed


def attempts(task, seed, k, n, step=1, unscored=0):
    return Attempts(task, seed, step, k, n, unscored)


def test_c13_unscored_attempts_are_in_neither_k_nor_n():
    (group,) = group_attempts([attempts("t", "s", 4, 6, unscored=2)], "task")
    assert group.p_hat == pytest.approx(0.6667, abs=1e-4)
    assert group.n_effective == 6


def test_c30_p_hat_counts_binary_successes():
    # The shaped scores (1.125 each, 0.25 each) have no way into Attempts; only the verdicts do.
    groups = group_attempts([attempts("all", "s", 8, 8), attempts("none", "s", 0, 8)], "task")
    assert [group.p_hat for group in groups] == [1.0, 0.0]
    with pytest.raises(ValueError, match="successes=9"):
        attempts("bonus", "s", 9, 8)


@pytest.mark.parametrize(("k", "n", "unscored"), [(-1, 8, 0), (9, 8, 0), (0, -1, 0), (1, 2, -1)])
def test_impossible_counts_are_refused(k, n, unscored):
    with pytest.raises(ValueError, match="'t'"):
        attempts("t", "s", k, n, unscored=unscored)


EPOCH = [
    attempts("a1", "a", 1, 4, step=1),
    attempts("b1", "b", 4, 4, step=1),
    attempts("a2", "a", 5, 8, step=2),
    attempts("b2", "b", 0, 4, step=2),
]


@pytest.mark.parametrize(
    ("granularity", "expected"),
    [
        ("task", [("a1", (0,), 0.25, 4), ("b1", (1,), 1.0, 4), ("a2", (2,), 0.625, 8), ("b2", (3,), 0.0, 4)]),
        ("seed", [("a", (0, 2), 0.5, 12), ("b", (1, 3), 0.5, 8)]),
        ("batch", [("step 1", (0, 1), 0.625, 8), ("step 2", (2, 3), 5 / 12, 12)]),
    ],
)
def test_granularity(granularity, expected):
    groups = group_attempts(EPOCH, granularity)
    assert [(g.key, g.members, g.p_hat, g.n_effective) for g in groups] == expected


def test_groups_with_fewer_than_two_scored_attempts_are_left_out():
    epoch = [
        attempts("one", "a", 1, 1, unscored=7),
        attempts("none", "b", 0, 0, unscored=8),
        attempts("two", "c", 1, 2),
    ]
    for granularity in ("task", "seed", "shrunk"):
        assert [group.members for group in group_attempts(epoch, granularity)] == [(2,)]
    assert [group.members for group in group_attempts(epoch, "batch")] == [(0, 2)]
    assert group_attempts([], "seed") == []


def test_a_task_must_not_occur_twice():
    with pytest.raises(ValueError, match="twice"):
        group_attempts([attempts("t", "a", 1, 2, step=1), attempts("t", "a", 1, 2, step=2)], "batch")


def test_unknown_granularity_is_named():
    with pytest.raises(ValueError, match="'family'"):
        group_attempts(EPOCH, "family")


def test_shrunk_by_hand():
    # μ = ½, W = 2 · 10 · 0.9 · 0.1 / 18 = 0.1, n₀ = 10, B = (3.2 − 0.1) / 10 = 0.31, M = 0.1 / 0.31.
    concentration = 0.1 / 0.31
    low, high = shrink_to_seed([attempts("low", "s", 1, 10), attempts("high", "s", 9, 10)])
    assert low.p_hat == pytest.approx((1 + concentration / 2) / (10 + concentration))
    assert high.p_hat == pytest.approx((9 + concentration / 2) / (10 + concentration))
    assert (low.key, low.members, low.n_effective) == ("low", (0,), 10)


def test_shrunk_lies_between_the_task_and_its_seed_and_fewer_attempts_move_more():
    epoch = [attempts("few", "s", 0, 4), attempts("many", "s", 0, 40), attempts("x", "s", 30, 40)]
    few, many, _ = group_attempts(epoch, "shrunk")
    mean = 30 / 84
    assert 0.0 < many.p_hat < few.p_hat < mean


def test_shrunk_with_no_more_spread_than_noise_is_the_mean_of_the_seed():
    epoch = [attempts("a", "s", 3, 8), attempts("b", "s", 5, 8)]
    assert [group.p_hat for group in group_attempts(epoch, "shrunk")] == [0.5, 0.5]


def test_shrunk_with_a_single_task_keeps_its_own_rate():
    assert group_attempts([attempts("a", "s", 3, 8)], "shrunk")[0].p_hat == 3 / 8


@pytest.mark.parametrize(("first", "second", "expected"), [(0, 0, [0, 0]), (8, 8, [1, 1]), (0, 8, [0, 1])])
def test_shrunk_without_variance_inside_the_tasks(first, second, expected):
    epoch = [attempts("a", "s", first, 8), attempts("b", "s", second, 8)]
    assert [group.p_hat for group in group_attempts(epoch, "shrunk")] == expected


def test_shrunk_reads_only_the_own_seed():
    alone = group_attempts([attempts("a1", "a", 1, 8), attempts("a2", "a", 7, 8)], "shrunk")
    mixed = group_attempts([attempts("a1", "a", 1, 8), attempts("b1", "b", 8, 8), attempts("a2", "a", 7, 8)], "shrunk")
    assert [group.members for group in mixed] == [(0,), (1,), (2,)]
    assert [mixed[0].p_hat, mixed[2].p_hat] == [group.p_hat for group in alone]
