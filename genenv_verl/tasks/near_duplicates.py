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
"""How new a task is: its nearest relative among seeds, pool and epoch, found by hashing.

Two tasks are near-duplicates if the same calls or answer solve them, their goals name the same values, and the Jaccard
similarity of their words and gold reaches a threshold: a paraphrase is one, a new city or number is none. How often one
template was filled with new values is counted apart.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Container, Iterable, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from genenv_verl.tasks.minhash import KeyIndex, band_keys
from genenv_verl.tasks.schema import Task
from genenv_verl.tasks.task_features import TaskFeatures, features

MAX_COMPARISONS = 100  # of one task with others, whatever the size of the pool


@dataclass(frozen=True, slots=True)
class Novelty:
    """What is new about a task.

    Attributes:
        similarity: Jaccard similarity in [0, 1] to the nearest of seeds, pool and the epoch's valid tasks so far. Of
            pairs below 0.5 the nearest is found most of the time, of pairs above 0.7 practically always.
        nearest: That task's id; None if nothing is similar.
        seed_similarity: Jaccard similarity in [0, 1] to the task's own seed; 1 minus it is the distance from the seed.
        near_duplicate_of: The id of the most similar task that this one is a near-duplicate of, or None.
        template_uses: How many valid tasks of pool and epoch fill the same template.
        repeated: Whether it is a near-duplicate of any task so far, those of the epoch that are not valid among them.
            If near-duplicates are not looked for, whether it says the same word for word.
    """

    similarity: float
    nearest: str | None
    seed_similarity: float
    near_duplicate_of: str | None
    template_uses: int
    repeated: bool

    def to_json(self) -> dict[str, Any]:
        return asdict(self)


@dataclass(frozen=True, slots=True)
class _Entry:
    """A task in the index."""

    task_id: str
    features: TaskFeatures
    valid: bool


class NoveltyIndex:
    """All tasks that a new one is compared with: the seeds, the pool and the epoch's tasks so far.

    It lives in memory, some 1.5 kB a task, and is rebuilt from seeds and pool when a run resumes.

    Args:
        seeds: The seed tasks.
        threshold: Jaccard similarity in (0, 1] from which a task with the same gold and values is a near-duplicate.
            None: none is.
    """

    def __init__(self, seeds: Iterable[Task], threshold: float | None):
        self.threshold = threshold
        self._seeds = {task.task_id: features(task) for task in seeds}
        self._last: tuple[Task, tuple[TaskFeatures, np.ndarray]] | None = None
        self.rebuild(())

    def __len__(self) -> int:
        return len(self._entries)

    def rebuild(self, pool: Iterable[Task]) -> None:
        """Begins anew with the seeds and a pool's tasks."""
        self._entries: list[_Entry] = []
        self._keys = KeyIndex()
        self._templates: Counter[int] = Counter()
        self._settle([_Entry(task_id, its, True) for task_id, its in self._seeds.items()])
        self._templates.clear()  # Counted are the environment's own tasks.
        self._settle([_Entry(task.task_id, features(task), True) for task in pool])

    def begin_epoch(self, pool: Container[str]) -> None:
        """Keeps, of the last epoch's tasks, those that came into the pool."""
        recent = self._entries[self._settled :]
        del self._entries[self._settled :]
        self._keys.forget_recent()
        self._templates.subtract(entry.features.template for entry in recent if entry.valid)
        self._settle([entry for entry in recent if entry.valid and entry.task_id in pool])

    def measure(self, task: Task, seed: Task) -> Novelty:
        """How new a task is that was written from ``seed``. Compares it with at most ``MAX_COMPARISONS`` others."""
        own, keys = self._hashes(task)
        related = [self._entries[number] for number in self._keys.look_up(keys, limit=MAX_COMPARISONS).tolist()]
        similarities = _similarities(own, [entry.features for entry in related])
        order = np.argsort(-similarities, kind="stable").tolist()
        nearest = next((place for place in order if related[place].valid), None)
        twins = [
            related[place]
            for place in order[: np.count_nonzero(similarities >= (self.threshold or 1.0))]
            if same_values(own, related[place].features)
        ]
        its_seed = self._seeds.get(seed.task_id) or features(seed)
        near_duplicates = [entry.task_id for entry in twins if entry.valid and self.threshold is not None]
        return Novelty(
            similarity=0.0 if nearest is None else similarities[nearest].item(),
            nearest=None if nearest is None else related[nearest].task_id,
            seed_similarity=_similarities(own, [its_seed]).item(),
            near_duplicate_of=near_duplicates[0] if near_duplicates else None,
            template_uses=self._templates[own.template],
            repeated=bool(twins),
        )

    def add(self, task: Task, *, valid: bool = True) -> None:
        """Takes a task of the epoch in. One that is not valid counts for ``Novelty.repeated`` only."""
        its, keys = self._hashes(task)
        self._keys.add(len(self._entries), keys)
        self._entries.append(_Entry(task.task_id, its, valid))
        self._templates[its.template] += valid

    def _hashes(self, task: Task) -> tuple[TaskFeatures, np.ndarray]:
        """Features and keys of a task; those of the last one are kept, since it is measured and then added."""
        if self._last is None or self._last[0] is not task:
            its = features(task)
            self._last = task, (its, _keys(its))
        return self._last[1]

    def _settle(self, entries: list[_Entry]) -> None:
        """Takes in tasks that stay."""
        self._keys.extend(len(self._entries), [_keys(entry.features) for entry in entries])
        self._entries += entries
        self._templates.update(entry.features.template for entry in entries)
        self._settled = len(self._entries)


def same_values(first: TaskFeatures, second: TaskFeatures) -> bool:
    """Whether two tasks have the same gold and their goals name the same values.

    A word is a value if it is one in either goal.
    """
    if first.gold != second.gold:
        return False
    values = np.concatenate([first.words[first.is_value], second.words[second.is_value]])
    one, other = (its.words[np.isin(its.words, values)] for its in (first, second))
    if not first.ordered:  # The gold says which value is which.
        one, other = np.unique(one), np.unique(other)
    return np.array_equal(one, other)


def _similarities(own: TaskFeatures, others: Sequence[TaskFeatures]) -> np.ndarray:
    """Jaccard similarities of one task's elements with those of others, in one pass over all of them."""
    if not others:
        return np.empty(0)
    sizes = np.array([len(its.elements) for its in others])
    elements = np.concatenate([its.elements for its in others])
    places = np.searchsorted(own.elements[:-1], elements)  # The last place is that of all that is larger.
    shared = np.add.reduceat(own.elements[places] == elements, np.cumsum(sizes) - sizes, dtype=np.int64)
    return shared / (sizes + len(own.elements) - shared)


def _keys(its: TaskFeatures) -> np.ndarray:
    """Band keys; one of gold and values, which finds near-duplicates also where thousands share a template; and one of
    the template, since short tasks of one template can share few words."""
    return np.append(band_keys(its.elements), np.array([its.values_key, its.template], np.uint64))
