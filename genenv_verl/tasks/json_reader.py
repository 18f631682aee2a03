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
"""JSON from models: a strict reader that scores, and a repair layer that touches only what the reader refused.

Model text is hostile. Everything here takes time and memory linear in the text, ends a value where its JSON ends (never
at a tag or by a brace pattern), and raises ``JsonReadError`` alone.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Literal, NoReturn

MAX_JSON_CHARS = 100_000
MAX_JSON_DEPTH = 64
MAX_SCANNED = 1_000  # Values in one text, sound or broken, after which nobody reads on.
MAX_NUMBER_CHARS = 300  # More digits than a double can hold; int() of some thousand digits raises.

JsonReason = Literal[
    "empty", "too_long", "too_deep", "too_many_values", "duplicate_key", "not_a_number", "number_too_large", "syntax"
]


class JsonReadError(ValueError):
    """Why a text is not read as JSON.

    Attributes:
        reason: The named reason, stable enough to be counted.
        position: Index in the text at which a reader that looks for further values goes on.
    """

    def __init__(self, reason: JsonReason, position: int = 0):
        super().__init__(reason, position)
        self.reason: JsonReason = reason
        self.position = position

    def __str__(self) -> str:
        return f"{self.reason} at character {self.position}"


@dataclass(frozen=True, slots=True)
class FoundJson:
    """A JSON object or list within a text, or the attempt at one: ``error`` says why it was refused."""

    start: int
    end: int
    value: Any = None
    error: JsonReadError | None = None


def read_json(text: str, *, max_chars: int = MAX_JSON_CHARS) -> Any:
    """Reads a text that is one JSON value and nothing else.

    Stricter than ``json.loads``: duplicate keys, NaN, infinities and numbers beyond a double are refused, as are texts
    over ``max_chars`` characters and values nested deeper than ``MAX_JSON_DEPTH``. Halves of surrogate pairs become
    U+FFFD, so that every UTF-8 writer can take the value.

    Raises:
        JsonReadError: With the reason.
    """
    if len(text) > max_chars:
        raise JsonReadError("too_long", len(text))
    start = _BLANK.match(text).end()
    if start == len(text):
        raise JsonReadError("empty", start)
    value, end = read_json_at(text, start)
    if (rest := _BLANK.match(text, end).end()) != len(text):
        raise JsonReadError("syntax", rest)
    return value


def is_shallow(text: str, start: int = 0, end: int | None = None) -> bool:
    """Whether no value in a text can be nested too deep, because the text has too few brackets for that."""
    return text.count("{", start, end) + text.count("[", start, end) <= MAX_JSON_DEPTH


def read_json_at(text: str, start: int, *, careful: bool = False) -> tuple[Any, int]:
    """Reads the JSON value that begins at ``start`` and returns it with the index behind it.

    Args:
        text: The text; the caller caps its length.
        start: Index of the value's first character.
        careful: Whether to look for the value's end first. The result is the same; it is slower for sound JSON, and for
            many broken values in one text it avoids the decoder's errors, which look at all of the text before.

    Raises:
        JsonReadError: With the reason.
    """
    end = _value_end(text, start) if careful else None
    try:
        value, end = _decode(text, start)
    except JsonReadError as error:
        raise JsonReadError(error.reason, end or _value_end(text, start)) from None
    except ValueError:
        raise JsonReadError("syntax", end or _value_end(text, start)) from None
    except RecursionError:  # The decoder's own guard, some hundred levels down.
        raise _too_deep(text) from None
    if not is_shallow(text, start, end):
        _check_depth(text, start, end)
    return value, end


def scan_json(text: str) -> Iterator[FoundJson]:
    """Yields the top-level JSON objects and lists of a text, left to right, the refused attempts among them.

    After a refused attempt the scan goes on where the attempt failed: what stands inside a broken object is not a
    top-level value, and no character is read twice. After ``MAX_SCANNED`` of them it ends.
    """
    position = refused = 0
    for _ in range(MAX_SCANNED):
        if (opening := _OPENING.search(text, position)) is None:
            return
        start = opening.start()
        try:
            value, position = read_json_at(text, start, careful=refused > _FEW)
            yield FoundJson(start, position, value)
        except JsonReadError as error:
            position = max(error.position, start + 1)
            refused += 1
            yield FoundJson(start, position, error=error)


def find_json_values(text: str, max_values: int) -> list[Any]:
    """The first ``max_values`` top-level JSON objects and lists of a text; prose and broken JSON are passed over.

    Raises:
        JsonReadError: ``too_long``, for a text over ``MAX_JSON_CHARS`` characters.
    """
    if len(text) > MAX_JSON_CHARS:
        raise JsonReadError("too_long", len(text))
    values: list[Any] = []
    for found in scan_json(text):
        if len(values) == max_values:
            break
        if found.error is None:
            values.append(found.value)
    return values


def inner_values(values: list[Any]) -> list[Any]:
    """The JSON values and all that they hold, keys aside."""
    found = list(values)
    for value in found:  # Grows while it is walked.
        if isinstance(value, dict | list):
            found += value.values() if isinstance(value, dict) else value
    return found


def repair_json(text: str) -> Any:
    """Reads almost-JSON: trailing commas, Python's quotes and constants, raw control characters within strings.

    Text that parses is returned as it reads. Only syntax is repaired (a duplicate key stays refused), token by token
    and never by a replacement over the whole text, so that an apostrophe in a string stays one. Nothing is ever
    completed: half an object stays unreadable.

    Raises:
        JsonReadError: The text reads neither as it stands nor after the repair; the reason is that of the last try.
    """
    try:
        return read_json(text)
    except JsonReadError as error:
        if error.reason != "syntax":
            raise
    repaired: list[str] = []
    position = 0
    while position < len(text):
        token = _REPAIR_TOKEN.match(text, position)
        if token is None:
            raise JsonReadError("syntax", position)
        repaired.append(_repair_token(token))
        position = token.end()
    return read_json("".join(repaired))


def replace_lone_surrogates(text: str) -> str:
    """Replaces halves of surrogate pairs by U+FFFD and joins the pairs, so that the text can be encoded as UTF-8."""
    if text.isascii() or not _SURROGATE.search(text):
        return text
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


_FEW = 8
_BLANK = re.compile(r"[ \t\n\r]*")
# A bracket with what may follow it in JSON: prose is passed over at the speed of the search.
_OPENING = re.compile(r"{(?=[ \t\n\r]*[\"}])|\[(?=[ \t\n\r]*[\]\[{\"\-0-9tfnNI])")
_STRING = r'"[^"\\]*(?:\\.[^"\\]*)*"'
_ANY_STRING = re.compile(_STRING, re.DOTALL)
_BRACKET = re.compile(r"[\[\]{}]")
_KEY = re.compile(rf"[ \t\n\r]*({_STRING})[ \t\n\r]*:", re.DOTALL)
_SCALAR = re.compile(rf"{_STRING}|-?[0-9][0-9.eE+-]*|true|false|null|NaN|-?Infinity", re.DOTALL)
_UNTERMINATED = re.compile(r'[ \t\n\r]*"[^"\\]*(?:\\.[^"\\]*)*\\?\Z', re.DOTALL)
_SURROGATE = re.compile("[\ud800-\udfff]")


def _decode(text: str, start: int) -> tuple[Any, int]:
    try:
        value, end = _DECODER.scan_once(text, start)
    except StopIteration as error:
        raise JsonReadError("syntax", start) from error
    # Halves of pairs come from escapes or stand in the text itself; both tests are far cheaper than a search.
    if text.find("\\u", start, end) >= 0 or not text.isascii():
        value = _without_surrogates(value)
    return value, end


def _check_depth(text: str, start: int, end: int) -> None:
    """Refuses a value, sound JSON between the two indices, that is nested too deep."""
    depth = 0
    for bracket in _BRACKET.findall(_ANY_STRING.sub("", text[start:end])):
        depth += 1 if bracket in "[{" else -1
        if depth > MAX_JSON_DEPTH:
            raise _too_deep(text)


def _value_end(text: str, position: int) -> int:
    """Finds the end of a JSON value without recursion, or the place where it stops to be one.

    Strings and numbers are only delimited here; the decoder judges them.

    Raises:
        JsonReadError: ``syntax`` at the first character that no JSON value can have there (a text that ends too early
            fails at its end), or ``too_deep``.
    """
    closers: list[str] = []
    while True:
        # A value begins here, behind blanks.
        position = _BLANK.match(text, position).end()
        character = text[position : position + 1]
        if character == "{" or character == "[":
            if len(closers) == MAX_JSON_DEPTH:
                raise _too_deep(text)
            closers.append("}" if character == "{" else "]")
            position = _BLANK.match(text, position + 1).end()
            if not text.startswith(closers[-1], position):
                if character == "{":
                    position = _key_end(text, position)
                continue
        elif scalar := _SCALAR.match(text, position):
            position = scalar.end()
        else:
            _fail(text, position)
        # A value has ended here, or an empty container is about to.
        while closers:
            position = _BLANK.match(text, position).end()
            character = text[position : position + 1]
            if character == closers[-1]:
                closers.pop()
                position += 1
            elif character == ",":
                position += 1
                if closers[-1] == "}":
                    position = _key_end(text, position)
                break
            else:
                raise JsonReadError("syntax", position)
        else:
            return position


def _too_deep(text: str) -> JsonReadError:
    """The error of a value that is nested too deep: it ends the reading, since every level would be refused again."""
    return JsonReadError("too_deep", len(text))


def _key_end(text: str, position: int) -> int:
    """The index behind an object's next key and its colon."""
    if key := _KEY.match(text, position):
        return key.end()
    _fail(text, position)


