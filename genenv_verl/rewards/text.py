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
"""Free-text half of R_agent: how near is the answer to the reference? (GenEnv, Eq. 1: sim(a', a).)

Values are right or wrong, only wording is similar: numbers compare by value and unit, and a reference without any
letter (a time, a date, a list of numbers) earns nothing unless it is met exactly. A false "equal" is worse than a miss,
because the environment is paid for tasks that look solved.
"""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from decimal import Decimal

from rapidfuzz import fuzz

MAX_CHARACTERS = 16_384
"""Longer texts are only compared for identity: edit distance, and Unicode normalisation of a long run of combining
marks, take quadratic time."""

_MINUS_SIGNS = str.maketrans({"\N{MINUS SIGN}": "-", "\N{EN DASH}": "-", "\N{NON-BREAKING HYPHEN}": "-"})
_PAIRS = {("(", ")"), ("[", "]"), ("{", "}"), ('"', '"'), ("'", "'"), ("“", "”"), ("‘", "’"), ("«", "»"), ("„", "“")}
_PAIRS |= {("*", "*"), ("_", "_"), ("`", "`")}
_ENDINGS = frozenset(".,;:!?。、")

_QUANTITY = re.compile(
    r"""
    (?P<sign>[-+]?)
    (?P<currency>[$€£¥]?)\s?
    (?P<number>(?:[0-9]{1,3}(?:,[0-9]{3})+|[0-9]+)(?:\.[0-9]+)?|\.[0-9]+)
    (?P<exponent>(?:e[-+]?[0-9]{1,3})?)
    \s?
    (?P<unit>(?:[^\W\d_]|[%°$€£¥])[\w/°^]*(?:\s[^\W\d_][\w/°^]*)?)?
    """,
    re.VERBOSE,
)
_MAX_QUANTITY_CHARACTERS = 64


def normalise(text: str) -> str:
    """Removes what does not change an answer: Unicode form, case, spacing, closing and surrounding punctuation.

    Punctuation inside a text stays, and so do signs and a leading decimal point: ``(3.14)`` becomes ``3.14``, ``-5``
    stays ``-5``; a text of punctuation alone stays as it is. Quadratic in the longest run of combining marks: cap
    hostile text at ``MAX_CHARACTERS`` before.
    """
    text = unicodedata.normalize("NFKC", text).casefold().translate(_MINUS_SIGNS)
    text = " ".join(text.split())
    start, end = 0, len(text)
    while start < end:
        if text[end - 1] in _ENDINGS or text[end - 1] == " ":
            end -= 1
        elif text[start] == " ":
            start += 1
        elif end - start > 1 and (text[start], text[end - 1]) in _PAIRS:
            start, end = start + 1, end - 1
        else:
            break
    return text[start:end] or text


def similarity(*, predicted: str, gold: str) -> float:
    """Similarity of an answer to its reference in [0, 1]; 1 exactly if they are the same answer.

    Numbers with a unit are equal if value and unit are (``1,200 km`` and ``1200km``; units are not converted and a
    decimal comma is not read) and score 0 if the values differ. Other texts score the share of characters that an
    optimal alignment keeps (Indel ratio). An empty answer and a text over ``MAX_CHARACTERS`` that is not identical
    score 0.

    Args:
        predicted: The answer in the response.
        gold: The reference.
    """
    if len(predicted) > MAX_CHARACTERS or len(gold) > MAX_CHARACTERS:
        return float(predicted == gold)
    predicted, gold = normalise(predicted), normalise(gold)
    if not predicted or not gold:
        return 0.0
    if predicted == gold:
        return 1.0
    mine, theirs = _quantity(predicted), _quantity(gold)
    if mine is not None and theirs is not None:
        if mine == theirs:
            return 1.0
        if mine[0] != theirs[0]:
            return 0.0
    if not any(character.isalpha() for character in gold):
        return 0.0
    # Never 1 by rounding: 1 means "the same answer" to whoever reads a success off it.
    return min(fuzz.ratio(predicted, gold) / 100.0, 0.9999)


def token_f1(*, predicted: str, gold: str) -> float:
    """F1 of the two texts' words in [0, 1], each word counted as often as it occurs.

    Args:
        predicted: The answer in the response.
        gold: The reference.
    """
    if len(predicted) > MAX_CHARACTERS or len(gold) > MAX_CHARACTERS:
        return float(predicted == gold)
    mine = Counter(normalise(word) for word in normalise(predicted).split())
    theirs = Counter(normalise(word) for word in normalise(gold).split())
    shared = (mine & theirs).total()
    if shared == 0:
        return 0.0
    return 2 * shared / (mine.total() + theirs.total())


def _quantity(text: str) -> tuple[Decimal, str] | None:
    """Value and unit of a normalised text that is one number, or None."""
    if len(text) > _MAX_QUANTITY_CHARACTERS:
        return None
    match = _QUANTITY.fullmatch(text)
    if match is None or (match["currency"] and match["unit"]):
        return None
    value = Decimal(match["sign"] + match["number"].replace(",", "") + match["exponent"])
    unit = match["currency"] or match["unit"] or ""
    return value, unit.replace(" ", "")
