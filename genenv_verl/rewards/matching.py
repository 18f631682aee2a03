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

Equality is by JSON value and never coerces: ``"1"`` is not ``1`` and ``1`` is not ``true``. Two freedoms remain, because
a tool cannot tell the difference: the order of keys and of parallel calls, and an optional argument that spells out the
default which its tool declares. All functions take their two sides by keyword, since a swap would never fail loudly.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any, Literal, get_args

from genenv_verl.tasks.schema import ToolCall, ToolSpec

MatchMode = Literal["strict", "subset", "soft"]

MAX_CALLS = 64
"""More calls than this on either side score 0: pairs are compared, so the work is quadratic in the calls."""

MAX_DEPTH = 64
"""Values nested deeper than this are never equal: the comparison recurses."""


def equal_values(*, predicted: Any, gold: Any, schema: Any = None) -> bool:
    """Whether two JSON values are the same value.

    Numbers compare by value (``5`` equals ``5.0``), booleans only with booleans, strings code point by code point, lists
    in order, objects by key. Where ``schema`` declares an integer, a predicted float is refused even if it is whole,
    while an int may always stand for a ``number``.

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
      0 if the tool differs, 1 if neither side gives any). The sum is divided by the larger number of calls, so that each
      extra or missing call lowers the score.

    Args:
        predicted: Calls of the response.
        gold: Calls of the task; empty means that no call is right.
        mode: One of the above.
        tools: The task's tool specifications. With them an optional argument that equals its declared default may be
            given or left out on either side, and a float is refused for an integer.

    Raises:
        ValueError: ``mode`` is unknown.
    """
    if mode not in get_args(MatchMode):
        raise ValueError(f"match mode {mode!r} is none of {get_args(MatchMode)}")
    larger = max(len(predicted), len(gold))
    if larger == 0:
        return 1.0
    if larger > MAX_CALLS or (mode != "soft" and len(predicted) != len(gold)):
        return 0.0

    parameters = {tool.name: tool.function.parameters for tool in tools or ()}
    scores = [[_pair_score(call, target, mode, parameters) for call in predicted] for target in gold]
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
    if depth == 0:
        return False
    # Before the numbers, because Python's bool is an int.
    if isinstance(predicted, bool) or isinstance(gold, bool):
        return predicted is gold
    if isinstance(predicted, (int, float)):
        if isinstance(predicted, float) and _declares_integer(schema):
            return False
        return isinstance(gold, (int, float)) and predicted == gold
    if isinstance(predicted, dict):
        return (
            isinstance(gold, dict)
            and predicted.keys() == gold.keys()
            and all(_equal(value, gold[key], _property(schema, key), depth - 1) for key, value in predicted.items())
        )
    if isinstance(predicted, list):
        items = schema.get("items") if isinstance(schema, dict) else None
        return (
            isinstance(gold, list)
            and len(predicted) == len(gold)
            and all(_equal(mine, theirs, items, depth - 1) for mine, theirs in zip(predicted, gold, strict=True))
        )
    return predicted == gold


def _declares_integer(schema: Any) -> bool:
    declared = schema.get("type") if isinstance(schema, dict) else None
    if isinstance(declared, list):
        return "integer" in declared and "number" not in declared
    return declared == "integer"


def _property(schema: Any, name: str) -> Any:
    properties = schema.get("properties") if isinstance(schema, dict) else None
    return properties.get(name) if isinstance(properties, dict) else None


def _is_default(value: Any, name: str, parameters: Any) -> bool:
    """Whether an argument is optional and spells out the default that the tool declares for it."""
    declared = _property(parameters, name)
    if not isinstance(declared, dict) or "default" not in declared:
        return False
    required = parameters.get("required")
    if isinstance(required, list) and name in required:
        return False
    return equal_values(predicted=value, gold=declared["default"], schema=declared)


def _pair_score(call: ToolCall, target: ToolCall, mode: MatchMode, parameters: Mapping[str, Any]) -> float:
    if call.name != target.name:
        return 0.0
    schema = parameters.get(target.name)
    matched = missed = extra = 0
    for name, value in target.arguments.items():
        if name in call.arguments:
            agrees = equal_values(predicted=call.arguments[name], gold=value, schema=_property(schema, name))
        else:
            agrees = _is_default(value, name, schema)
        matched += agrees
        missed += not agrees
    for name, value in call.arguments.items():
        if name not in target.arguments:
            extra += not _is_default(value, name, schema)

    if mode == "strict":
        return float(missed == 0 and extra == 0)
    if mode == "subset":
        return float(missed == 0)
    given = matched + missed + extra
    return matched / given if given else 1.0


def _best_assignment(scores: list[list[float]]) -> float:
    """Largest sum of scores when every gold call (row) takes at most one predicted call (column)."""
    if not scores or not scores[0]:
        return 0.0
    if len(scores) == 1 or len(scores[0]) == 1:
        return max(max(row) for row in scores)
    # scipy.optimize takes a second to import, and most tasks have a single call.
    from scipy.optimize import linear_sum_assignment

    rows, columns = linear_sum_assignment(scores, maximize=True)
    return sum(scores[row][column] for row, column in zip(rows, columns, strict=True))
