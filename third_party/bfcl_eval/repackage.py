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
"""A build backend that takes the published wheel of bfcl-eval and names only what its multi-turn back-ends import.

pip cannot leave out the requirements of one requirement, so the wheel itself has to say less. Nothing else is changed.
"""

from __future__ import annotations

import base64
import hashlib
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path

VERSION = "2026.3.23"
SHA256 = "3bb6dfa5f0c68ad403c9ec50b00db2bb3b4cc9b38ab1ff33f48fe30d853d3a0a"
REQUIRES = ["mpmath==1.3.0"]

_LEFT_OUT = ("Requires-Dist:", "Provides-Extra:")


def build_wheel(wheel_directory, config_settings=None, metadata_directory=None):
    """The hook of PEP 517: writes the wheel and returns its file name."""
    with tempfile.TemporaryDirectory() as folder:
        published = download(Path(folder))
        repackage(published, Path(wheel_directory) / published.name)
        return published.name


def download(folder: Path) -> Path:
    """Has pip download the published wheel from the index that the user has set up, and checks its hash."""
    pinned = folder / "requirements.txt"
    pinned.write_text(f"bfcl-eval=={VERSION} --hash=sha256:{SHA256}\n", encoding="utf-8")
    command = [sys.executable, "-m", "pip", "download", "--no-deps", "--only-binary=:all:", "--require-hashes"]
    subprocess.run([*command, "--dest", folder, "--requirement", pinned], check=True)
    (wheel,) = folder.glob("*.whl")
    return wheel


def repackage(published: Path, written: Path) -> None:
    """Copies a wheel, with other requirements in its metadata and the metadata's hash in its record."""
    with zipfile.ZipFile(published) as source, zipfile.ZipFile(written, "w", zipfile.ZIP_DEFLATED) as target:
        (metadata_name,) = (name for name in source.namelist() if name.endswith(".dist-info/METADATA"))
        metadata = with_requirements(source.read(metadata_name).decode()).encode()
        for entry in source.infolist():
            content = source.read(entry)
            if entry.filename == metadata_name:
                content = metadata
            elif entry.filename.endswith(".dist-info/RECORD"):
                content = with_hash(content.decode(), metadata_name, metadata).encode()
            target.writestr(entry, content)


def with_requirements(metadata: str) -> str:
    """Metadata with ``REQUIRES`` in the place of its own requirements."""
    head, blank, description = metadata.partition("\n\n")
    lines = [line for line in head.split("\n") if not line.startswith(_LEFT_OUT)]
    return "\n".join([*lines, *(f"Requires-Dist: {each}" for each in REQUIRES)]) + blank + description


def with_hash(record: str, name: str, content: bytes) -> str:
    """A wheel's record with the hash and size of one file."""
    digest = base64.urlsafe_b64encode(hashlib.sha256(content).digest()).rstrip(b"=").decode()
    lines = record.split("\n")
    return "\n".join(
        f"{name},sha256={digest},{len(content)}" if line.startswith(f"{name},") else line for line in lines
    )
