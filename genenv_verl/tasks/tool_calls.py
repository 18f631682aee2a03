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
"""Reads the agent's response: which tools it calls, or what it answers in words.

Thoughts are no actions, the end of a call is the end of its JSON object, and a failed attempt at a call (``malformed``)
is another thing than no attempt (``no_call``).
"""

from __future__ import annotations

import re
from typing import Any, Literal, NamedTuple

from genenv_verl.tasks.call_forms import CallError, format_calls, looks_like_call, read_calls
from genenv_verl.tasks.json_reader import JsonReadError, read_json_at, repair_json, replace_lone_surrogates
from genenv_verl.tasks.schema import ToolCall

__all__ = ["CallError", "ParsedResponse", "format_calls", "parse_response", "read_calls", "solution_of_text"]

MAX_RESPONSE_CHARS = 65_536
MAX_VALUES = 256  # JSON values in a row; more than the calls of any task.

ResponseStatus = Literal["ok", "no_call", "malformed"]
ParseMode = Literal["strict", "lenient"]


class ParsedResponse(NamedTuple):
    """What a response says.

    Attributes:
        status: ``ok`` (at least one call, all readable), ``no_call``, or ``malformed`` (an attempt that failed).
        calls: The calls in their order; empty unless ``ok``.
        reason: Why the response is malformed, else None.
        repaired: Whether a call was read only after a repair (lenient mode alone).
        text: The free-text answer: the content of ``<response>`` if there is one, else the text without thoughts and
            call blocks.
    """

    status: ResponseStatus
    calls: tuple[ToolCall, ...]
    reason: str | None
    repaired: bool
    text: str


def parse_response(text: str, mode: ParseMode = "strict") -> ParsedResponse:
    """Reads a response in one pass, in time linear in its length.

    Calls stand in ``<tool_call>`` blocks; where there is no such block, in fenced blocks; where there is neither, the
    whole answer may be the JSON of calls. A block holds JSON objects, one after another, or a JSON list, and needs no
    closing tag. ``lenient`` differs from ``strict`` in two ways: text behind the calls of a block is passed over, and
    JSON that does not parse is repaired (``repair_json``).

    Args:
        text: The response, decoded, with its thoughts. Over ``MAX_RESPONSE_CHARS`` it is ``malformed``: ``too_long``.
        mode: ``strict`` scores, ``lenient`` is for benchmarks that say so.

    Raises:
        Nothing, whatever the text.
    """
    if len(text) > MAX_RESPONSE_CHARS:
        return ParsedResponse("malformed", (), "too_long", False, "")
    text = replace_lone_surrogates(text)
    return _read_usual(text) or _Reading(text, lenient=mode == "lenient").result()


def solution_of_text(text: str) -> dict[str, Any]:
    """What a ground truth in words stands for, as ``evaluation`` and ``gold_action`` of a task.

    A text in the agent's own format is what it says: its calls, or the answer in ``<response>``. Any other is a
    reference answer as it stands.
    """
    gold: list[dict[str, Any]] | None = None
    if "<tool_call>" in text or "<response>" in text:
        parsed = parse_response(text)
        if parsed.status == "ok":
            gold = [call.model_dump() for call in parsed.calls]
        elif parsed.status == "no_call":
            text = parsed.text
    if gold is not None:
        return {"evaluation": {"kind": "exact_match"}, "gold_action": gold}
    return {"evaluation": {"kind": "reference_answer", "reference": text}, "gold_action": None}


_TAG = re.compile(r"</?think(?:ing)?>|<tool_call>|</tool_call>|<response>|</response>|```")
_CLOSE = "</tool_call>"
_BLANKS = re.compile(r"\s*")
# What may stand before a value of a tagged block: blanks, nested opening tags, the lines of a fence.
_BLOCK_FILLER = re.compile(r"(?:\s+|<tool_call>|```[\w-]*)*")
_FENCE_HEAD = re.compile(r"```[\w-]*\s*")
_JSON_START = re.compile(r"[{\[]\s*[\"'{}\[\]\-0-9tfnTFNI]")
_LINE_ENDS = re.compile(r"[ \t\r]*(?:\n|<|\Z)")
_NAME_KEY = re.compile(r"""["']name["']""")


