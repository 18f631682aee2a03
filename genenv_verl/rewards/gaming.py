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
"""Answers that only look right: what they say is in the task already, or they say everything at once.

Asked about answers in words that are not the reference itself, so that a right answer is never a trick.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence

from rapidfuzz import fuzz

from genenv_verl.rewards.text import MAX_CHARACTERS, normalise
from genenv_verl.tasks.json_reader import MAX_SCANNED, find_json_values, inner_values
from genenv_verl.tasks.schema import ToolSpec

MAX_EXTRA_WORDS = 24
"""An answer may be this many words longer than three times its reference; beyond that it is a text to search in."""


def gaming_reason(*, answer: str, reference: str | None, goal: str, tools: Sequence[ToolSpec]) -> str | None:
    """Names the trick of an answer in words, or None.

    * ``echoes_goal``: it is the task's goal, holds all of it, or is half of it or more, word by word.
    * ``lists_tools``: it names all the task's tools and says hardly a word (one in five) that is not in their
      specifications.
    * ``many_answers``: the reference is one of several alternatives. They are separated by "or", slash, bar, semicolon
      or, from three on, by comma, "and", line or list number; two short lines are alternatives, too.
    * ``answer_too_long``: it has more than three times the reference's words and ``MAX_EXTRA_WORDS`` more.

    Args:
        answer: The answer in the response.
        reference: The task's reference, None if any answer in words is right.
        goal: The task's goal, or "" if it is not known.
        tools: The task's tools.
    """
    if len(answer) > MAX_CHARACTERS or len(goal) > MAX_CHARACTERS:
        return "answer_too_long" if len(answer) > MAX_CHARACTERS else None
    said = _words(answer)
    if _echoes(" ".join(said), " ".join(_words(goal))):
        return "echoes_goal"
    if _lists_tools(answer, tools):
        return "lists_tools"
    if reference is None or len(reference) > MAX_CHARACTERS:
        return None
    if _offers_alternatives(answer, reference):
        return "many_answers"
    if len(said) > 3 * len(_words(reference)) + MAX_EXTRA_WORDS:
        return "answer_too_long"
    return None


def spells_call(answer: str, tools: Sequence[ToolSpec]) -> bool:
    """Whether an answer in words spells a call of one of the tools in a form that is not the agent's own.

    Looked for are a JSON object with the tool's name and arguments, and a line that is ``name(…)``, with brackets or
    backticks around it.

    Args:
        answer: The answer, of ``MAX_CHARACTERS`` at most.
        tools: The task's tools.
    """
    names = [tool.name for tool in tools if tool.name in answer]
    if not names:
        return False
    openings = tuple(f"{name}(" for name in names)
    lines = (line.strip(" []`") for line in answer.splitlines())
    if any(line.startswith(openings) and line.endswith(")") for line in lines):
        return True
    objects = (value for value in inner_values(find_json_values(answer, MAX_SCANNED)) if isinstance(value, dict))
    return any(value.get("name") in names and ("arguments" in value or "parameters" in value) for value in objects)


def _echoes(answer: str, goal: str) -> bool:
    if answer == goal:
        return bool(goal)
    # Below three words a goal, or a part of it, stands in many a fair answer.
    if not answer or len(goal.split()) < 3:
        return False
    if f" {goal} " in f" {answer} " or (f" {answer} " in f" {goal} " and 2 * len(answer) >= len(goal)):
        return True
    return fuzz.ratio(answer, goal, score_cutoff=95.0) > 0.0


def _lists_tools(answer: str, tools: Sequence[ToolSpec]) -> bool:
    if not tools or not all(tool.name in answer for tool in tools):
        return False
    specified = set(_words(json.dumps([tool.model_dump() for tool in tools], ensure_ascii=False)))
    said = _words(answer)
    return sum(word in specified for word in said) >= 0.8 * len(said)


def _words(text: str) -> list[str]:
    return _WORD.findall(text.casefold())


def _offers_alternatives(answer: str, reference: str) -> bool:
    for separator, fewest in ((_EITHER_OR, 2), (_LIST, 3)):
        parts = _parts(separator, answer)
        wanted = _parts(separator, reference)  # Several, if the reference is a list itself.
        if len(parts) >= fewest and len(parts) > len(wanted) and _names_all(parts, wanted):
            return True
    lines = _parts(_LINE, answer)
    # Two lines are two answers, or an answer with its heading: the shorter they are, the more they are answers.
    short = all(len(line.split()) <= len(reference.split()) + 1 for line in lines)
    return short and len(lines) > 1 and "\n" not in reference and _names_all(lines, [normalise(reference)])


def _parts(separator: re.Pattern[str], text: str) -> list[str]:
    return [part for piece in separator.split(text) if (part := normalise(piece))]


def _names_all(parts: list[str], wanted: list[str]) -> bool:
    """Whether each wanted answer is one of the parts, up to a few words around it ("it could be Oslo")."""
    padded = [(f" {part} ", len(part.split())) for part in parts]
    for answer in wanted:
        inner, most = f" {answer} ", len(answer.split()) + 3
        if not any(words <= most and inner in part for part, words in padded):
            return False
    return True


_WORD = re.compile(r"\w+")
_LINE = re.compile(r"\n")
_EITHER_OR = re.compile(r"\bor\b|[/|;]", re.IGNORECASE)
_LIST = re.compile(r"\bor\b|\band\b|[/|;,\n]|(?:^|\s)(?:[0-9]{1,2}[.)]|[-*•])(?=\s)", re.IGNORECASE)
