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
"""Rules on the gold: it fits the response, says something and does not stand in its own prompt."""

from __future__ import annotations

import json
import re
from typing import Any, NamedTuple

from genenv_verl.tasks.json_reader import MAX_JSON_CHARS, inner_values, scan_json
from genenv_verl.tasks.novelty import normalise_text
from genenv_verl.tasks.schema import ToolCall
from genenv_verl.tasks.self_test import gold_response
from genenv_verl.tasks.validity.registry import Candidate, rule


@rule("gold_too_long")
def gold_fits_the_response(candidate: Candidate) -> str | None:
    count = candidate.limits.count_response_tokens(gold_response(candidate.task))
    if count > candidate.limits.max_response_tokens:
        return f"{count} tokens, at most {candidate.limits.max_response_tokens}"
    return None


@rule("reference_too_short")
def reference_says_something(candidate: Candidate) -> str | None:
    reference = candidate.task.evaluation.reference
    if reference is not None and not any(character.isalnum() for character in reference):
        return f"the reference {reference[:40]!r} has neither a letter nor a digit"
    return None


@rule("gold_in_prompt")
def gold_is_not_in_the_prompt(candidate: Candidate) -> str | None:
    """A task whose prompt spells out its gold measures copying.

    Looked for are the gold's calls, as JSON or as a call expression, also in tools that are not the seed's; and, where
    no earlier result may hold it, the bare arguments object, or the tool's name and each argument beside its value, in
    whatever order and notation, unless the seed's own system text or constraint says so.
    """
    context = candidate.task.context
    goal_side = (context.goal, context.system, *context.constraints)
    turns = [message.content for message in context.history]
    written, history = list(map(_read, goal_side)), list(map(_read, turns))
    foreign = [tool.model_dump() for tool in context.tools if tool not in candidate.seed.context.tools]
    tools = [_read(text) for text in inner_values(foreign) if isinstance(text, str)]
    golds = list(map(_spell, candidate.task.gold_action or ()))
    given = (candidate.seed.context.system, *candidate.seed.context.constraints)
    told = [_squeeze(text) for text in goal_side if text not in given and any(gold.call.name in text for gold in golds)]
    for gold in golds:
        call = gold.call
        # a tool without arguments may be named with brackets where tools are described
        if any(_spells_call(text, gold) for text in (*written, *history, *(tools if call.arguments else ()))):
            return f"the call of {call.name} stands in the prompt"
        if any(_tells_call(text, gold) for text in told):
            return f"the call of {call.name} stands in the prompt, argument by argument"
        if gold.is_telling and any(_spells_arguments(text, gold) for text in written):
            return f"the arguments of {call.name} stand in the prompt"
    reference = normalise_text(candidate.task.evaluation.reference or "")
    # A short reference ("yes", "Rome or Paris") stands in many a fair question.
    if len(reference) >= 24 and any(reference in normalise_text(text) for text in (*goal_side, *turns)):
        return "the reference answer stands in the prompt"
    return None


class _Text(NamedTuple):
    """A text of the prompt, prepared for the search: squeezed, and the JSON objects in it."""

    squeezed: str
    objects: tuple[dict[str, Any], ...]


def _read(text: str) -> _Text:
    if "{" not in text and "(" not in text:  # Only these begin a serialised call.
        return _Text("", ())
    return _Text(_squeeze(text), _objects(text))


class _Gold(NamedTuple):
    """A gold call as it may be spelled in a squeezed text.

    Attributes:
        call: The call.
        opening: ``name(``.
        arguments: Pairs of ``key=`` and value.
        objects: The arguments as JSON.
        named: The call as JSON.
        has_text: Whether a value is a text.
        is_telling: Whether the arguments are more than switches, all values of which may stand in a fair prompt.
    """

    call: ToolCall
    opening: str
    arguments: list[tuple[str, str]]
    objects: set[str]
    named: list[str]
    has_text: bool
    is_telling: bool


def _spell(call: ToolCall) -> _Gold:
    name, values = _squeeze(call.name), call.arguments.values()
    objects = {_spelled(call.arguments), _squeeze(json.dumps(call.arguments, ensure_ascii=False, sort_keys=True))}
    return _Gold(
        call=call,
        opening=f"{name}(",
        arguments=[(f"{_squeeze(key)}=", _spelled(value)) for key, value in call.arguments.items()],
        objects=objects,
        named=[f'"name":"{name}","{key}":{form}' for form in objects for key in _ARGUMENT_KEYS],
        has_text=any(isinstance(value, str) for value in values),
        is_telling=any(value is not None and not isinstance(value, bool) for value in values),
    )


