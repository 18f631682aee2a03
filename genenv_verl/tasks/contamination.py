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
"""Whether a generated task overlaps the tasks that the agent is evaluated on (SPEC section 8).

Overlap is the same question, a near-duplicate of the task, or a text that quotes the question at length. What the seeds
say already is none: seeds and evaluation may share a form letter.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np

from genenv_verl.tasks.near_duplicates import NoveltyIndex
from genenv_verl.tasks.novelty import normalise_text
from genenv_verl.tasks.schema import Task
from genenv_verl.tasks.task_features import word_hashes

RUN_WORDS = 13  # As in the contamination study of GPT-3 (Brown et al., 2020, appendix C).
MIN_RUN_WORDS = 8  # A shorter question stands in other texts by chance.

# One row a length, one column a place: the sum of the products with odd factors, modulo 2^64, is a run's hash.
_generator = np.random.default_rng(0x72756E)
_FACTORS = _generator.integers(2**64, size=(RUN_WORDS + 1, RUN_WORDS), dtype=np.uint64) | np.uint64(1)


class EvaluationSet:
    """The tasks that must not be trained on.

    Args:
        tasks: The evaluation tasks.
        seeds: The seed tasks.
        threshold: Jaccard similarity in (0, 1] from which a near-duplicate overlaps; None: near-duplicates do not.
    """

    def __init__(self, tasks: Iterable[Task], seeds: Iterable[Task], threshold: float | None):
        tasks, seeds = list(tasks), list(seeds)
        self._index = NoveltyIndex((), threshold)
        self._index.rebuild(tasks)  # Not as its seeds: two files may give one id to two tasks.
        self._questions = {_question(task): task.task_id for task in tasks}
        self._familiar = {_question(seed) for seed in seeds}
        runs = [_whole_or_runs(word_hashes(task.context.goal)) for task in tasks]
        self._lengths = sorted({length for length, run in runs if len(run)})
        said = [_runs(words, length) for seed in seeds for words in _texts(seed) for length in self._lengths]
        self._runs = np.setdiff1d(_joined([run for _, run in runs]), _joined(said))

    def __len__(self) -> int:
        return len(self._index)

    def same_task(self, task: Task) -> str | None:
        """The id of the evaluation task that asks the same or is a near-duplicate, or None."""
        return self._questions.get(_question(task)) or self._index.measure(task, task).near_duplicate_of

    def overlap(self, task: Task) -> str | None:
        """What a generated task shares with the evaluation, in words, or None."""
        if _question(task) not in self._familiar and (name := self.same_task(task)) is not None:
            return f"asks what the evaluation task {name!r} asks"
        for words in _texts(task):
            for length in self._lengths:
                if _any_in(_runs(words, length), self._runs):
                    return f"quotes {length} words of an evaluation question"
        return None


def _question(task: Task) -> tuple[str, ...]:
    """What makes two prompts the same question: the goal and the turns before it."""
    return (normalise_text(task.context.goal), *(normalise_text(turn.content) for turn in task.context.history))


def _texts(task: Task) -> list[np.ndarray]:
    context = task.context
    texts = (context.goal, context.system, *context.constraints, *(turn.content for turn in context.history))
    return [word_hashes(text) for text in texts]


def _whole_or_runs(words: np.ndarray) -> tuple[int, np.ndarray]:
    """The runs by which a question is recognised: of 13 words each, or the whole of a shorter one; their length."""
    length = min(len(words), RUN_WORDS)
    return length, _runs(words, length) if length >= MIN_RUN_WORDS else np.empty(0, np.uint64)


def _runs(words: np.ndarray, length: int) -> np.ndarray:
    """The hashes (uint64) of all runs of ``length`` words."""
    if len(words) < length:
        return np.empty(0, np.uint64)
    windows = np.lib.stride_tricks.sliding_window_view(words.astype(np.uint64), length)
    return (windows * _FACTORS[length, :length]).sum(axis=1, dtype=np.uint64)


def _any_in(values: np.ndarray, ascending: np.ndarray) -> bool:
    if not len(ascending):
        return False
    places = np.minimum(np.searchsorted(ascending, values), len(ascending) - 1)
    return bool((ascending[places] == values).any())


def _joined(runs: Sequence[np.ndarray]) -> np.ndarray:
    return np.unique(np.concatenate([np.empty(0, np.uint64), *runs]))
