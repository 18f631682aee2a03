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
"""Reading JSON Lines that a person, a full disk or a crash may have damaged: bounded memory, never an exception."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any, TextIO

MAX_LINE_CHARS = 64_000_000
"""Eight responses of a megabyte, each of its characters an escape, still fit. A longer line is damage: it is
skipped without ever being held in memory as a whole."""


def read_json_lines(path: Path, max_line_chars: int = MAX_LINE_CHARS) -> Iterator[dict[str, Any] | None]:
    """The objects of a file, one a line; ``None`` for a line that is none. Blank lines are passed over.

    Bytes that are no UTF-8 become U+FFFD, ``NaN`` and infinities become ``None``.

    Raises:
        OSError: The file cannot be opened or read.
    """
    with open(path, encoding="utf-8", errors="replace", newline="\n") as file:
        while line := file.readline(max_line_chars):
            if len(line) == max_line_chars and not line.endswith("\n"):
                _skip_rest_of_line(file, max_line_chars)
                yield None
            elif line.strip():
                yield parse_object(line)


def parse_object(text: str) -> dict[str, Any] | None:
    """The JSON object that a text is, or ``None``."""
    try:
        value = json.loads(text, parse_constant=lambda _: None)
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) else None


def _skip_rest_of_line(file: TextIO, chunk: int) -> None:
    while (part := file.readline(chunk)) and not part.endswith("\n"):
        pass
