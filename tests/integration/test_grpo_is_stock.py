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
"""With ``genenv.variant=grpo`` the trainer does what stock verl does, step for step."""

from __future__ import annotations

import pytest

pytestmark = pytest.mark.integration


def _weights(run, step):
    import torch

    state = torch.load(
        next((run / f"global_step_{step}" / "actor").glob("model_world_size_*_rank_0.pt")), weights_only=False
    )
    return {name: getattr(value, "_local_tensor", value).float() for name, value in state.items()}


def test_grpo_equals_the_stock_trainer(finished):
    # greedy rollouts, so that both runs see the same attempts; the entropy bonus gives them a gradient
    same = (
        "actor_rollout_ref.rollout.top_k=1", "actor_rollout_ref.actor.entropy_coeff=0.01", "data.shuffle=false",
        "actor_rollout_ref.rollout.calculate_log_probs=false", "trainer.total_training_steps=2", "trainer.save_freq=2",
    )  # fmt: skip
    ours = finished("ours", "genenv.variant=grpo", *same)
    stock = finished("stock", "trainer.v1.trainer_mode=sync", "genenv.variant=grpo", *same)
    assert {line["variant"] for line in ours.epochs()} == {"grpo"} and stock.epochs() == []
    mine, theirs = _weights(ours.run, 2), _weights(stock.run, 2)
    start = max(theirs[name].abs().max().item() for name in theirs)
    assert start > 0
    for name, value in theirs.items():
        assert (mine[name] - value).abs().max().item() < 1e-5, name
