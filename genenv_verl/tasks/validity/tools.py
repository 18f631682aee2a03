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
"""Rules on tools and calls: sound schemas, and a gold that uses declared tools as they are declared."""

from __future__ import annotations

import functools
import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import referencing
from jsonschema import Draft202012Validator
from referencing.exceptions import Unresolvable

from genenv_verl.tasks.schema import Task, ToolCall, ToolSpec
from genenv_verl.tasks.validity.registry import Candidate, rule

MAX_SCHEMA_CHARS = 20_000
MAX_SCHEMA_DEPTH = 16  # The validator recurses, several frames a level.


@rule("bad_tool_schema")
def tool_schemas_are_sound(candidate: Candidate) -> str | None:
    """Tool schemas must be JSON Schema; those that the environment wrote may not hold what can hang a validator.

    The seed's own tools come from the user and may use all of JSON Schema, without remote references.
    """
    tools = candidate.task.context.tools
    if len({tool.name for tool in tools}) != len(tools):
        return "two tools have the same name"
    trusted = candidate.seed.context.tools
    for tool in tools:
        parameters = tool.function.parameters
        if tool not in trusted and (keyword := _unsafe_keyword(parameters)) is not None:
            return f"{tool.name}: {keyword}"
        if (fault := _validator(_serialise(parameters)).fault) is not None:
            return f"{tool.name}: {fault}"
    return None


@rule("undeclared_tool")
def gold_uses_declared_tools(candidate: Candidate) -> str | None:
    if not (undeclared := undeclared_tools(candidate.task)):
        return None
    declared = {tool.name for tool in candidate.task.context.tools}
    return f"the gold calls {undeclared[0]!r}, declared are {sorted(declared)}"


def undeclared_tools(task: Task) -> list[str]:
    """The names that a task's gold calls and its context does not declare."""
    declared = {tool.name for tool in task.context.tools}
    return [call.name for call in task.gold_action or () if call.name not in declared]


@rule("bad_arguments")
def gold_satisfies_the_tool_schemas(candidate: Candidate) -> str | None:
    """A gold that breaks its own schema gives p = 0 for ever and looks like a hard task."""
    tools = {tool.name: tool for tool in candidate.task.context.tools}
    for call in candidate.task.gold_action or ():
        if (fault := _argument_fault(call, tools[call.name])) is not None:
            return f"{call.name}: {fault}"
    return None


# "$ref" and its kin can recurse without end or fetch a page, "pattern" can take exponential time in a regular
# expression, "unevaluated…" in the nesting, "uniqueItems" quadratic time in the gold. The environment needs none of
# them to describe a tool, so a schema of its own that has one is refused rather than run under a time limit.
_UNSAFE_KEYWORDS = {"pattern", "patternProperties", "uniqueItems", "unevaluatedProperties", "unevaluatedItems"}
_SAFE_DOLLAR_KEYWORDS = {"$comment"}
# Under these keywords the keys are names that the tool's author chose, not keywords of JSON Schema.
_NAMED_SCHEMAS = {"properties", "definitions", "dependentSchemas"}
_PLAIN_VALUES = {"enum", "const", "default", "examples"}


def _unsafe_keyword(schema: Any, depth: int = 0) -> str | None:
    """What a schema of the environment may not hold, or None."""
    if depth > MAX_SCHEMA_DEPTH:
        return f"nested deeper than {MAX_SCHEMA_DEPTH}"
    if isinstance(schema, list):
        inner: Iterator[Any] = iter(schema)
    elif isinstance(schema, dict):
        for key in schema:
            if key in _UNSAFE_KEYWORDS or (key.startswith("$") and key not in _SAFE_DOLLAR_KEYWORDS):
                return f"the keyword {key!r} is not allowed"
        kinds = schema.get("type", "object")
        if not all(isinstance(kind, str) for kind in (kinds if isinstance(kinds, list) else [kinds])):
            return "a type is a name or a list of names"  # The validator compares other lists pair by pair.
        inner = (
            value
            for key, child in schema.items()
            if key not in _PLAIN_VALUES
            for value in (child.values() if key in _NAMED_SCHEMAS and isinstance(child, dict) else (child,))
        )
    else:
        return None
    return next((found for child in inner if (found := _unsafe_keyword(child, depth + 1)) is not None), None)


_META_VALIDATOR = Draft202012Validator(Draft202012Validator.META_SCHEMA)


@dataclass(frozen=True)
class _Validator:
    """A tool's validator, or why there is none."""

    schema: Draft202012Validator | None
    fault: str | None


@functools.lru_cache(maxsize=1024)
def _validator(serialised: str) -> _Validator:
    """Builds the validator of a tool's parameters, once per specification: checking a schema takes milliseconds."""
    if len(serialised) > MAX_SCHEMA_CHARS:
        return _Validator(None, f"{len(serialised)} characters, at most {MAX_SCHEMA_CHARS}")
    parameters = json.loads(serialised)
    if parameters.get("type", "object") != "object":
        return _Validator(None, f"parameters of type {parameters['type']!r} instead of 'object'")
    # The first fault is enough; ``check_schema`` looks for all, in quadratic time for some.
    if (error := next(_META_VALIDATOR.iter_errors(parameters), None)) is not None:
        return _Validator(None, f"no JSON Schema: {error.message}")
    # An empty registry resolves references within the schema and fetches nothing.
    return _Validator(Draft202012Validator(parameters, registry=referencing.Registry()), None)


def _serialise(parameters: dict[str, Any]) -> str:
    return json.dumps(parameters, sort_keys=True)


def call_fault(call: ToolCall, tools: Sequence[ToolSpec]) -> str | None:
    """Why a call that a model made is no proper call of these tools, or None.

    Unlike a gold, an agent's calls come by the hundred and are hostile: a schema that holds what can hang a validator
    (only a user's own may) is not applied.
    """
    tool = next((tool for tool in tools if tool.name == call.name), None)
    if tool is None:
        return f"{call.name!r} is not declared"
    serialised = _serialise(tool.function.parameters)
    if _validator(serialised).fault is not None or _is_unsafe(serialised):
        return None
    return _argument_fault(call, tool)


@functools.lru_cache(maxsize=1024)
def _is_unsafe(serialised: str) -> bool:
    return _unsafe_keyword(json.loads(serialised)) is not None


def _argument_fault(call: ToolCall, tool: ToolSpec) -> str | None:
    """Why a call does not satisfy its tool's schema, or None."""
    parameters = tool.function.parameters
    declared = parameters.get("properties")
    if isinstance(declared, dict) and not parameters.get("additionalProperties", False):
        # JSON Schema allows undeclared arguments by default; a tool does not.
        unknown = sorted(call.arguments.keys() - declared.keys())
        if unknown and not parameters.get("patternProperties"):
            return f"unknown argument {unknown[0]!r}"
    try:
        error = next(_validator(_serialise(parameters)).schema.iter_errors(call.arguments), None)
    except Unresolvable as missing:
        return f"the schema refers to what it does not contain: {missing}"
    except RecursionError:
        return "the arguments are nested too deep for the schema"
    return None if error is None else error.message