def _spells_call(text: _Text, gold: _Gold) -> bool:
    return (
        any(form in text.squeezed for form in gold.named)
        or ((gold.is_telling or not gold.arguments) and _holds_call_expression(text.squeezed, gold))
        or any(_is_call(value, gold.call) for value in text.objects)
    )


def _tells_call(squeezed: str, gold: _Gold) -> bool:
    """Whether a squeezed text names the tool and each argument beside its value: in XML, in YAML or in words."""
    name = gold.call.name
    # A tool may be called by a word that every goal of its kind needs.
    is_word = name.isalpha() and name[1:] == name[1:].lower()
    if is_word or not gold.is_telling or _squeeze(name) not in squeezed:
        return False
    pairs = ((re.escape(key.removesuffix("=")), re.escape(value.strip('"'))) for key, value in gold.arguments)
    # What stands before the key is looked at last: a pattern that begins with its literal is found far faster.
    return all(re.search(rf"{key}(?<=(?<!\w){key})\W{{1,6}}{value}(?!\w)", squeezed) for key, value in pairs)


def _spells_arguments(text: _Text, gold: _Gold) -> bool:
    return any(form in text.squeezed for form in gold.objects) or gold.call.arguments in text.objects


_QUOTES = str.maketrans(dict.fromkeys("'‘’“”„«»`", '"') | {"\\": None})
_PYTHON_WORD = re.compile(r"\b(?:True|False|None)\b")
_JSON_WORDS = {"True": "true", "False": "false", "None": "null"}
_IDLE_BLANK = re.compile(r"(?<!\w) | (?!\w)")


def _squeeze(text: str) -> str:
    """The text with JSON's words for Python's, one kind of quote, no escapes, and blanks between words alone.

    How a serialised value is set does not matter.
    """
    squeezed = _IDLE_BLANK.sub("", " ".join(text.split())).translate(_QUOTES)
    return _PYTHON_WORD.sub(lambda word: _JSON_WORDS[word[0]], squeezed)


def _spelled(value: Any) -> str:
    return _squeeze(json.dumps(value, ensure_ascii=False))


def _holds_call_expression(squeezed: str, gold: _Gold) -> bool:
    """Whether ``name(value, key=value, …)`` stands in a squeezed text.

    Keywords may come in any order, positional values in the gold's. Of these one must be a text: ``gcd(12, 18)`` is how
    people write mathematics.
    """
    start = squeezed.find(gold.opening)
    while start >= 0:
        after = start + len(gold.opening)
        is_whole_name = not (start and squeezed[start - 1].isalnum())
        if is_whole_name and _are_all_there(squeezed, after, gold.arguments, positional=gold.has_text):
            return True
        start = squeezed.find(gold.opening, after)
    return False


def _are_all_there(squeezed: str, place: int, arguments: list[tuple[str, str]], *, positional: bool) -> bool:
    """Whether the arguments, each once, stand at a place of a squeezed text, followed by the closing bracket.

    Args:
        squeezed: The text.
        place: Where the first argument begins.
        arguments: Pairs of ``key=`` and value.
        positional: Whether values without their keys count, in the order of ``arguments``.
    """
    left = list(arguments)
    while left:
        ends = "," if len(left) > 1 else ")"
        by_key = (pair for pair in left if squeezed.startswith(f"{pair[0]}{pair[1]}{ends}", place))
        pair = next(by_key, None)
        if pair is not None:
            place += len(pair[0])
        elif positional and squeezed.startswith(left[0][1] + ends, place):
            pair = left[0]
        else:
            return False
        place += len(pair[1]) + 1
        left.remove(pair)
    return bool(arguments) or squeezed.startswith(")", place)


_ARGUMENT_KEYS = ("arguments", "parameters")


def _is_call(value: dict[str, Any], call: ToolCall) -> bool:
    if value.get("name") != call.name:
        return False
    given = [value[key] for key in _ARGUMENT_KEYS if key in value]
    return any(arguments == call.arguments for arguments in given) or any(
        call.arguments in _objects(arguments) for arguments in given if isinstance(arguments, str)
    )


def _objects(text: str) -> tuple[dict[str, Any], ...]:
    """The JSON objects in a text, those within others among them; what is no JSON is passed over."""
    if "{" not in text:
        return ()
    values = [found.value for found in scan_json(text[:MAX_JSON_CHARS]) if found.error is None]
    return tuple(value for value in inner_values(values) if isinstance(value, dict))