def _fail(text: str, position: int) -> NoReturn:
    """Raises ``syntax``. A string without an end swallows the rest: nothing in it is a value of its own."""
    raise JsonReadError("syntax", len(text) if _UNTERMINATED.match(text, position) else position)


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    value = dict(pairs)
    if len(value) != len(pairs):
        # Otherwise a writer could list several values and let the reader choose.
        raise JsonReadError("duplicate_key")
    return value


def _integer(digits: str) -> int:
    if len(digits) > MAX_NUMBER_CHARS:
        raise JsonReadError("number_too_large")
    return int(digits)


def _float(digits: str) -> float:
    value = float(digits)
    if value in (float("inf"), float("-inf")):
        raise JsonReadError("number_too_large")
    return value


def _constant(name: str) -> NoReturn:
    raise JsonReadError("not_a_number")


_DECODER = json.JSONDecoder(
    object_pairs_hook=_object, parse_int=_integer, parse_float=_float, parse_constant=_constant, strict=True
)


def _without_surrogates(value: Any) -> Any:
    """Replaces lone surrogates in all strings of a value (its depth is capped already)."""
    if isinstance(value, str):
        return replace_lone_surrogates(value)
    if isinstance(value, list):
        return [_without_surrogates(item) for item in value]
    if isinstance(value, dict):
        return _object([(replace_lone_surrogates(key), _without_surrogates(item)) for key, item in value.items()])
    return value


