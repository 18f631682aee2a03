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
"""Free-text half of R_agent: is it the same answer, and if not, how near is its wording? (GenEnv, Eq. 1: sim(a', a).)

Values are right or wrong, only wording is similar: numbers compare by value and unit, and a reference without any
letter (a time, a date, a list of numbers) earns nothing unless it is met exactly. A false "equal" is worse than a miss,
because the environment is paid for tasks that look solved.
"""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from functools import lru_cache

from rapidfuzz import fuzz

from genenv_verl.rewards.quantity import read_quantity
from genenv_verl.tasks.novelty import UNSEEN

MAX_CHARACTERS = 16_384
"""Longer texts, before or after Unicode normalisation, are only compared for identity: edit distance takes quadratic
time."""

MAX_MARKS = 30
"""Longer runs of combining marks are cut by a joiner, as in Unicode's stream-safe format (UAX #15): sorting a run takes
quadratic time."""

_ASCII_SIGNS = str.maketrans(
    {"\N{MINUS SIGN}": "-", "\N{EN DASH}": "-", "\N{NON-BREAKING HYPHEN}": "-", "\N{FRACTION SLASH}": "/"}
    | dict.fromkeys("‘’‚‛", "'")
    | dict.fromkeys("“”„‟", '"')
)
_POWERS, _INDICES = frozenset("¹²³⁰⁴⁵⁶⁷⁸⁹⁺⁻"), frozenset("₀₁₂₃₄₅₆₇₈₉")
_CIRCLED = re.compile(r"[⓪①-⑳㉑-㉟㊱-㊿]")
_PAIRS = {("(", ")"), ("[", "]"), ("{", "}"), ('"', '"'), ("'", "'"), ("*", "*"), ("_", "_"), ("`", "`")}
_PAIRS |= {("«", "»"), ("»", "«"), ("‹", "›"), ("›", "‹"), ("「", "」"), ("『", "』"), ("《", "》")}
_ENDINGS = frozenset(".,;:!?。、")
# "No. 5" is a number, not a denial.
_NEGATION = re.compile(r"\b(?:not|no(?!\.\s*[0-9]|\s*[0-9]+\b)|never|none|neither|nor|cannot|without)\b|n't\b")
_AROUND_SEPARATOR = re.compile(r" ?([,;:/=]) ?")
# A minus is a sign where nothing but a blank, a bracket or a separator stands before it.
_NUMBER = re.compile(r"((?<![^\s(\[,;:/=])-)?([0-9]{1,3}(?:,[0-9]{3})+(?![0-9])(?:\.[0-9]+)?|[0-9]+(?:\.[0-9]+)?)")


def normalise(text: str) -> str:
    """Removes what does not change an answer: Unicode form, case, spacing, closing and surrounding punctuation.

    Punctuation inside a text stays, and so do signs and a leading decimal point: ``(3.14)`` becomes ``3.14``, ``-5``
    stays ``-5``; a text of punctuation alone stays as it is.
    """
    return _bare(_tidy(text).casefold())


def same_answer(*, predicted: str, gold: str) -> bool | None:
    """Whether two texts give the same answer; None where they differ in wording alone, so that a measure may judge.

    True for texts that are equal once normalised, whatever the blanks around separators (``2,3`` and ``2, 3``), and for
    equal quantities (``1,200 km`` and ``1200 kilometres``). False for an empty text, for two quantities of which value
    or unit differ, for any other text where the reference has no letter, or where numbers or words of negation differ,
    and for texts over ``MAX_CHARACTERS`` that are not identical.

    Args:
        predicted: The answer in the response.
        gold: The reference.
    """
    if _too_long(predicted, gold):
        return predicted == gold
    mine, theirs = _bare(_tidy(predicted)), _bare(_tidy(gold))
    if _too_long(mine, theirs):
        return predicted == gold
    # Quantities first: folding the letter case would make milliwatts of megawatts.
    if (wanted := read_quantity(theirs)) is not None and (given := read_quantity(mine)) is not None:
        return given == wanted
    mine, theirs = _bare(mine.casefold()), _bare(theirs.casefold())
    if not mine or not theirs:
        return False
    if mine == theirs:
        return True
    if _numbers(theirs) != _numbers(mine):
        return False
    # Behind the numbers: "1, 234" is a list, and "1,234" is none.
    if _AROUND_SEPARATOR.sub(r"\1", mine) == _AROUND_SEPARATOR.sub(r"\1", theirs):
        return True
    if not any(map(str.isalpha, theirs)):
        return False
    return None if _negations(theirs) == _negations(mine) else False


