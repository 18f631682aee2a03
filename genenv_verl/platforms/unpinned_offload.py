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
"""Imported right after verl's FSDP engine, on the CPU only.

verl/workers/engine/fsdp/transformer_impl.py (``_build_fsdp_module``) builds the forward-only reference model with
``CPUOffloadPolicy(pin_memory=True)``; pinned host memory needs an accelerator.
"""

from __future__ import annotations

import verl.workers.engine.fsdp.transformer_impl as transformer_impl

_stock_policy = transformer_impl.CPUOffloadPolicy


def _unpinned(pin_memory: bool = True):
    return _stock_policy(pin_memory=False)


transformer_impl.CPUOffloadPolicy = _unpinned
