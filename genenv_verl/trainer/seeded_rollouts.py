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
"""Agent rollouts with a sampling seed each, so that a resumed run samples what the uninterrupted run did.

verl's ``rollout.full_determinism`` gives all requests of a server the same seed (vllm_async_server.py, ``generate``):
the n attempts of a group would be identical and p̂ could only be 0 or 1. Here the seed comes from the row's uid, which
is a function of step and place, and from the attempt's number.
"""

from __future__ import annotations

import zlib
from typing import Any

import ray
from verl.trainer.ppo.v1.agent_loop_tq import AgentLoopManagerTQ, AgentLoopWorkerTQ

# AgentLoopWorkerTQ is a Ray actor class; the plain class is what can be inherited from
_PlainWorker = AgentLoopWorkerTQ.__ray_metadata__.modified_class


class SeededAgentLoopWorker(_PlainWorker):
    """Adds ``seed`` to the sampling parameters of each training rollout."""

    async def _run_agent_loop(self, sampling_params: dict[str, Any], trajectory: dict[str, Any], **kwargs: Any):
        if not trajectory["validate"]:
            seed = zlib.crc32(f"{kwargs['uid']}/{kwargs['session_id']}".encode()) % 2**31
            sampling_params = {**sampling_params, "seed": seed}
        return await super()._run_agent_loop(sampling_params, trajectory=trajectory, **kwargs)


class SeededAgentLoopManager(AgentLoopManagerTQ):
    """verl's manager with seeded workers."""

    def __init__(self, *args, **kwargs):
        super().__init__(*args, **kwargs)
        self.agent_loop_workers_class = ray.remote(SeededAgentLoopWorker)
