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
"""verl's validation scores beside the epoch lines, so that runs can be compared whatever logger they had."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from genenv_verl.trainer.run_directory import append_line


def record_validation(path: Path, step: int, metrics: Mapping[str, Any]) -> None:
    """Appends the ``val-core/…`` metrics of a step, in the form of verl's file logger; of a repeated step the later
    line counts.

    Args:
        path: The file; made, with its folder, if it is missing. A line that a kill cut off stays damaged by itself.
        step: Global agent step.
        metrics: What ``_validate`` returned.
    """
    core = {name: float(value) for name, value in metrics.items() if name.startswith("val-core/")}
    if core:
        append_line(path, json.dumps({"step": step, "data": core}))
