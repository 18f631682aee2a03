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
"""Wrong answers made from right ones: what a sound evaluation must reject (SPEC sections 3 and 8).

Every function is pure; what it chooses, it takes from the generator that it is handed, so that a task's corruptions
depend on its id alone (``generator_of``). Each corruption changes the meaning of the answer for the strict matching of
R_agent: an optional argument that spells out its declared default is never dropped, and the order of a list whose
schema says ``uniqueItems`` never reversed.
"""

from __future__ import annotations

import json
import random
import re
from collections.abc import Sequence
from typing import Any

from genenv_verl.tasks.answer_keys import same_value, says_nothing
from genenv_verl.tasks.schema import Task, ToolCall, ToolSpec

MAX_OF_A_KIND = 8
"""At most so many corruptions of one kind, chosen at random where there are more."""

WORDS = ("marble", "lantern", "violet", "harbour", "copper", "meadow", "falcon", "timber", "saffron", "glacier")

_NUMBER = re.compile(r"\d+")
_WORD = re.compile(r"[^\W\d_]+")
_ARROW = re.compile(r"\s*(?:->|→|=>|,? then )\s*")

Corruption = tuple[str, list[ToolCall]]


def generator_of(task: Task) -> random.Random:
    """The generator of a task's corruptions: the same in every process."""
    return random.Random(f"corruptions of {task.task_id}")


# ------------------------------------------------------------------------------------------------------------- calls


def corrupt_calls(calls: Sequence[ToolCall], tools: Sequence[ToolSpec], rng: random.Random) -> list[Corruption]:
    """Corrupted versions of gold calls, as pairs of kind and calls.

    The kinds: ``wrong_tool``, ``missing_call``, ``extra_call``, ``emptied`` (a call without its arguments),
    ``missing_argument``, ``extra_argument``, ``changed_argument``, ``changed_type`` and ``reordered`` (a list argument
    backwards). A kind without a place in these calls is left out. ``changed_argument`` comes for every argument, up to
    ``MAX_OF_A_KIND``: an evaluation that overlooks one of them is found.

    Args:
        calls: The gold, not empty.
        tools: The tools declared.
        rng: Decides what is chosen.
    """
    found = [("wrong_tool", _with(calls, place, _wrong_tool(call, tools, rng))) for place, call in enumerate(calls)]
    if len(calls) > 1:
        found += [("missing_call", [*calls[:place], *calls[place + 1 :]]) for place in range(len(calls))]
    found.append(("extra_call", [*calls, _changed_call(rng.choice(list(calls)), tools, rng)]))
    for place, call in enumerate(calls):
        found += [(kind, _with(calls, place, changed)) for kind, changed in _corrupt_arguments(call, tools, rng)]
    kinds: dict[str, list[Corruption]] = {}
    for corruption in found:
        kinds.setdefault(corruption[0], []).append(corruption)
    return [
        corruption
        for several in kinds.values()
        for corruption in (several if len(several) <= MAX_OF_A_KIND else rng.sample(several, MAX_OF_A_KIND))
    ]


def change_value(value: Any, schema: Any, rng: random.Random) -> Any:
    """Another value of the same type; for an enumeration another of its members, if there is one."""
    schema = schema if isinstance(schema, dict) else {}
    members = schema.get("enum")
    if isinstance(members, list) and (others := [member for member in members if not same_value(member, value)]):
        return rng.choice(others)
    if isinstance(value, bool):
        return not value
    if isinstance(value, int):
        return value + rng.choice((1, 2, 3, 7)) if abs(value) < 10**15 else value // 10  # never one digit too many
    if isinstance(value, float):
        return value + rng.choice((0.5, 1.0, 2.0)) if abs(value) < 1e15 else 1.0
    if isinstance(value, str):
        return change_text(value, rng)
    if isinstance(value, list):
        if not value:
            return [rng.choice(WORDS)]
        place = rng.randrange(len(value))
        return [*value[:place], change_value(value[place], schema.get("items"), rng), *value[place + 1 :]]
    if isinstance(value, dict):
        if not value:
            return {rng.choice(WORDS): 1}
        key = rng.choice(sorted(value))
        return {**value, key: change_value(value[key], _properties(schema).get(key), rng)}
    return rng.choice(WORDS)  # null


