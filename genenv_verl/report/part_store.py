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
"""Where the parts of a page go: into the page while they are small together, else into files beside it."""

from __future__ import annotations

import os
import re
from collections.abc import Callable
from pathlib import Path

MAX_EMBEDDED_CHARS = 32_000_000
"""Parts of more than this together make a page that a phone opens slowly."""

_PART_FILE = re.compile(r"r\d+-(?:e\d+|seeds)\.js(?:\.tmp)?")


class PartStore:
    """Takes the parts of a report one after the other. Memory holds at most ``limit`` characters of them.

    Args:
        folder: Where files go; it is made when the first one is written.
        limit: Characters that the page takes; 0 puts every part into a file.

    Attributes:
        embedded: The parts for the page by their ids; ``None`` if they are in files.
        files: Names of the files that belong to the last page that was finished.
    """

    def __init__(self, folder: Path, limit: int = MAX_EMBEDDED_CHARS):
        self.folder = folder
        self.limit = limit
        self.embedded: dict[str, str] | None = {} if limit else None
        self._size = 0
        self._written: dict[str, object] = {}
        self._adding: set[str] = set()
        self.files: frozenset[str] = frozenset()

    def begin(self) -> None:
        """A new page: nothing is embedded yet. Files that are there stay until :meth:`finish`."""
        self.embedded = {} if self.limit else None
        self._size = 0
        self._adding = set()

    def add(self, part_id: str, state: object, make: Callable[[], str]) -> None:
        """Adds a part.

        Args:
            part_id: Letters, digits and ``-``.
            state: What the part was made from; a file whose state has not changed is not made again.
            make: Makes the part's text, base64.
        """
        self._adding.add(part_id)
        if self.embedded is None:
            if self._written.get(part_id) != state:
                self._write(part_id, make())
                self._written[part_id] = state
            return
        text = make()
        self.embedded[part_id] = text
        self._size += len(text)
        if self._size > self.limit:
            for its_id, its_text in self.embedded.items():
                self._write(its_id, its_text)
            self.embedded = None

    def finish(self) -> None:
        """Removes the files of an earlier page that this one does not have."""
        in_files = self.embedded is None
        self.files = frozenset(f"{part_id}.js" for part_id in self._adding) if in_files else frozenset()
        if not self.folder.is_dir():
            return
        stale = [
            path for path in self.folder.iterdir() if _PART_FILE.fullmatch(path.name) and path.name not in self.files
        ]
        for path in stale:
            path.unlink()
        if stale and not any(self.folder.iterdir()):
            self.folder.rmdir()

    def _write(self, part_id: str, text: str) -> None:
        self.folder.mkdir(parents=True, exist_ok=True)
        draft = self.folder / f"{part_id}.js.tmp"
        draft.write_text(f'genenvPart("{part_id}","{text}");\n', encoding="ascii")
        os.replace(draft, self.folder / f"{part_id}.js")
