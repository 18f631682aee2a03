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
"""N, the parameters of a model that multiply with every token."""

from __future__ import annotations

import logging

import torch
from transformers import AutoConfig, AutoModelForCausalLM

logger = logging.getLogger(__name__)


def parameter_count(model: str | None, *, trust_remote_code: bool = False) -> int | None:
    """All parameters but an input embedding of its own: looking a row up multiplies nothing.

    The model is built without memory for its weights (on torch's device ``meta``); no weight is read.

    Args:
        model: Hugging Face folder or name; None for no model.
        trust_remote_code: As ``actor_rollout_ref.model.trust_remote_code``.

    Returns:
        The number, None if the model is no causal language model that transformers can build.
    """
    if model is None:
        return None
    try:
        config = AutoConfig.from_pretrained(model, trust_remote_code=trust_remote_code)
        with torch.device("meta"):
            empty = AutoModelForCausalLM.from_config(config, trust_remote_code=trust_remote_code)
    except (ImportError, OSError, ValueError) as error:
        logger.warning("genenv: no estimate of floating-point operations, %s cannot be built: %s", model, error)
        return None
    total = sum(parameter.numel() for parameter in empty.parameters())
    table, head = empty.get_input_embeddings(), empty.get_output_embeddings()
    is_shared = table is not None and head is not None and head.weight is table.weight
    return total if table is None or is_shared else total - table.weight.numel()
