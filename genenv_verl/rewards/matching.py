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

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Literal, get_args

from genenv_verl.rewards.assignment import best_assignment
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
    tools: Iterable[ToolSpec] | None = None,
) -> float:
    """Score of predicted calls in [0, 1]: ``CallMatcher(gold, tools).score(predicted, mode)``."""
    return CallMatcher(gold, tools or ()).score(predicted, mode)


class CallMatcher:
    """The gold calls of a task, prepared once for all its attempts.

    Args:
        gold: Calls of the task; empty means that no call is right.
        tools: The task's tool specifications. With them an optional argument that equals its declared default may be
            given or left out on either side, and a float is refused for an integer.
    """

    def __init__(self, gold: Sequence[ToolCall], tools: Iterable[ToolSpec] = ()):
        self._parameters = {tool.name: tool.function.parameters for tool in tools}
        self._gold = [self._prepare(call) for call in gold]
        self._names = {call.name for call in gold}

    def score(self, predicted: Sequence[ToolCall], mode: MatchMode = "strict") -> float:
        """Score of the predicted calls in [0, 1]. An argument that spells out a default counts on neither side.

        * ``strict``: 1 if both sides are the same multiset of calls, else 0.
        * ``subset``: 1 if every gold call is among the predicted ones, with equal arguments. Further calls may stand
          beside them, at most as many as the gold has and none of a tool that the gold calls: a look-up too many is
          forgiven, a second guess is not.
        * ``soft``: each pair of the best one-to-one assignment earns the share of its arguments that agree (of all
          arguments that either side gives; 0 if the tool differs, 1 if neither side gives any). The sum is divided by
          the larger number of calls, so that each extra or missing call lowers the score; more than twice the gold's
          calls are a list of guesses and score 0. It is 1 exactly where ``strict`` is.

        Raises:
            ValueError: ``mode`` is unknown.
        """
        if mode not in MATCH_MODES:
            raise ValueError(f"match mode {mode!r} is none of {MATCH_MODES}")
        gold = self._gold
        if len(predicted) > MAX_CALLS or len(gold) > MAX_CALLS:
            return 0.0
        if mode == "soft":
            return self._soft_score(predicted)
        extra = len(predicted) - len(gold)
        if extra < 0 or extra > (len(gold) if mode == "subset" else 0):
            return 0.0
        if len(predicted) == 1 == len(gold):
            return 1.0 if gold[0].equals(predicted[0]) else 0.0
        # Equality is transitive here, so that the first free equal call is as good as any.
        rest = list(predicted)
        for wanted in gold:
            for place, call in enumerate(rest):
                if wanted.equals(call):
                    del rest[place]
                    break
            else:
                return 0.0
        return 0.0 if any(call.name in self._names for call in rest) else 1.0

    def _prepare(self, call: ToolCall) -> _GoldCall:
        parameters = self._parameters.get(call.name)
        properties, defaults = _properties(parameters), _defaults(parameters)
        wanted = {
            name: value
            for name, value in call.arguments.items()
            if name not in defaults or not equal_values(predicted=value, gold=defaults[name])
        }
        return _GoldCall(call.name, wanted, properties, defaults)

    def _soft_score(self, predicted: Sequence[ToolCall]) -> float:
        larger = max(len(predicted), len(self._gold))
        if larger == 0:
            return 1.0
        if len(predicted) > 2 * len(self._gold):
            return 0.0
        return best_assignment([[wanted.share(call) for call in predicted] for wanted in self._gold]) / larger


@dataclass(frozen=True, slots=True)
class _GoldCall:
    """One call of the gold.

    Attributes:
        name: The tool.
        wanted: The arguments, without those that spell out a default.
        properties: The schemas of the tool's arguments, by name.
        defaults: The declared defaults of its optional arguments, by name.
    """

    name: str
    wanted: dict[str, Any]
    properties: dict[str, Any]
    defaults: dict[str, Any]

    def equals(self, call: ToolCall) -> bool:
        if call.name != self.name:
            return False
        wanted, given = self.wanted, call.arguments
        if len(given) < len(wanted):
            return False
        found = 0
        for name, value in given.items():
            if name in wanted:
                target, kind = wanted[name], type(value)
                # The most frequent kinds without a call: where both are texts or both whole numbers, there is no more
                # to it.
                if kind is type(target) and (kind is str or kind is int):
                    if value != target:
                        return False
                elif not self._agrees(name, value, target):
                    return False
                found += 1
            elif not self._is_default(name, value):
                return False
        return found == len(wanted)

    def share(self, call: ToolCall) -> float:
        """The share of arguments that agree, of all that either side gives beyond the defaults."""
        if call.name != self.name:
            return 0.0
        given = {
            name: value
            for name, value in call.arguments.items()
            if name in self.wanted or not self._is_default(name, value)
        }
        compared = len(given.keys() | self.wanted.keys())
        matched = sum(self._agrees(name, given[name], value) for name, value in self.wanted.items() if name in given)
        return matched / compared if compared else 1.0

    def _agrees(self, name: str, value: Any, target: Any) -> bool:
        return _equal(value, target, self.properties.get(name), MAX_DEPTH)

    def _is_default(self, name: str, value: Any) -> bool:
        return name in self.defaults and self._agrees(name, value, self.defaults[name])


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


def _defaults(parameters: Any) -> dict[str, Any]:
    """The declared defaults of a tool's optional arguments."""
    required = parameters.get("required") if isinstance(parameters, dict) else None
    required = required if isinstance(required, list) else ()
    return {
        name: declared["default"]
        for name, declared in _properties(parameters).items()
        if isinstance(declared, dict) and "default" in declared and name not in required
    }
