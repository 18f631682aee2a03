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
"""The tasks of one epoch as a part of the page: compressed, so that a browser unpacks one epoch at a time.

A part is JSON under gzip under base64. It holds neither ``<`` nor quotes, so that no text of a model can end the
element or the script that carries it.
"""

from __future__ import annotations

import base64
import gzip
import json
from io import BytesIO
from pathlib import Path
from typing import Any

from genenv_verl.report.fields import MAX_TEXT_CHARS
from genenv_verl.report.json_lines import read_json_lines
from genenv_verl.report.task_rows import task_row

MAX_ROWS = 50_000
MAX_PART_CHARS = 200_000_000
"""Uncompressed size of an epoch that a browser still takes; the rows after it are left out, and counted."""

FULL_TEXT_BYTES = 60_000_000
"""Size of a task file up to which texts are shown in full; those of a larger one are cut in proportion."""

MIN_TEXT_CHARS = 400


def epoch_part(path: Path) -> str:
    """The rows of a task file. It is read line by line: memory holds one line and the compressed rows.

    Returns:
        base64 of ``{"rows": […], "damaged": n, "left_out": n}``. A file that cannot be read is an ``error`` in it.
    """
    counts: dict[str, Any] = {"damaged": 0, "left_out": 0}
    limit = text_limit(path)
    buffer = BytesIO()
    with gzip.GzipFile(fileobj=buffer, mode="wb", compresslevel=5, mtime=0) as packed:
        packed.write(b'{"rows":[')
        written = rows = 0
        try:
            for record in read_json_lines(path):
                if record is None:
                    counts["damaged"] += 1
                elif rows >= MAX_ROWS or written >= MAX_PART_CHARS:
                    counts["left_out"] += 1
                else:
                    row = _encode(task_row(record, limit))
                    packed.write(b"," * bool(rows) + row)
                    rows, written = rows + 1, written + len(row)
        except OSError as error:
            counts["error"] = f"{path.name} cannot be read: {error.strerror}"
        packed.write(b"]," + _encode(counts)[1:])
    return base64.b64encode(buffer.getvalue()).decode("ascii")


def text_limit(path: Path) -> int:
    """Characters that a text of a task file is cut to, so that a browser can take all of its rows."""
    try:
        size = path.stat().st_size
    except OSError:
        return MIN_TEXT_CHARS
    return max(MIN_TEXT_CHARS, MAX_TEXT_CHARS * FULL_TEXT_BYTES // max(size, FULL_TEXT_BYTES))


def seeds_part(seeds: dict[str, dict[str, Any]]) -> str:
    """The seeds of a run, packed in the same way."""
    return base64.b64encode(gzip.compress(_encode(seeds), compresslevel=5, mtime=0)).decode("ascii")


def _encode(value: Any) -> bytes:
    return json.dumps(value, allow_nan=False, separators=(",", ":")).encode("ascii")
