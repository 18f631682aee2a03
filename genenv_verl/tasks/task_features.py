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
"""What a task asks and what solves it, as sets of numbers that can be compared fast.

Only goal and gold count: tool documentation is shared by all tasks of a seed (SPEC section 8). Words that carry a value
are told apart from wording. "Add 3 and 5" and "Add 4 and 7" are two tasks although they share most words, "Add 3 and 5"
and "Please add 3 and 5" are one. A value is a number or sign, a word of the gold's short values, or a word with a
capital inside a sentence (a name).
"""

from __future__ import annotations

import hashlib
import itertools
import re
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from genenv_verl.tasks.novelty import MAX_WORD_CHARS, compose, normalise_text
from genenv_verl.tasks.schema import Task

MAX_WORDS = 2000  # of a goal, and of a gold: longer texts are judged by their beginning
SHORT_VALUE_WORDS = 4  # a longer text in a gold is wording: a message, a query

# A number, a sign of arithmetic, one character of a script without blanks (kana, ideographs), or a run of letters.
_SIGNS = r"\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff"
_WORD = re.compile(rf"-?\d+(?:[.,]\d+)*|[+*/=<>%^×÷±−]|[{_SIGNS}]|[^\W\d_{_SIGNS}]+")
_WORD_OR_END = re.compile(rf"{_WORD.pattern}|[.!?:;]")
_SENTENCE_ENDS = frozenset(".!?:;")


@dataclass(frozen=True, slots=True)
class TaskFeatures:
    """A task's hashes.

    Attributes:
        words: The goal's words in their order, uint32.
        is_value: Which of the words carry a value, bool, as long as ``words``.
        elements: The set that Jaccard similarity is taken over, uint32, ascending: words, pairs of neighbours, and the
            gold's parts.
        gold: Of the gold's calls and short values. Tasks whose gold differs are different tasks.
        values_key: Of the gold and the goal's values.
        template: Of the goal's wording and the gold's form, values left out.
        ordered: Whether the order of the goal's values matters: with calls, the gold says which value is which.
    """

    words: np.ndarray
    is_value: np.ndarray
    elements: np.ndarray
    gold: int
    values_key: int
    template: int
    ordered: bool


def features(task: Task) -> TaskFeatures:
    """The hashes of a task, in time linear in goal and gold."""
    calls = _gold_calls(task)
    leaves = [leaf for call in calls for leaf in call]
    # A goal of nothing but signs, an emoji say, is one word.
    tokens = _words(task.context.goal) or [(normalise_text(task.context.goal)[:MAX_WORD_CHARS], True)]
    gold_words = {word for leaf in leaves if leaf.is_short for word in _plain_words(leaf.text)}
    marks = [is_value or word in gold_words for word, is_value in tokens]
    words = [_hash(word) for word, _ in tokens]
    elements = {*words, *_pairs(words), *map(_hash, _gold_texts(leaves))}
    gold = _wide_hash(
        sorted(sorted((leaf.path, leaf.text if leaf.is_short else "") for leaf in call) for call in calls)
    )
    return TaskFeatures(
        words=np.array(words, np.uint32),
        is_value=np.array(marks, bool),
        elements=np.array(sorted(elements), np.uint32),
        gold=gold,
        values_key=_wide_hash([gold, sorted(itertools.compress(words, marks))]),
        template=_wide_hash([_wording(words, marks), sorted(sorted({leaf.path for leaf in call}) for call in calls)]),
        ordered=not task.gold_action,
    )


class _Leaf(NamedTuple):
    """One value of a gold: where it stands, its text in normal form, and whether it is short enough to be a value."""

    path: str
    text: str
    is_short: bool


def _leaf(path: str, text: str) -> _Leaf:
    return _Leaf(path, text, text.count(" ") < SHORT_VALUE_WORDS)


def _gold_calls(task: Task) -> list[list[_Leaf]]:
    """The leaves of each call of the gold, and of the gold of a task without calls."""
    calls = [
        [_leaf(call.name, ""), *itertools.islice(_leaves(call.name, call.arguments), MAX_WORDS)]
        for call in task.gold_action or ()
    ]
    texts = {"reference": task.evaluation.reference}
    if task.gold_action is None:
        texts["checker"] = task.evaluation.checker
    return [*calls, [_leaf(f"<{name}>", normalise_text(text)) for name, text in texts.items() if text is not None]]


def _leaves(path: str, value: Any) -> Iterator[_Leaf]:
    if isinstance(value, dict):
        for key, inner in value.items():
            yield from _leaves(f"{path}/{key}", inner)
    elif isinstance(value, list):
        for inner in value:
            yield from _leaves(f"{path}/", inner)
    elif isinstance(value, str):
        yield _leaf(path, normalise_text(value))
    elif isinstance(value, float) and value.is_integer():
        yield _leaf(path, str(int(value)))  # 1 and 1.0 are one number.
    else:
        yield _leaf(path, str(value))


def _gold_texts(leaves: list[_Leaf]) -> Iterator[str]:
    for leaf in leaves:
        if leaf.is_short:
            yield f"{leaf.path}={leaf.text}"
        else:
            yield from (f"{leaf.path}~{word}" for word in _plain_words(leaf.text))


def word_hashes(text: str) -> np.ndarray:
    """The hashes (uint32) of a text's words in their order, whatever their case; of the first ``MAX_WORDS``."""
    return np.array([_hash(word) for word in _plain_words(normalise_text(text))], np.uint32)


def _plain_words(text: str) -> list[str]:
    """The words of a text in normal form."""
    return [match[0][:MAX_WORD_CHARS] for match in itertools.islice(_WORD.finditer(text), MAX_WORDS)]


def _words(text: str) -> list[tuple[str, bool]]:
    """The words of a text in lower case, and whether each is a value by its looks."""
    found = []
    begins_sentence = True
    for match in itertools.islice(_WORD_OR_END.finditer(compose(text)), MAX_WORDS):
        word = match[0]
        if word in _SENTENCE_ENDS:
            begins_sentence = True
        else:
            is_name = word[0].isupper() and not begins_sentence and word != "I"
            found.append((word[:MAX_WORD_CHARS].casefold(), is_name or not word[0].isalpha()))
            begins_sentence = False
    return found


def _pairs(words: list[int]) -> Iterator[int]:
    """A hash of each two neighbours: Jaccard similarity over single words alone does not see their order."""
    return ((first * 0x9E3779B1 ^ second * 0x85EBCA6B) & 0xFFFFFFFF for first, second in itertools.pairwise(words))


def _wording(words: list[int], marks: list[bool]) -> list[int]:
    """The goal with each run of values as one zero."""
    masked = [0 if mark else word for word, mark in zip(words, marks, strict=True)]
    return masked[:1] + [word for before, word in itertools.pairwise(masked) if word or before]


def _hash(text: str) -> int:
    return zlib.crc32(text.encode("utf-8", "surrogatepass"))


def _wide_hash(value: Any) -> int:
    return int.from_bytes(hashlib.blake2b(repr(value).encode(), digest_size=8).digest(), "big")
