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

import functools
import json
from collections.abc import Iterable
from typing import Any

from genenv_verl.tasks.json_reader import MAX_JSON_CHARS, scan_json
from genenv_verl.tasks.novelty import normalise_text
from genenv_verl.tasks.schema import ToolCall, ToolSpec
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

    Looked for are the gold's calls, as JSON or as a call expression, also in the descriptions of tools that are not the
    seed's; and the bare arguments object where no earlier result may hold it, whatever the order of the arguments.
    """
    context = candidate.task.context
    written = (context.goal, context.system, *context.constraints)
    tools = _descriptions(tool for tool in context.tools if tool not in candidate.seed.context.tools)
    texts = (*written, *tools, *(message.content for message in context.history))
    for call in candidate.task.gold_action or ():
        if any(_spells_call(text, call) for text in texts):
            return f"the call of {call.name} stands in the prompt"
        if call.arguments and any(_spells_arguments(text, call) for text in written):
            return f"the arguments of {call.name} stand in the prompt"
    reference = normalise_text(candidate.task.evaluation.reference or "")
    # A short reference ("yes", "Rome or Paris") stands in many a fair question.
    if len(reference) >= 24 and any(reference in normalise_text(text) for text in texts):
        return "the reference answer stands in the prompt"
    return None


def _descriptions(tools: Iterable[ToolSpec]) -> list[str]:
    """What tools say about themselves and their arguments."""
    found: list[str] = []
    places: list[Any] = [tool.model_dump() for tool in tools]
    for place in places:  # Grows while it is walked.
        if isinstance(place, dict):
            found += [text for key, text in place.items() if key == "description" and isinstance(text, str)]
        places += place.values() if isinstance(place, dict) else place if isinstance(place, list) else ()
    return found


def _spells_call(text: str, call: ToolCall) -> bool:
    if "{" not in text and "(" not in text:  # Only these begin a serialised call.
        return False
    squeezed = _squeeze(text)
    named = (f'"name":"{call.name}","{key}":{form}' for form in _argument_spellings(call) for key in _ARGUMENT_KEYS)
    return (
        any(form in squeezed for form in named)
        or _holds_call_expression(squeezed, call)
        or any(_is_call(value, call) for value in _objects(text))
    )


def _spells_arguments(text: str, call: ToolCall) -> bool:
    return any(form in _squeeze(text) for form in _argument_spellings(call)) or call.arguments in _objects(text)


_QUOTES = str.maketrans(dict.fromkeys("'‘’“”„«»`", '"') | {"\\": None})
_PYTHON_WORDS = {"True": "true", "False": "false", "None": "null"}


@functools.lru_cache(maxsize=256)
def _squeeze(text: str) -> str:
    """The text without blanks and escapes and with one kind of quote: how a serialised value is set does not matter."""
    squeezed = "".join(text.split()).translate(_QUOTES)
    for python, json_word in _PYTHON_WORDS.items():
        squeezed = squeezed.replace(python, json_word)
    return squeezed


def _argument_spellings(call: ToolCall) -> set[str]:
    return {
        _squeeze(json.dumps(call.arguments, ensure_ascii=False, sort_keys=sort_keys)) for sort_keys in (False, True)
    }


def _holds_call_expression(squeezed: str, call: ToolCall) -> bool:
    """Whether ``name(value, key=value, …)`` stands in a squeezed text, its arguments in any order."""
    keywords = [f"{_squeeze(key)}=" for key in call.arguments]
    values = [_squeeze(json.dumps(value, ensure_ascii=False)) for value in call.arguments.values()]
    shortest = len(",".join(values))
    longest = shortest + len("".join(keywords))
    opening = f"{_squeeze(call.name)}("
    start = squeezed.find(opening)
    while start >= 0:
        start += len(opening)
        end = squeezed.find(")", start + shortest, start + longest + 1)
        while end >= 0:
            inner = squeezed[start:end]
            for keyword in keywords:
                inner = inner.replace(keyword, "", 1)
            if len(inner) == shortest and all(value in inner for value in values):
                return True
            end = squeezed.find(")", end + 1, start + longest + 1)
        start = squeezed.find(opening, start)
    return False


_ARGUMENT_KEYS = ("arguments", "parameters")


def _is_call(value: dict[str, Any], call: ToolCall) -> bool:
    if value.get("name") != call.name:
        return False
    given = [value[key] for key in _ARGUMENT_KEYS if key in value]
    return any(arguments == call.arguments for arguments in given) or any(
        call.arguments in _objects(arguments) for arguments in given if isinstance(arguments, str)
    )


@functools.lru_cache(maxsize=256)
def _objects(text: str) -> tuple[dict[str, Any], ...]:
    """The JSON objects in a text, those within others among them; what is no JSON is passed over."""
    if "{" not in text:
        return ()
    values = [found.value for found in scan_json(text[:MAX_JSON_CHARS]) if found.error is None]
    for value in values:  # Grows while it is walked.
        if isinstance(value, dict | list):
            values += value.values() if isinstance(value, dict) else value
    return tuple(value for value in values if isinstance(value, dict))
