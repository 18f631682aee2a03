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
"""The versions that a run directory tells of."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from genenv_verl.report.fields import clipped
from genenv_verl.report.json_lines import parse_object
from genenv_verl.report.run_config import RunConfig

MAX_FILE_CHARS = 1_000_000


def read_versions(root: Path, config: RunConfig | None) -> dict[str, str]:
    """Those that the run recorded when it started. Of a run without such a record: Hydra's version, and that of
    transformers which the newest checkpoint's models were saved with."""
    if recorded := _recorded(root / "versions.json"):
        return recorded
    versions = {"Hydra": config.hydra_version} if config and config.hydra_version else {}
    for player in ("actor", "environment"):
        for folder in _checkpoints(root):
            if found := _transformers_version(folder / player / "huggingface" / "config.json"):
                versions["transformers" if player == "actor" else "transformers (environment)"] = found
                break
    return versions


def _recorded(path: Path) -> dict[str, str]:
    versions = _read_object(path)
    return {clipped(key, 60): clipped(value, 60) for key, value in versions.items() if isinstance(value, str)}


def _checkpoints(root: Path) -> list[Path]:
    """The checkpoints of a run, the newest first."""
    try:
        found = [path for path in root.iterdir() if re.fullmatch(r"global_step_\d{1,12}", path.name)]
    except OSError:
        return []
    return sorted(found, key=lambda path: int(path.name.rpartition("_")[2]), reverse=True)


def _transformers_version(path: Path) -> str | None:
    version = _read_object(path).get("transformers_version")
    return clipped(version, 60) if isinstance(version, str) else None


def _read_object(path: Path) -> dict[str, Any]:
    """The JSON object in a file; empty where there is none."""
    try:
        with open(path, encoding="utf-8", errors="replace") as file:
            return parse_object(file.read(MAX_FILE_CHARS)) or {}
    except OSError:
        return {}