_REPAIR_TOKEN = re.compile(
    rf"""(?P<double>{_STRING})
    |(?P<single>'[^'\\]*(?:\\.[^'\\]*)*')
    |(?P<trailing>,(?=[ \t\n\r]*[}}\]]))
    |(?P<word>[A-Za-z]+)
    |[-+.0-9eE]+|[ \t\n\r]+|[{{}}\[\],:]""",
    re.DOTALL | re.VERBOSE,
)
_PYTHON_CONSTANTS = {"True": "true", "False": "false", "None": "null"}
_CONTROL = re.compile(r"[\x00-\x1f]")
_SINGLE_QUOTED_PART = re.compile(r"\\.|\"", re.DOTALL)


def _repair_token(token: re.Match[str]) -> str:
    """The JSON spelling of one token of almost-JSON."""
    text = token.group()
    match token.lastgroup:
        case "trailing":
            return ""
        case "word":
            return _PYTHON_CONSTANTS.get(text, text)
        case "single":
            # The escapes that Python and JSON share keep their meaning; any other is refused by the reader.
            body = _SINGLE_QUOTED_PART.sub(lambda part: {"\\'": "'", '"': '\\"'}.get(part[0], part[0]), text[1:-1])
            text = f'"{body}"'
        case "double":
            pass
        case _:
            return text
    return _CONTROL.sub(lambda control: f"\\u{ord(control[0]):04x}", text)