def _corrupt_arguments(call: ToolCall, tools: Sequence[ToolSpec], rng: random.Random) -> list[tuple[str, ToolCall]]:
    parameters = _parameters(call.name, tools)
    declared, given = _properties(parameters), call.arguments
    decisive = [name for name in sorted(given) if not _may_be_left_out(name, given[name], parameters)]
    extra = next(word for word in WORDS if word not in given and word not in declared)
    found = [("extra_argument", _called(call, {**given, extra: rng.choice(WORDS)}))]
    if decisive:
        found.append(("emptied", _called(call, {})))
    if len(given) > 1:  # Of one argument the missing one is ``emptied``.
        rest = [{key: value for key, value in given.items() if key != name} for name in decisive]
        found += [("missing_argument", _called(call, arguments)) for arguments in rest]
    for name, value in sorted(given.items()):
        changed = change_value(value, declared.get(name), rng)
        found.append(("changed_argument", _called(call, {**given, name: changed})))
        found.append(("changed_type", _called(call, {**given, name: _of_another_type(value)})))
        if isinstance(value, list) and not same_value(value, value[::-1]) and not _is_set(declared.get(name)):
            found.append(("reordered", _called(call, {**given, name: value[::-1]})))
    return found


def _wrong_tool(call: ToolCall, tools: Sequence[ToolSpec], rng: random.Random) -> ToolCall:
    others = sorted({tool.name for tool in tools} - {call.name})
    return ToolCall(name=rng.choice(others) if others else f"{call.name}_all", arguments=call.arguments)


def _changed_call(call: ToolCall, tools: Sequence[ToolSpec], rng: random.Random) -> ToolCall:
    if not call.arguments:
        return _wrong_tool(call, tools, rng)
    name = rng.choice(sorted(call.arguments))
    schema = _properties(_parameters(call.name, tools)).get(name)
    return _called(call, {**call.arguments, name: change_value(call.arguments[name], schema, rng)})


def _of_another_type(value: Any) -> Any:
    """The value as a careless reader would also write it: a number as text, a text as a list of one."""
    if isinstance(value, str):
        return int(value) if value.isdecimal() and value.isascii() and len(value) < 16 else [value]
    return json.dumps(value, ensure_ascii=False)


def _with(calls: Sequence[ToolCall], place: int, call: ToolCall) -> list[ToolCall]:
    return [*calls[:place], call, *calls[place + 1 :]]


def _called(call: ToolCall, arguments: dict[str, Any]) -> ToolCall:
    return ToolCall(name=call.name, arguments=arguments)


def _parameters(name: str, tools: Sequence[ToolSpec]) -> dict[str, Any]:
    return next((tool.function.parameters for tool in tools if tool.name == name), {})


def _properties(schema: Any) -> dict[str, Any]:
    properties = schema.get("properties") if isinstance(schema, dict) else None
    return properties if isinstance(properties, dict) else {}


def _is_set(schema: Any) -> bool:
    return isinstance(schema, dict) and schema.get("uniqueItems") is True


def _may_be_left_out(name: str, value: Any, parameters: dict[str, Any]) -> bool:
    """Whether an argument says no more than its absence: an optional null, or the declared default."""
    required = parameters.get("required")
    optional = not (isinstance(required, list) and name in required)
    return (optional and value is None) or says_nothing(name, value, parameters)


# -------------------------------------------------------------------------------------------------------------- text


def corrupt_text(text: str, rng: random.Random) -> list[tuple[str, str]]:
    """Corrupted versions of a gold text, as pairs of kind and text.

    ``changed_number``: one number changed, for each number. ``changed_word``: one word changed, for each of the longer
    words. ``changed_words``: all words and numbers changed. ``extra``: the text and a wrong alternative, as a hedging
    agent writes. ``reordered``: the steps of a text that says their order (``->``, ``then``) backwards.
    """
    numbers, words = list(_NUMBER.finditer(text)), list(_WORD.finditer(text))
    if not numbers and not words:
        return []
    longest = sorted(words, key=lambda word: -len(word[0]))[:MAX_OF_A_KIND]
    changed = [("changed_number", _replaced(text, number, rng)) for number in numbers[:MAX_OF_A_KIND]]
    changed += [("changed_word", _replaced(text, word, rng)) for word in longest]
    everything = text
    for match in sorted([*numbers, *words], key=lambda match: -match.start()):
        everything = _replaced(everything, match, rng)
    changed += [("changed_words", everything), ("extra", f"{text} or {everything}")]
    if len(steps := _ARROW.split(text)) > 1 and steps != steps[::-1]:
        changed.append(("reordered", " -> ".join(steps[::-1])))
    return changed


def change_text(text: str, rng: random.Random) -> str:
    """A text with one number changed, or one word where it has no number."""
    places = list(_NUMBER.finditer(text)) or list(_WORD.finditer(text))
    return _replaced(text, rng.choice(places), rng) if places else f"{text}{rng.choice(WORDS)}"


def _replaced(text: str, match: re.Match[str], rng: random.Random) -> str:
    old = match[0]
    if old[0].isdecimal():
        # One digit: the number keeps its length, a date mostly stays a date.
        place = len(old) - 1
        new = old[:place] + str((int(old[place]) + rng.randint(1, 8)) % 10)
    else:
        new = rng.choice([word for word in WORDS if word != old.casefold()])
        new = new.capitalize() if old[0].isupper() else new
    return text[: match.start()] + new + text[match.end() :]
