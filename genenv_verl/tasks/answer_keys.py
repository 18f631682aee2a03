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
"""When do two answers say the same? Keys that are equal for answers of one meaning.

Equality is that of R_agent's strict matching, as a hash can express it: calls are a multiset, keys have no order,
numbers compare by value, an optional argument that spells out its declared default may be left out. Texts are compared
without letter case, spacing and surrounding punctuation, plain numbers by value.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from decimal import Decimal
from typing import Any

from genenv_verl.tasks.novelty import normalise_text
from genenv_verl.tasks.schema import ToolCall, ToolSpec

MAX_KEY_CHARS = 4_096
"""Longer answers are cut: their beginnings are compared."""

_NUMBER = re.compile(r"[-+]?(?:[0-9]{1,3}(?:,[0-9]{3}){1,3}|[0-9]{1,12})(?:\.[0-9]{1,12})?")
_EDGES = " .,;:!?\"'()[]{}*_`“”‘’«»。、"


def calls_key(calls: Sequence[ToolCall], tools: Sequence[ToolSpec] = ()) -> str:
    """The key of calls, in any order of calls and of arguments."""
    parameters = {tool.name: tool.function.parameters for tool in tools}
    return json.dumps(sorted(_call_key(call, parameters.get(call.name, {})) for call in calls))[:MAX_KEY_CHARS]


def text_key(text: str) -> str:
    """The key of an answer in words."""
    key = normalise_text(text[:MAX_KEY_CHARS]).strip(_EDGES)
    return str(Decimal(key.replace(",", "")).normalize()) if _NUMBER.fullmatch(key) else key


def _call_key(call: ToolCall, parameters: dict[str, Any]) -> str:
    kept = {name: value for name, value in call.arguments.items() if not says_nothing(name, value, parameters)}
    return json.dumps([call.name, _by_value(kept)], sort_keys=True)


def says_nothing(name: str, value: Any, parameters: dict[str, Any]) -> bool:
    """Whether an argument is optional and spells out the default that its tool declares."""
    properties, required = parameters.get("properties"), parameters.get("required")
    schema = properties.get(name) if isinstance(properties, dict) else None
    if not isinstance(schema, dict) or "default" not in schema or (isinstance(required, list) and name in required):
        return False
    return same_value(value, schema["default"])


def same_value(one: Any, other: Any) -> bool:
    """Equality of JSON values: numbers by value, never across types (in Python 1 == True)."""
    return json.dumps(_by_value(one), sort_keys=True) == json.dumps(_by_value(other), sort_keys=True)


def _by_value(value: Any) -> Any:
    """The value with whole floats as integers, so that 5.0 and 5 are written alike."""
    if isinstance(value, float) and value.is_integer():
        return int(value)
    if isinstance(value, list):
        return [_by_value(item) for item in value]
    if isinstance(value, dict):
        return {key: _by_value(item) for key, item in value.items()}
    return value
