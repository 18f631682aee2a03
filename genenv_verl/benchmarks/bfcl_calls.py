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
"""The calls of a model in BFCL: read from its output, and from the call strings that BFCL's gold and executor use.

The output is in ToolRL's form, one JSON object ``{"name", "parameters"}`` a line in the last ``<tool_call>`` block, and
is read as leniently as there: a line that is no such object is passed over.
"""

from __future__ import annotations

import ast
import json
from collections.abc import Mapping, Sequence
from typing import Any

from genenv_verl.tasks.json_reader import MAX_JSON_DEPTH, is_shallow

MAX_OUTPUT_CHARS = 262_144
MAX_CALLS = 1_000

Call = tuple[str, dict[str, Any]]
"""A tool's name and its arguments by parameter."""

_OPEN, _CLOSE = "<tool_call>", "</tool_call>"
# The name by which ToolRL's prompt lets a model say that it calls nothing.
_NO_CALL = "None"


class UnreadableAnswer(ValueError):
    """An answer that is not read at all; the message is the reason of its score of 0."""


def call_objects(model_output: str) -> list[dict[str, Any]]:
    """The objects with a ``name`` in the last ``<tool_call>`` block, whose closing tag may be missing.

    Raises:
        UnreadableAnswer: The output is beyond ``MAX_OUTPUT_CHARS`` or calls more than ``MAX_CALLS`` times.
    """
    if len(model_output) > MAX_OUTPUT_CHARS:
        raise UnreadableAnswer("output_too_long")
    _, tag, block = model_output.rpartition(_OPEN)
    if not tag:
        return []
    values = map(_read_line, block.partition(_CLOSE)[0].split("\n"))
    found = [value for value in values if isinstance(value, dict) and _names_a_tool(value)]
    if len(found) > MAX_CALLS:
        raise UnreadableAnswer("too_many_calls")
    return found


def call_strings(model_output: str) -> list[str]:
    """The calls as BFCL executes them: ``name(parameter=value, …)``. Absent parameters are none at all.

    Raises:
        UnreadableAnswer: As ``call_objects``.
    """
    strings = []
    for value in call_objects(model_output):
        parameters = value.get("parameters", {})
        if isinstance(parameters, dict):
            strings.append(f"{value['name']}({', '.join(f'{key}={each!r}' for key, each in parameters.items())})")
    return strings


def given_call_strings(decoded_exec: object) -> list[str]:
    """Call strings that an answer brings itself, checked for their form and size.

    Raises:
        UnreadableAnswer: They are no list of strings, or beyond the limits.
    """
    if not isinstance(decoded_exec, list) or not all(isinstance(each, str) for each in decoded_exec):
        raise UnreadableAnswer("no_calls_given")
    if len(decoded_exec) > MAX_CALLS:
        raise UnreadableAnswer("too_many_calls")
    if sum(map(len, decoded_exec)) > MAX_OUTPUT_CHARS:
        raise UnreadableAnswer("output_too_long")
    return decoded_exec


def read_call_string(text: str, parameters_of: Mapping[str, Sequence[str]]) -> Call:
    """One call string of literals as a call; positional arguments take the parameters' names in their order.

    Nothing is evaluated.

    Args:
        text: ``name(1, parameter='x')``; the name may be dotted.
        parameters_of: Names of a tool's parameters, by tool, in order.

    Raises:
        ValueError: The text is no single call of literals, or has more positional arguments than the tool parameters.
    """
    try:
        call = ast.parse(text.strip(), mode="eval").body
        if not isinstance(call, ast.Call):
            raise ValueError("it does not call")
        name = ast.unparse(call.func)
        pairs = _named_arguments(call, parameters_of.get(name, ()))
        arguments = {parameter: ast.literal_eval(value) for parameter, value in pairs}
    except (SyntaxError, ValueError, TypeError, RecursionError, MemoryError) as error:
        raise ValueError(f"{text[:80]!r} is no call of literals: {error}") from error
    if len(arguments) != len(pairs):
        raise ValueError(f"{text[:80]!r} gives an argument twice")
    return name, arguments


def _named_arguments(call: ast.Call, names: Sequence[str]) -> list[tuple[str, ast.expr]]:
    if len(call.args) > len(names):
        raise ValueError(f"{len(call.args)} positional arguments, declared are {list(names)}")
    pairs = list(zip(names, call.args, strict=False))
    for keyword in call.keywords:
        if keyword.arg is None:
            raise ValueError("its arguments are unpacked")
        pairs.append((keyword.arg, keyword.value))
    return pairs


def _read_line(line: str) -> Any:
    """The JSON value of a line, None if it is none or is nested deeper than ``MAX_JSON_DEPTH``."""
    try:
        value = json.loads(line)
    except (ValueError, RecursionError):
        return None
    return value if is_shallow(line) or _is_shallow_value(value) else None


def _is_shallow_value(value: Any) -> bool:
    level = [value]
    for _ in range(MAX_JSON_DEPTH + 1):
        level = [child for each in level for child in _children(each)]
        if not level:
            return True
    return False


def _children(value: Any) -> Sequence[Any]:
    if isinstance(value, dict):
        return list(value.values())
    return value if isinstance(value, list) else ()


def _names_a_tool(value: Mapping[str, Any]) -> bool:
    name = value.get("name")
    return isinstance(name, str) and name != "" and name != _NO_CALL
