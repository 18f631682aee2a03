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

from genenv_verl.curriculum.weights import regression_weights


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
