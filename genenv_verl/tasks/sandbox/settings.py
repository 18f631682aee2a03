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
"""The ``genenv.sandbox`` block: where task-written checkers run, and within which limits."""

from __future__ import annotations

from typing import Literal

from pydantic import BaseModel, ConfigDict, Field


class SandboxSettings(BaseModel):
    """Where checkers run. See genenv.yaml for the meaning of each key."""

    model_config = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False)

    backend: Literal["auto", "local", "sandbox_fusion"] = "auto"
    sandbox_fusion_url: str | None = None
    timeout_s: float = Field(default=5.0, gt=0.0)
    memory_mb: int = Field(default=256, ge=16)
    workers: int = Field(default=1, ge=1)
    run_checkers_without_isolation_i_accept_the_danger: bool = False
