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
"""Exact novelty: a task that differs from an earlier one in spacing, letter case or argument order only is not new.

Only goal and gold count. Tool documentation is shared by all tasks of a seed and would make them look alike (SPEC
section 8, contamination).
"""

from __future__ import annotations

import hashlib
import json
import unicodedata
from collections.abc import Iterable
from typing import Any

from genenv_verl.tasks.schema import Task

MAX_WORD_CHARS = 256

# What nobody sees is part of no text.
UNSEEN = dict.fromkeys(map(ord, "\N{ZERO WIDTH SPACE}\N{WORD JOINER}\N{ZERO WIDTH NO-BREAK SPACE}\N{SOFT HYPHEN}"))


def fingerprint(task: Task) -> str:
    """A hash (32 hexadecimal digits) of what a task asks and what solves it.

    Goal and reference are compared in Unicode NFKC, without letter case and with blanks collapsed; the gold is compared
    as JSON, whatever the order of its arguments. Call order counts.
    """
    gold = None if task.gold_action is None else [call.model_dump() for call in task.gold_action]
    content = json.dumps(
        [normalise_text(task.context.goal), normalise_text(task.evaluation.reference or ""), gold], sort_keys=True
    )
    return hashlib.blake2b(content.encode(), digest_size=16).hexdigest()


def normalise_text(text: str) -> str:
    """The text in Unicode NFKC, case-folded, with runs of blanks as one space."""
    return compose(text).casefold()


def compose(text: str) -> str:
    """The text in Unicode NFKC with runs of blanks as one space, and without what is not seen."""
    words = text.split() if text.isascii() else text.translate(UNSEEN).split()
    if not text.isascii():
        # Word by word, since normalisation takes quadratic time in a run of combining marks; no word is that long.
        words = [word if len(word) > MAX_WORD_CHARS else unicodedata.normalize("NFKC", word) for word in words]
    return " ".join(words)


class SeenTasks:
    """The fingerprints of all tasks so far, those of earlier epochs and of the pool among them.

    A hash set: one look-up a task, whatever the size of the pool. It is part of the checkpoint.
    """

    def __init__(self, fingerprints: Iterable[str] = ()):
        self._fingerprints = set(fingerprints)

    def add(self, fingerprint: str) -> None:
        self._fingerprints.add(fingerprint)

    def __contains__(self, fingerprint: object) -> bool:
        return fingerprint in self._fingerprints

    def __len__(self) -> int:
        return len(self._fingerprints)

    def state_dict(self) -> dict[str, Any]:
        return {"fingerprints": sorted(self._fingerprints)}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        self._fingerprints = set(state["fingerprints"])