_USUAL_HEAD = re.compile(r"\s*(?:<think>[^<]*</think>\s*)?<tool_call>\s*")
_USUAL_TAIL = re.compile(r"</tool_call>\s*\Z")


def _read_usual(text: str) -> ParsedResponse | None:
    """Reads the usual response, a thought and one block of calls, as ``_Reading`` would; None for any other.

    It only saves time: most responses of a policy that has learnt the format are of this form.
    """
    head = _USUAL_HEAD.match(text)
    if head is None:
        return None
    try:
        values, end = _read_values(text, head.end(), _BLANKS)
        if not values or _USUAL_TAIL.match(text, end) is None:
            return None
        calls = [call for value in values for call in read_calls(value)]
    except (JsonReadError, CallError):
        return None
    return ParsedResponse("ok", tuple(calls), None, False, "") if calls else None


class _Reading:
    """The state of one pass over a response."""

    def __init__(self, text: str, *, lenient: bool):
        self.text = text
        self.lenient = lenient
        self.next_close = -1  # Index of the first closing tag behind the last place that asked, len(text) without one.
        self._forget()

    def _forget(self) -> None:
        self.parts: list[str] = []  # The free text, outside of thoughts and tagged blocks.
        self.responses: list[str] = []
        self.fences: list[int] = []  # Indices of the parts that are bodies of fences and begin like JSON.
        self.tagged = False
        self.calls: list[ToolCall] = []
        self.failure: str | None = None
        self.repaired = False

    def result(self) -> ParsedResponse:
        self._scan()
        if not self.tagged:
            self._read_fences_or_whole()
        text = ("\n".join(self.responses) if self.responses else "".join(self.parts)).strip()
        if self.failure is not None:
            return ParsedResponse("malformed", (), self.failure, False, text)
        return ParsedResponse("ok" if self.calls else "no_call", tuple(self.calls), None, self.repaired, text)

    def _scan(self) -> None:
        text, position = self.text, 0
        if self._read_whole(position):
            return
        while tag := _TAG.search(text, position):
            self.parts.append(text[position : tag.start()])
            match tag.group():
                case "<think>" | "<thinking>":
                    _, position = self._until(tag.group().replace("<", "</"), tag.end())
                    if self._read_whole(position):
                        return
                case "</think>" | "</thinking>":
                    # The template opened the thought: all that stands before is part of it.
                    self._forget()
                    position = tag.end()
                    if self._read_whole(position):
                        return
                case "<response>":
                    content, position = self._until("</response>", tag.end())
                    self.responses.append(content)
                case "<tool_call>":
                    position = self._read_block(tag)
                case "```":
                    position = self._read_fence(tag)
                case _:
                    position = tag.end()
        self.parts.append(text[position:])

    def _read_whole(self, position: int) -> bool:
        """Reads an answer that is nothing but the JSON of calls: tags within its strings mean nothing."""
        start = _BLANKS.match(self.text, position).end()
        if not self.text.startswith(("{", "["), start) or self.tagged or any(map(str.strip, self.parts)):
            return False
        try:
            values, end = _read_values(self.text, start, _BLANKS)
        except JsonReadError:
            return False
        if end != len(self.text) or not any(map(looks_like_call, values)):
            return False
        self._take(values)
        return True

    def _until(self, closing: str, start: int) -> tuple[str, int]:
        """The text from ``start`` to a closing tag, or to the end without one, and the index behind the tag."""
        close = self.text.find(closing, start)
        if close < 0:
            return self.text[start:], len(self.text)
        return self.text[start:close], close + len(closing)

    def _read_block(self, tag: re.Match[str]) -> int:
        """Reads a tagged block and returns the index at which the scan goes on."""
        text = self.text
        if self.failure is not None:
            # Nothing but the end of a thought can change the verdict, and the block may have been read already.
            self.tagged = True
            return tag.end()
        try:
            values, end = _read_values(text, tag.end(), _BLOCK_FILLER)
        except JsonReadError as error:
            self.tagged = True
            start = _BLOCK_FILLER.match(text, tag.end()).end()
            close = self._find_close(start)
            return close if self._recover(text, start, close, error) else tag.end()
        if not values:
            return self._read_block_without_json(tag, end)
        self.tagged = True
        self._take(values)
        if text.startswith(_CLOSE, end):
            return end + len(_CLOSE)
        cut_off = len(text) - end < len(_CLOSE) and _CLOSE.startswith(text[end:])
        if cut_off:
            return len(text)
        if not self.lenient:
            self._fail("text_after_call")
        return end

    def _read_block_without_json(self, tag: re.Match[str], content: int) -> int:
        """Tells a block whose content is no JSON from prose that mentions the tag: a block has its lines to itself."""
        at_line_start = not self.parts[-1].rpartition("\n")[2].strip()
        if at_line_start:
            close = self._find_close(content)
            if close == len(self.text) or _LINE_ENDS.match(self.text, close + len(_CLOSE)):
                self.tagged = True
                self._fail("empty_block" if content == close else "not_json")
                return content if close == len(self.text) else close
        self.parts.append(tag.group())
        return tag.end()

    def _find_close(self, position: int) -> int:
        """The index of the next closing tag, or of the text's end. Kept, lest many open tags search the same text."""
        if self.next_close < position:
            found = self.text.find(_CLOSE, position)
            self.next_close = len(self.text) if found < 0 else found
        return self.next_close

    def _read_fence(self, tag: re.Match[str]) -> int:
        """Keeps a fence whose body begins like JSON for later: it counts only where no tagged block stands."""
        start = _FENCE_HEAD.match(self.text, tag.start()).end()
        if not _JSON_START.match(self.text, start):
            self.parts.append(tag.group())
            return tag.end()
        try:
            _, end = _read_values(self.text, start, _BLANKS, careful=True)
        except JsonReadError:
            end = start
        _, stop = self._until("```", end)
        self.fences.append(len(self.parts))
        self.parts.append(self.text[start:stop].removesuffix("```"))
        return stop

    def _read_fences_or_whole(self) -> None:
        fences = [index for index in self.fences if self._read_untagged(self.parts[index])]
        for index in fences:
            self.parts[index] = ""
        if fences or self.responses:
            return
        answer = "".join(self.parts).strip()
        if answer.startswith(("{", "[")) and self._read_untagged(answer):
            self.parts = []

    def _read_untagged(self, body: str) -> bool:
        """Reads JSON that no tag announces; returns whether it was an attempt at calls at all."""
        try:
            values, end = _read_values(body, 0, _BLANKS, careful=True)
        except JsonReadError as error:
            attempt = _NAME_KEY.search(body) is not None
            if attempt:
                self._recover(body, 0, len(body), error)
            return attempt
        if not any(looks_like_call(value) for value in values):
            return False
        self._take(values)
        if end != len(body) and not self.lenient:
            self._fail("text_after_call")
        return True

    def _recover(self, text: str, start: int, stop: int, error: JsonReadError) -> bool:
        """Notes the failure of calls that do not parse, or repairs them (lenient mode, until something has failed)."""
        reason: str = error.reason
        if self.lenient and self.failure is None:
            try:
                value = repair_json(text[start:stop])
            except JsonReadError as final:
                reason = final.reason
            else:
                self.repaired = True
                self._take([value])
                return True
        self._fail(reason)
        return False

    def _take(self, values: list[Any]) -> None:
        try:
            for value in values:
                self.calls += read_calls(value)
        except CallError as error:
            self._fail(error.reason)

    def _fail(self, reason: str) -> None:
        self.failure = self.failure or reason


def _read_values(text: str, position: int, filler: re.Pattern[str], *, careful: bool = False) -> tuple[list[Any], int]:
    """Reads JSON objects and lists one after another, with filler around them, and returns the index behind all.

    Raises:
        JsonReadError: What begins like a JSON object or list is none, or there are more than ``MAX_VALUES``.
    """
    values: list[Any] = []
    while True:
        position = filler.match(text, position).end()
        if not text.startswith(("{", "["), position):
            return values, position
        if len(values) == MAX_VALUES:
            raise JsonReadError("too_many_values", position)
        value, position = read_json_at(text, position, careful=careful)
        values.append(value)
