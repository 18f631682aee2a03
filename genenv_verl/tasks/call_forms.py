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
"""The forms in which models and APIs write a tool call as JSON."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from genenv_verl.tasks.json_reader import JsonReadError, read_json
from genenv_verl.tasks.schema import ToolCall


class CallError(ValueError):
    """A JSON value is no tool call; ``reason`` is the named reason."""

    def __init__(self, reason: str):
        super().__init__(reason)
        self.reason = reason


def read_calls(value: Any) -> list[ToolCall]:
    """Reads the calls that a JSON value stands for: one object or a list of them.

    Accepted are ``{"name", "arguments"}``, ``parameters`` instead of ``arguments``, and the API form
    ``{"type": "function", "function": {...}}``. Missing, null or blank arguments are ``{}``; arguments that are a
    string of JSON are decoded.

    Raises:
        CallError: ``not_a_call``, ``no_name``, ``ambiguous_arguments``, ``arguments_not_json``,
            ``arguments_not_an_object``, ``unexpected_key`` or ``tool_specification`` (it describes a tool).
    """
    if isinstance(value, list):
        return [_read_call(item) for item in value]
    return [_read_call(value)]


def format_calls(calls: Sequence[ToolCall]) -> str:
    """The block that an agent writes for these calls: one JSON object a line; empty text for no calls."""
    if not calls:
        return ""
    return "\n".join(
        ["<tool_call>", *(json.dumps(call.model_dump(), ensure_ascii=False) for call in calls), "</tool_call>"]
    )


def _read_call(value: Any) -> ToolCall:
    if type(value) is dict and len(value) == 2:  # The usual form, first.
        name, arguments = value.get("name"), value.get("arguments")
        if type(name) is str and name and type(arguments) is dict:
            return ToolCall.of_json(name, arguments)
    if isinstance(value, dict) and isinstance(value.get("function"), dict):
        value = value["function"]
    if not isinstance(value, dict):
        raise CallError("not_a_call")
    name = value.get("name")
    if not isinstance(name, str) or not name:
        raise CallError("no_name")
    if "parameters" in value and "description" in value and "arguments" not in value:
        raise CallError("tool_specification")
    given = [_read_arguments(value[key]) for key in ("arguments", "parameters") if key in value]
    # Compared as JSON text: in Python 1 == True == 1.0.
    if len(given) == 2 and json.dumps(given[0], sort_keys=True) != json.dumps(given[1], sort_keys=True):
        raise CallError("ambiguous_arguments")
    if not given and not value.keys() <= {"name", "id", "type"}:
        # Flattened arguments: dropping them would make the call match one without arguments.
        raise CallError("unexpected_key")
    return ToolCall.of_json(name, given[0] if given else {})


def _read_arguments(value: Any) -> dict[str, Any]:
    if isinstance(value, str) and value.strip():
        try:
            value = read_json(value)
        except JsonReadError as error:
            raise CallError("arguments_not_json") from error
    elif value is None or isinstance(value, str):
        return {}
    if not isinstance(value, dict):
        raise CallError("arguments_not_an_object")
    return value


def looks_like_call(value: Any) -> bool:
    """Whether untagged JSON means a call: plain data such as ``{"name": "Ada"}`` may be an answer."""
    if isinstance(value, list):
        return any(not isinstance(item, list) and looks_like_call(item) for item in value)
    if not isinstance(value, dict):
        return False
    return ("name" in value and ("arguments" in value or "parameters" in value)) or isinstance(
        value.get("function"), dict
    )
