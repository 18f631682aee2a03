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

import itertools
import math

import numpy as np
import pytest

from genenv_verl.evaluation.statistics import bootstrap_interval, compare_paired, sign_test


def mean_of(scores):
    return lambda positions: sum(scores[position] for position in positions) / len(positions)


def test_the_interval_of_a_mean_is_that_of_the_theory():
    scores = [1.0] * 60 + [0.0] * 140
    interval = bootstrap_interval(range(200), mean_of(scores), resamples=4000)
    error = math.sqrt(0.3 * 0.7 / 200)
    assert interval.standard_error == pytest.approx(error, rel=0.05)
    assert (interval.low, interval.high) == pytest.approx((0.3 - 1.96 * error, 0.3 + 1.96 * error), abs=0.01)


def test_an_interval_covers_the_truth_as_often_as_it_says():
    rng = np.random.default_rng(7)
    covered = 0
    for trial in range(100):
        scores = (rng.random(50) < 0.4).astype(float).tolist()
        interval = bootstrap_interval(range(50), mean_of(scores), resamples=100, seed=trial)
        covered += interval.low <= 0.4 <= interval.high
    assert 85 <= covered <= 99


def test_nothing_right_in_twelve_is_not_surely_nothing():
    none, all_right = (bootstrap_interval(range(12), mean_of([score] * 12)) for score in (0.0, 1.0))
    # Clopper and Pearson, 0 of 12: [0, 0.265]
    assert (none.low, none.high) == (0.0, pytest.approx(0.2646, abs=1e-4))
    assert (all_right.low, all_right.high) == (pytest.approx(0.7354, abs=1e-4), 1.0)
    # two episodes of six steps are two trials
    assert bootstrap_interval([0, 1] * 6, mean_of([0.0] * 12)).high == pytest.approx(0.8419, abs=1e-4)


def test_steps_of_one_record_are_drawn_together():
    # ten records of twenty equal steps hold ten findings, not two hundred
    scores = [float(record < 5) for record in range(10) for _ in range(20)]
    groups = [record for record in range(10) for _ in range(20)]
    grouped = bootstrap_interval(groups, mean_of(scores))
    alone = bootstrap_interval(range(200), mean_of(scores))
    assert grouped.standard_error == pytest.approx(math.sqrt(0.25 / 10), rel=0.1)
    assert alone.standard_error < grouped.standard_error / 3


def test_a_figure_that_is_no_mean_is_computed_anew_for_every_draw():
    scores = [0.0, 0.0, 1.0, 1.0]
    interval = bootstrap_interval(range(4), lambda positions: float(all(scores[p] for p in positions)))
    assert 0.0 < interval.standard_error < 0.5 and (interval.low, interval.high) == (0.0, 1.0)


def test_equal_seeds_give_equal_intervals_and_one_record_gives_none():
    scores = [0.0, 1.0, 0.0, 1.0, 1.0]
    first, again, other = (bootstrap_interval(range(5), mean_of(scores), seed=seed) for seed in (3, 3, 4))
    assert first == again and first.standard_error != other.standard_error
    assert bootstrap_interval(["a", "a"], mean_of([0.0, 1.0])) is None
    assert bootstrap_interval([], mean_of([])) is None


def test_paired_runs_are_compared_record_by_record():
    # the second run is better at every tenth record and never worse: far apart as pairs, close as two samples
    first = [float(n % 3 == 0) for n in range(300)]
    second = [1.0 if n % 10 == 1 else score for n, score in enumerate(first)]
    comparison = compare_paired(range(300), (mean_of(first), first), (mean_of(second), second))
    better = sum(b > a for a, b in zip(first, second, strict=True))
    assert comparison.difference == pytest.approx(better / 300)
    assert (comparison.better, comparison.worse) == (better, 0)
    assert comparison.interval.low > 0 and comparison.p_bootstrap <= 0.002
    assert comparison.p_sign == pytest.approx(2 * 0.5**better)


def test_equal_runs_do_not_differ():
    scores = [0.0, 1.0, 1.0]
    comparison = compare_paired(range(3), (mean_of(scores), scores), (mean_of(scores), scores))
    assert (comparison.difference, comparison.p_bootstrap, comparison.p_sign) == (0.0, 1.0, 1.0)
    assert (comparison.interval.low, comparison.interval.high) == (0.0, 0.0)
    assert compare_paired([0], (mean_of([1.0]), [1.0]), (mean_of([0.0]), [0.0])) is None


@pytest.mark.parametrize(("better", "worse"), list(itertools.product(range(0, 8, 2), range(7))))
def test_sign_test_against_counting(better, worse):
    n = better + worse
    as_far = sum(abs(sum(signs)) >= abs(better - worse) for signs in itertools.product((-1, 1), repeat=n))
    assert sign_test(better, worse) == pytest.approx(as_far / 2**n)


def test_sign_test_of_large_counts():
    assert sign_test(3000, 2800) == pytest.approx(0.00899, abs=2e-4)
