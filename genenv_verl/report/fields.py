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
"""Reading single fields out of records of any age and state: what is missing or of another type is ``None``."""

from __future__ import annotations

import math
from typing import Any

LARGEST = 1e30
"""Larger numbers are damage; sums of these can still be drawn."""

SMALLEST = 1 / LARGEST
"""Smaller numbers are 0, so that no quotient is infinite."""

MAX_TEXT_CHARS = 20_000
"""Longest text of one field that the page carries: some twice the paper's 9,000 tokens would not fit a screen."""


def field(record: Any, path: str) -> Any:
    """The value under a dotted path, or ``None``. A key that itself holds dots is not reachable."""
    for key in path.split("."):
        if not isinstance(record, dict):
            return None
        record = record.get(key)
    return record


def as_number(value: Any) -> float | None:
    """A finite number, or ``None``; ``True`` is no number. What is hardly more than nothing is 0."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    if isinstance(value, float) and not math.isfinite(value):
        return None
    if not -LARGEST < value < LARGEST:
        return None
    return float(value) if abs(value) >= SMALLEST else 0.0


def number(record: Any, path: str) -> float | None:
    """The finite number under a dotted path, or ``None``."""
    return as_number(field(record, path))


def counts(record: Any, path: str) -> dict[str, float]:
    """The numbers >= 0 of the mapping under a dotted path, by name; empty if there is no such mapping."""
    mapping = field(record, path)
    if not isinstance(mapping, dict):
        return {}
    numbers = {str(name): as_number(value) for name, value in mapping.items()}
    return {name: value for name, value in numbers.items() if value is not None and value >= 0}


def clipped(value: Any, limit: int = MAX_TEXT_CHARS) -> str:
    """A value as text of at most about ``limit`` characters; what was cut is said at its end.

    Halves of surrogate pairs become U+FFFD, so that UTF-8 can carry the text.
    """
    text = value if isinstance(value, str) else "" if value is None else _readable(value)
    left_out = len(text) - limit
    if left_out > 0:
        text = f"{text[:limit]} … ({left_out:,} more characters are in the run's task file)"
    return text if text.isascii() else text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def _readable(value: Any) -> str:
    try:
        return str(value)
    except RecursionError:
        return "(nested too deeply to be shown)"
