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

from genenv_verl.curriculum.environment_reward import environment_reward, novelty_factor


@pytest.mark.parametrize(
    ("p_hat", "expected"), [(0.0, 0.606531), (0.25, 0.882497), (0.5, 1.0), (0.75, 0.882497), (1.0, 0.606531)]
)
def test_e08_the_formula_holds_at_both_ends(p_hat, expected):
    assert environment_reward(p_hat, alpha=0.5, beta=2.0) == pytest.approx(expected, abs=1e-6)


def test_alpha_moves_the_peak_and_beta_sharpens_it():
    assert environment_reward(0.3, alpha=0.3, beta=2.0) == 1.0
    assert environment_reward(0.5, alpha=0.3, beta=10.0) < environment_reward(0.5, alpha=0.3, beta=2.0)


@pytest.mark.parametrize(
    ("p_hat", "alpha", "beta"),
    [(1.125, 0.5, 2.0), (-0.1, 0.5, 2.0), (float("nan"), 0.5, 2.0), (0.5, 2, 2), (0.5, 0.5, 0)],
)
def test_arguments_out_of_range_are_refused(p_hat, alpha, beta):
    with pytest.raises(ValueError, match="must be"):
        environment_reward(p_hat, alpha, beta)


def test_the_factor_of_novelty():
    assert novelty_factor(0.8, lam_dup=0.0) == 1.0
    assert novelty_factor(0.0, lam_dup=0.9) == 1.0
    assert novelty_factor(0.8, lam_dup=0.5) == pytest.approx(0.6)
    assert 0.0 < novelty_factor(1.0, lam_dup=0.99) < 0.02


@pytest.mark.parametrize(
    ("similarity", "lam_dup"), [(1.1, 0.5), (-0.1, 0.5), (float("nan"), 0.5), (0.5, 1.0), (0.5, -1)]
)
def test_the_factor_of_novelty_has_its_range(similarity, lam_dup):
    with pytest.raises(ValueError, match="must be in"):
        novelty_factor(similarity, lam_dup)
