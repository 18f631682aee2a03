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
"""Entry point of ``vllm.general_plugins``: vLLM calls ``register`` in each of its processes."""

from __future__ import annotations

import os


def register() -> None:
    """Keeps linear weights reloadable on the CPU.

    vllm/model_executor/layers/linear.py (``UnquantizedLinearMethod.process_weights_after_loading``) packs each weight
    with ``remove_weight=True`` on the CPU and frees it, so that the next ``load_weights``, that is every weight sync
    of a training run, has nothing to copy into.
    """
    if os.environ.get("VERL_PLATFORM", "").strip().lower() != "cpu":
        return
    from vllm.platforms import current_platform

    if not current_platform.is_cpu():
        return
    from vllm.model_executor.layers import linear
    from vllm.model_executor.layers.utils import dispatch_cpu_unquantized_gemm

    def process_weights_after_loading(self, layer) -> None:
        dispatch_cpu_unquantized_gemm(layer, remove_weight=False)

    linear.UnquantizedLinearMethod.process_weights_after_loading = process_weights_after_loading
