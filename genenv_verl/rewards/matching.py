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
"""Structured half of R_agent: are the predicted tool calls the gold calls? (GenEnv, Eq. 1: 1[a' = a].)

Equality is by JSON value and never coerces: ``"1"`` is not ``1`` and ``1`` is not ``true``. Two freedoms remain,
because a tool cannot tell the difference: the order of keys and of parallel calls, and an optional argument that spells
out the default which its tool declares. All functions take their two sides by keyword, since a swap would never fail
loudly.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from typing import Any, Literal, get_args

from genenv_verl.tasks.schema import ToolCall, ToolSpec

MatchMode = Literal["strict", "subset", "soft"]
MATCH_MODES: tuple[str, ...] = get_args(MatchMode)

MAX_CALLS = 64
"""More calls than this on either side score 0: pairs are compared, so the work is quadratic in the calls."""

MAX_DEPTH = 64
"""Values nested deeper than this are never equal: the comparison recurses."""


def equal_values(*, predicted: Any, gold: Any, schema: Any = None) -> bool:
    """Whether two JSON values are the same value.

    Numbers compare by value (``5`` equals ``5.0``), booleans only with booleans, strings code point by code point,
    lists in order, objects by key. Where ``schema`` declares an integer, a predicted float is refused even if it is
    whole, while an int may always stand for a ``number``.

    Args:
        predicted: The value from the response.
        gold: The value from the task.
        schema: JSON schema of the value, or None. Only ``type``, ``properties`` and ``items`` are read; anything else
            (and a malformed schema) is as good as no schema.
    """
    return _equal(predicted, gold, schema, MAX_DEPTH)


def match_calls(
    *,
    predicted: Sequence[ToolCall],
    gold: Sequence[ToolCall],
    mode: MatchMode = "strict",
    tools: Sequence[ToolSpec] | None = None,
) -> float:
    """Score of the predicted calls in [0, 1] under the best one-to-one assignment to the gold calls.

    * ``strict``: 1 if both sides are the same multiset of calls, else 0.
    * ``subset``: as strict, but a predicted call may carry arguments that the gold does not have. Further *calls* are
      refused here too, so that listing many calls cannot score.
    * ``soft``: each assigned pair earns the share of its arguments that agree (of all arguments that either side gives;
      0 if the tool differs, 1 if neither side gives any). The sum is divided by the larger number of calls, so that
      each extra or missing call lowers the score.

    Args:
        predicted: Calls of the response.
        gold: Calls of the task; empty means that no call is right.
        mode: One of the above.
        tools: The task's tool specifications. With them an optional argument that equals its declared default may be
            given or left out on either side, and a float is refused for an integer.

    Raises:
        ValueError: ``mode`` is unknown.
    """
    if mode not in MATCH_MODES:
        raise ValueError(f"match mode {mode!r} is none of {MATCH_MODES}")
    larger = max(len(predicted), len(gold))
    if larger == 0:
        return 1.0
    if larger > MAX_CALLS or (mode != "soft" and len(predicted) != len(gold)):
        return 0.0

    scores = [[_pair_score(call, target, mode, tools) for call in predicted] for target in gold]
    total = _best_assignment(scores)
    if mode == "soft":
        return total / larger
    return 1.0 if total == larger else 0.0


def mismatch_reason(*, predicted: Sequence[ToolCall], gold: Sequence[ToolCall]) -> str:
    """Names the first difference of calls that do not match.

    Returns:
        ``missing_call`` or ``extra_call`` (the tools called are a part of the gold's, or contain them), ``wrong_tool``
        (neither) or ``wrong_arguments`` (the same tools).
    """
    called, wanted = Counter(call.name for call in predicted), Counter(call.name for call in gold)
    if called == wanted:
        return "wrong_arguments"
    if not called - wanted:
        return "missing_call"
    if not wanted - called:
        return "extra_call"
    return "wrong_tool"


def _equal(predicted: Any, gold: Any, schema: Any, depth: int) -> bool:
    kind = type(predicted)
    if kind is str:
        return predicted == gold
    # Before the numbers, because Python's bool is an int.
    if kind is bool or type(gold) is bool:
        return predicted is gold
    if kind is int or kind is float:
        if kind is float and _declares_integer(schema):
            return False
        return isinstance(gold, (int, float)) and predicted == gold
    if depth == 0 or type(gold) is not kind:
        return False
    if kind is dict:
        if len(predicted) != len(gold):
            return False
        properties = _properties(schema)
        for key, value in predicted.items():
            if key not in gold or not _equal(value, gold[key], properties.get(key), depth - 1):
                return False
        return True
    if kind is list:
        if len(predicted) != len(gold):
            return False
        items = schema.get("items") if isinstance(schema, dict) else None
        for mine, theirs in zip(predicted, gold, strict=True):
            if not _equal(mine, theirs, items, depth - 1):
                return False
        return True
    return predicted is None


def _declares_integer(schema: Any) -> bool:
    declared = schema.get("type") if isinstance(schema, dict) else None
    if isinstance(declared, list):
        return "integer" in declared and "number" not in declared
    return declared == "integer"


def _properties(schema: Any) -> dict[str, Any]:
    properties = schema.get("properties") if isinstance(schema, dict) else None
    return properties if isinstance(properties, dict) else {}


def _parameters_of(name: str, tools: Sequence[ToolSpec] | None) -> Any:
    for tool in tools or ():
        if tool.function.name == name:
            return tool.function.parameters
    return None


def _is_default(value: Any, name: str, parameters: Any) -> bool:
    """Whether an argument is optional and spells out the default that the tool declares for it."""
    declared = _properties(parameters).get(name)
    if not isinstance(declared, dict) or "default" not in declared:
        return False
    required = parameters.get("required")
    if isinstance(required, list) and name in required:
        return False
    return equal_values(predicted=value, gold=declared["default"], schema=declared)


def _pair_score(call: ToolCall, target: ToolCall, mode: MatchMode, tools: Sequence[ToolSpec] | None) -> float:
    """The share of arguments that agree, or whether enough of them do, depending on the mode."""
    if call.name != target.name:
        return 0.0
    parameters = _parameters_of(target.name, tools)
    properties = _properties(parameters)
    given, wanted = call.arguments, target.arguments
    matched = missed = extra = 0
    for name, value in wanted.items():
        if name in given:
            agrees = _equal(given[name], value, properties.get(name), MAX_DEPTH)
        else:
            agrees = _is_default(value, name, parameters)
        matched += agrees
        missed += not agrees
    for name, value in given.items():
        if name not in wanted and not _is_default(value, name, parameters):
            extra += 1

    if mode == "strict":
        return 0.0 if missed or extra else 1.0
    if mode == "subset":
        return 0.0 if missed else 1.0
    compared = matched + missed + extra
    return matched / compared if compared else 1.0


def _best_assignment(scores: list[list[float]]) -> float:
    """Largest sum of scores when every gold call (row) takes at most one predicted call (column).

    The Hungarian method by shortest augmenting paths: rows join one after the other, and the potentials keep all
    reduced costs non-negative, so that each path is found by Dijkstra's rule. Cubic in the calls.
    """
    if not scores:
        return 0.0
    if len(scores) > len(scores[0]):
        scores = [list(column) for column in zip(*scores, strict=True)]
    if len(scores) <= 1:
        return max(scores[0]) if scores else 0.0
    columns = range(len(scores[0]))
    row_of: list[int | None] = [None for _ in columns]
    row_potential, column_potential = [0.0 for _ in scores], [0.0 for _ in columns]
    for start in range(len(scores)):
        distance, previous = [math.inf for _ in columns], [-1 for _ in columns]
        reached: list[int] = []
        row: int | None = start
        column, travelled = -1, 0.0
        while row is not None:
            open_columns = [candidate for candidate in columns if candidate not in reached]
            for candidate in open_columns:
                cost = -scores[row][candidate] - row_potential[row] - column_potential[candidate]
                if travelled + cost < distance[candidate]:
                    distance[candidate], previous[candidate] = travelled + cost, column
            column = min(open_columns, key=distance.__getitem__)
            travelled = distance[column]
            row = row_of[column]
            reached.append(column)
        row_potential[start] += travelled
        for passed in reached[:-1]:
            row_potential[row_of[passed]] += travelled - distance[passed]
            column_potential[passed] -= travelled - distance[passed]
        while column != -1:
            row_of[column] = start if previous[column] == -1 else row_of[previous[column]]
            column = previous[column]
    return sum(scores[row][column] for column, row in enumerate(row_of) if row is not None)
