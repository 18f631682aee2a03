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
import math

import pytest

from genenv_verl.curriculum.weights import group_advantages, regression_weights


def test_exp_weights_have_mean_one_and_the_ratio_of_the_paper():
    weights = regression_weights([1.0, 0.6, 0.8], lam=0.2, kind="exp")
    assert weights.mean() == pytest.approx(1.0)
    assert weights[0] / weights[1] == pytest.approx(math.exp(0.4 / 0.2))


def test_exp_weights_are_stable_for_a_tiny_lambda():
    weights = regression_weights([1.0, 0.5, 1.0], lam=1e-6, kind="exp")
    assert weights.tolist() == pytest.approx([1.5, 0.0, 1.5])


def test_linear_weights_are_rewards_over_their_mean():
    assert regression_weights([0.5, 1.5], lam=1.0, kind="linear").tolist() == [0.5, 1.5]
    assert regression_weights([0.2, 0.6], lam=1.0, kind="linear").tolist() == pytest.approx([0.5, 1.5])


def test_linear_weights_of_all_zero_rewards_are_zero():
    assert regression_weights([0.0, 0.0], lam=1.0, kind="linear").tolist() == [0.0, 0.0]


@pytest.mark.parametrize("kind", ["exp", "linear"])
def test_an_empty_batch_has_no_weights(kind):
    assert regression_weights([], lam=1.0, kind=kind).shape == (0,)


@pytest.mark.parametrize(
    ("rewards", "lam", "kind", "message"),
    [([1.0], 0.0, "exp", "lam"), ([-1.0, 2.0], 1.0, "linear", ">= 0"), ([1.0], 1.0, "softmax", "'softmax'")],
)
def test_bad_arguments_are_named(rewards, lam, kind, message):
    with pytest.raises(ValueError, match=message):
        regression_weights(rewards, lam=lam, kind=kind)


def test_advantages_by_hand():
    """Differences from the mean: ±0.3 in a, whose sample deviation is √0.18; 0 and ±0.3 in b, √(0.18 / 2)."""
    advantages = group_advantages([0.2, 0.4, 0.8, 0.7, 0.1], ["a", "b", "a", "b", "b"])
    a, b = 0.3 / (math.sqrt(0.18) + 1e-6), 0.3 / (0.3 + 1e-6)
    assert advantages.tolist() == pytest.approx([-a, 0.0, a, b, -b], abs=1e-12)


def test_advantages_are_those_of_the_agents_grpo():
    """verl's ``compute_grpo_outcome_advantage`` on the same rewards, computed with verl 0.9.1."""
    advantages = group_advantages([1.0, 0.0, 0.0, 0.0], "ssss")
    assert advantages.tolist() == pytest.approx([1.499997, -0.499999, -0.499999, -0.499999], abs=1e-6)


@pytest.mark.parametrize("rewards", [[0.9], [0.9, 0.9, 0.9], [math.exp(-10 * (p - 0.5) ** 2) for p in (0.3, 0.7)]])
def test_one_reward_or_equal_rewards_have_no_advantage(rewards):
    advantages = group_advantages([*rewards, 0.0, 1.0], ["s"] * len(rewards) + ["t", "t"]).tolist()
    assert advantages[:-2] == [0.0] * len(rewards)
    assert advantages[-2] < 0.0 < advantages[-1]


def test_advantages_of_nothing_and_of_uneven_input():
    assert group_advantages([], []).shape == (0,)
    with pytest.raises(ValueError):
        group_advantages([0.5, 0.7], ["s"])
