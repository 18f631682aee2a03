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
"""The environment's configuration: a partial ``actor_rollout_ref``, merged over the agent's."""

from __future__ import annotations

from omegaconf import DictConfig, OmegaConf, open_dict
from omegaconf.errors import OmegaConfBaseException

from genenv_verl.config.settings import SettingsError


def environment_config(config: DictConfig) -> DictConfig:
    """The whole configuration as the environment's servers and workers read it.

    Args:
        config: the run's configuration, interpolations resolved or not.

    Returns:
        A copy in which ``actor_rollout_ref`` is the environment's.

    Raises:
        SettingsError: a key of ``genenv.environment`` that ``actor_rollout_ref`` does not have.
    """
    # Hydra's own node is read-only and is no part of a run
    own = OmegaConf.masked_copy(config, [key for key in config if key != "hydra"])
    merged = OmegaConf.create(OmegaConf.to_container(own, resolve=True))
    block = merged.actor_rollout_ref
    OmegaConf.set_struct(block, True)
    # open-ended dictionaries of verl, where any key is meant to be allowed
    for path in ("rollout.engine_kwargs", "model.override_config", "rollout.checkpoint_engine.engine_kwargs"):
        node = OmegaConf.select(block, path)
        if node is not None:
            OmegaConf.set_struct(node, False)
    try:
        block = OmegaConf.merge(block, merged.genenv.environment)
    except OmegaConfBaseException as error:
        key = (error.full_key or str(error)).removeprefix("actor_rollout_ref.")
        raise SettingsError(
            f"genenv.environment.{key}: actor_rollout_ref, over which the block is merged, has no such key"
        ) from None
    OmegaConf.set_struct(block, False)
    # an update has as many rows as generations were accepted: verl's fixed micro-batches would have to divide it
    block.actor.use_dynamic_bsz = True
    block.ref.log_prob_use_dynamic_bsz = True
    block.rollout.log_prob_use_dynamic_bsz = True
    with open_dict(merged):
        merged.actor_rollout_ref = block
    return merged
