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
"""A second worker group and its rollout servers beside verl's own: two shims that shift its replica ranks.

verl 0.9.1 numbers rollout replicas from 0 and derives actor names and ZMQ sockets from that number, so the servers of a
second model need numbers of their own. ``LLMServerManager(start_rank=…)`` provides them, but two places do not follow.
"""

from __future__ import annotations

from verl.single_controller.base.decorator import Dispatch, register
from verl.workers.engine_workers import ActorRolloutRefWorker
from verl.workers.rollout.llm_server import LLMServerManager
from verl.workers.rollout.replica import RolloutMode, RolloutReplica, get_rollout_replica_class


class EnvironmentWorker(ActorRolloutRefWorker):
    """verl's worker with its server adapter pointed at the shifted replica.

    verl/workers/engine_workers.py (``init_model``) builds ``rollout_cls(config, model_config, device_mesh)`` without a
    replica rank, and verl/workers/rollout/vllm_rollout/vllm_rollout.py (``ServerAdapter.__init__``) then takes the rank
    within the worker group, which is that of the agent's replica.
    """

    def __init__(self, *args, replica_rank_offset: int = 0, **kwargs):
        self._replica_rank_offset = replica_rank_offset
        super().__init__(*args, **kwargs)

    @register(dispatch_mode=Dispatch.ONE_TO_ALL)
    def init_model(self):
        super().init_model()
        rollout = self.rollout
        shifted = rollout.replica_rank + self._replica_rank_offset
        rollout.zmq_handle = rollout.zmq_handle.replace(f"-replica-{rollout.replica_rank}-", f"-replica-{shifted}-")
        rollout.replica_rank = shifted


def _shifted_replica_class(base: type[RolloutReplica], offset: int) -> type[RolloutReplica]:
    class ShiftedReplica(base):
        async def init_hybrid(self, worker_group):
            # verl/workers/rollout/replica.py (``init_hybrid``) slices the group's workers with the shifted rank
            self.rollout_mode = RolloutMode.HYBRID
            first = self.world_size * (self.replica_rank - offset)
            self.workers = worker_group.workers[first : first + self.world_size]
            await self.launch_servers()

    return ShiftedReplica


class EnvironmentServerManager(LLMServerManager):
    """verl's server manager with replicas that know their offset."""

    def __init__(self, config, worker_group=None, rollout_resource_pool=None, start_rank: int = 0, **kwargs):
        base = get_rollout_replica_class(config.actor_rollout_ref.rollout.name)
        self.rollout_replica_class = _shifted_replica_class(base, start_rank)
        super().__init__(config, worker_group, rollout_resource_pool, start_rank=start_rank, **kwargs)
