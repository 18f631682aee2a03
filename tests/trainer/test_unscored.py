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

from genenv_verl.trainer.unscored import neutral_scores


def test_attempts_without_a_verdict_get_advantage_zero_c13():
    torch = pytest.importorskip("torch")
    core_algos = pytest.importorskip("verl.trainer.ppo.core_algos")
    scores = [1.0, 1.0, 1.0, 1.0, 0.0, 0.0, 0.0, 0.0]
    scored = [True] * 6 + [False] * 2
    neutral = neutral_scores(scores, scored, ["a"] * 8)
    assert neutral[:6] == scores[:6] and neutral[6:] == pytest.approx([4 / 6] * 2)
    advantages, _ = core_algos.compute_grpo_outcome_advantage(
        token_level_rewards=torch.tensor([[value] for value in neutral]),
        response_mask=torch.ones(8, 1),
        index=np.array(["a"] * 8, dtype=object),
    )
    assert advantages[6:].abs().max() < 1e-5, "the mean is that of the six scored attempts"
    assert (advantages[:4] > 0).all() and (advantages[4:6] < 0).all()


def test_groups_do_not_mix_and_a_group_without_a_verdict_is_flat():
    scores = [1.0, 0.3, 0.0, 0.9]
    assert neutral_scores(scores, [True, False, True, False], ["a", "a", "b", "c"]) == [1.0, 1.0, 0.0, 0.0]
    assert neutral_scores(scores, [True] * 4, ["a", "a", "b", "c"]) == scores


def test_equal_rewards_give_no_advantage_c28_and_close_ones_the_reference_value_c32():
    torch = pytest.importorskip("torch")
    core_algos = pytest.importorskip("verl.trainer.ppo.core_algos")

    def advantages(rewards: list[float], groups: list[str]) -> list[float]:
        values, _ = core_algos.compute_grpo_outcome_advantage(
            token_level_rewards=torch.tensor([[reward] for reward in rewards]),
            response_mask=torch.ones(len(rewards), 1),
            index=np.array(groups, dtype=object),
        )
        return values[:, 0].tolist()

    assert advantages([1.0] * 4 + [0.0] * 4, ["a"] * 4 + ["b"] * 4) == [0.0] * 8
    # the estimator that variant=grpo runs with is verl's own
    close = advantages([1.0, 1.00001, 2.0, 2.00001], ["a", "a", "b", "b"])
    assert close == pytest.approx([-0.6196, 0.6196, -0.6196, 0.6196], abs=0.05)