def similarity(*, predicted: str, gold: str) -> float:
    """Similarity of an answer to its reference in [0, 1]: 1 exactly if they are the same answer, else by wording.

    Where ``same_answer`` leaves it open, the share of characters that an optimal alignment keeps (rapidfuzz's Indel
    ratio).
    """
    same = same_answer(predicted=predicted, gold=gold)
    if same is not None:
        return float(same)
    # Never 1 by rounding: 1 means "the same answer" to whoever reads a success off it.
    return min(fuzz.ratio(normalise(predicted), normalise(gold)) / 100.0, 0.9999)


def token_f1(*, predicted: str, gold: str) -> float:
    """F1 of the two texts' words in [0, 1], each word counted as often as it occurs; their order does not count.

    Texts over ``MAX_CHARACTERS`` are only compared for identity.

    Args:
        predicted: The answer in the response.
        gold: The reference.
    """
    if _too_long(predicted, gold):
        return float(predicted == gold)
    predicted, gold = normalise(predicted), normalise(gold)
    if _too_long(predicted, gold):
        return float(predicted == gold)
    mine = Counter(normalise(word) for word in predicted.split())
    theirs = Counter(normalise(word) for word in gold.split())
    shared = (mine & theirs).total()
    if shared == 0:
        return 0.0
    return 2 * shared / (mine.total() + theirs.total())


def _too_long(*texts: str) -> bool:
    return any(len(text) > MAX_CHARACTERS for text in texts)


def _negations(text: str) -> int:
    return len(_NEGATION.findall(text))


def _numbers(text: str) -> Counter[str]:
    """The numbers within a text with their signs, grouped thousands and idle zeros removed."""
    return Counter(sign + _plain(digits.replace(",", "")) for sign, digits in _NUMBER.findall(text))


def _plain(digits: str) -> str:
    whole, point, rest = digits.partition(".")
    return (whole.lstrip("0") or "0") + (point + rest).rstrip("0").rstrip(".")


def _tidy(text: str) -> str:
    """Unicode NFKC without making other numbers, ASCII signs and quotes, single blanks, nothing that is not seen."""
    if not text.isascii():
        text = _numerals_apart(_CIRCLED.sub(r"(\g<0>)", text.translate(UNSEEN)))
        text = unicodedata.normalize("NFKC", _stream_safe(text)).translate(_ASCII_SIGNS)
    return " ".join(text.split())


def _numerals_apart(text: str) -> str:
    """Separates numerals that NFKC would join to another number: 10² becomes 10^², 1½ becomes 1 ½, 1₂ becomes 1_₂."""
    pieces, before = [], ""
    for character in text:
        kind = _numeral_kind(character)
        if kind and before and (kind != before or kind == "other"):
            pieces.append({("digit", "power"): "^", ("digit", "other"): " "}.get((before, kind), "_"))
        pieces.append(character)
        before = kind
    return "".join(pieces)


@lru_cache(maxsize=4096)
def _numeral_kind(character: str) -> str:
    """``digit``, ``power``, ``index``, ``other`` for what else NFKC begins or ends with a digit, "" for the rest."""
    if character.isdecimal():
        return "digit"
    if character.isascii():
        return ""
    if character in _POWERS:
        return "power"
    if character in _INDICES:
        return "index"
    form = unicodedata.normalize("NFKC", character)
    return "other" if form[0].isdecimal() or form[-1].isdecimal() else ""


def _stream_safe(text: str) -> str:
    """The text with long runs of combining marks cut, those that NFKC makes among them, in linear time."""
    if len(text) <= MAX_MARKS // 4:  # one character becomes four marks at most
        return text
    pieces, start, run = [], 0, 0
    for place, character in enumerate(text):
        if character.isascii():
            run = 0
            continue
        marks, alone = _marks(character)
        run = run + marks if alone else marks
        if run > MAX_MARKS:
            pieces.append(text[start:place])
            start, run = place, marks
    return "\N{COMBINING GRAPHEME JOINER}".join([*pieces, text[start:]])


@lru_cache(maxsize=4096)
def _marks(character: str) -> tuple[int, bool]:
    """The number of combining marks that NFKD makes of a character, and whether it makes nothing else."""
    form = unicodedata.normalize("NFKD", character)
    marks = sum(map(bool, map(unicodedata.combining, form)))
    return marks, marks == len(form)


def _bare(text: str) -> str:
    """The text without closing and surrounding punctuation, unless it has nothing else."""
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
