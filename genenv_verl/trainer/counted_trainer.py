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
"""verl's synchronous trainer with the cost of the agent's phases counted: what is computed stays verl's."""

from __future__ import annotations

import transfer_queue as tq
from transfer_queue import KVBatchMeta
from verl.trainer.ppo.v1.trainer_sync import PPOTrainerSync

from genenv_verl.trainer.run_cost import RunCost


class CountedTrainer(PPOTrainerSync):
    """Opens a phase of the ledger around each of verl's own.

    Attributes:
        cost: Set by the subclass before it calls ``__init__``.
    """

    cost: RunCost

    def step(self, metrics: dict, timing_raw: dict) -> KVBatchMeta:
        self._scored = 0
        self.cost.ledger.begin("agent", "generate")
        return super().step(metrics, timing_raw)

    def on_step_end(self):
        with self.cost.ledger.phase("agent", "sync"):
            super().on_step_end()

    def on_sample_end(self):
        super().on_sample_end()
        self.cost.ledger.end()

    def _compute_old_log_prob(self, batch: KVBatchMeta, *args, **kwargs):
        correction = self.config.algorithm.get("rollout_correction", None)
        self._scored += not (correction and correction.get("bypass_mode", False))
        with self.cost.ledger.phase("agent", "score"):
            return super()._compute_old_log_prob(batch, *args, **kwargs)

    def _compute_ref_log_prob(self, batch: KVBatchMeta, *args, **kwargs):
        self._scored += 1
        with self.cost.ledger.phase("agent", "score"):
            return super()._compute_ref_log_prob(batch, *args, **kwargs)

    def _update_actor(self, batch: KVBatchMeta, *args, **kwargs):
        with self.cost.ledger.phase("agent", "train"):
            return super()._update_actor(batch, *args, **kwargs)

    def _count_tokens(self, prompts: int, responses: int) -> None:
        """The tokens of one agent step: what was sampled, scored and trained on."""
        both = prompts + responses
        trained = both * self.config.actor_rollout_ref.actor.ppo_epochs
        self.cost.tokens["agent_generate"] += responses
        self.cost.tokens["agent_train"] += trained
        self.cost.ledger.count("agent", "generate", both)
        self.cost.ledger.count("agent", "score", both * self._scored)
        self.cost.ledger.count("agent", "train", trained)

    def _count_attempts(self, batch: KVBatchMeta) -> None:
        keys = [key for key, tag in zip(batch.keys, batch.tags, strict=True) if not tag.get("is_padding", False)]
        data = tq.kv_batch_get(keys=keys, partition_id=batch.partition_id, select_fields=["prompts", "responses"])
        self._count_tokens(*(sum(len(row) for row in data[name].unbind()) for name in ("prompts", "responses")))
