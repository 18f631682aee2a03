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
"""The versions that a run directory tells of. verl, torch and vLLM leave theirs nowhere in it."""

from __future__ import annotations

import re
from pathlib import Path

from genenv_verl.report.fields import clipped
from genenv_verl.report.json_lines import parse_object
from genenv_verl.report.run_config import RunConfig

MAX_MODEL_CONFIG_CHARS = 1_000_000


def read_versions(root: Path, config: RunConfig | None) -> dict[str, str]:
    """Hydra's version, and that of transformers which the newest checkpoint's models were saved with."""
    versions = {"Hydra": config.hydra_version} if config and config.hydra_version else {}
    for player in ("actor", "environment"):
        for folder in _checkpoints(root):
            if found := _transformers_version(folder / player / "huggingface" / "config.json"):
                versions["transformers" if player == "actor" else "transformers (environment)"] = found
                break
    return versions


def _checkpoints(root: Path) -> list[Path]:
    """The checkpoints of a run, the newest first."""
    try:
        found = [path for path in root.iterdir() if re.fullmatch(r"global_step_\d{1,12}", path.name)]
    except OSError:
        return []
    return sorted(found, key=lambda path: int(path.name.rpartition("_")[2]), reverse=True)


def _transformers_version(path: Path) -> str | None:
    try:
        with open(path, encoding="utf-8", errors="replace") as file:
            config = parse_object(file.read(MAX_MODEL_CONFIG_CHARS))
    except OSError:
        return None
    version = (config or {}).get("transformers_version")
    return clipped(version, 60) if isinstance(version, str) else None
