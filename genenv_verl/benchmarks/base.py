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
"""What a benchmark is: one module with one class, registered by name.

A benchmark reads an official release, cuts its records into single steps (GenEnv's tasks are single-step), builds the
prompt of a step, reads a model's response and scores it as the official scorer does. It knows no model and no trainer:
the command line, the evaluation and verl's validation reward all go through the methods of :class:`Benchmark`.

    release --load--> records --steps--> Step --messages--> prompt --(model)--> response --parse--> answer --score-->
"""

from __future__ import annotations

import json
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar

from genenv_verl.benchmarks.harness import Harness
from genenv_verl.tasks.schema import Message, Task

Answer = dict[str, Any]
"""What was answered, in the fields that ``score`` reads (those of the lines of ``genenv-verl score``)."""


class ReleaseError(ValueError):
    """A release that is missing, incomplete or damaged: names the path, and what to download."""


class ScorerUnavailable(RuntimeError):
    """What a scorer runs on is missing on this machine: nothing can be scored. The message says what to install."""


@dataclass(frozen=True)
class Record:
    """One record of a release: all that ``score`` needs beside the answer, and nothing that cannot become JSON.

    It travels as ``reward_model.ground_truth`` of a verl row, so a record is complete in itself; what is too large for
    that (TravelPlanner's database) is named by its path and read once a process.
    """

    record_id: str
    split: str
    data: Mapping[str, Any]


@dataclass(frozen=True)
class Step:
    """One single-step task of a benchmark.

    Attributes:
        step_id: Unique within the benchmark; ``record_id`` alone, or with a turn or step number.
        record: What ``score`` reads.
        task: The step as GenEnv's task instance: context, goal, tools, gold. It is what becomes a training seed.
        answer_fields: Fields of the answer that are known before the model is asked (``turn``, ``history`` …).
    """

    step_id: str
    record: Record
    task: Task
    answer_fields: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Verdict:
    """The score of one answer in [0, 1], the reason in one word or short phrase (``ok`` for a success), and what the
    official scorer reports beside it (``f1``, TravelPlanner's constraints …)."""

    score: float
    reason: str
    details: Mapping[str, Any] = field(default_factory=dict)


class Benchmark(ABC):
    """One benchmark. Subclasses have no state beyond their options and caches, and are registered with ``@register``.

    Attributes:
        name: Its name on the command line, in ``data_source`` and in tables.
        download: One line that says what to download, and from where, when a release is missing.
        official_counts: How many ``counts`` finds in the official release, by split; a split that is not named here may
            hold any number.
        row_options: Options that have another default where steps become rows of verl, which are asked once.
    """

    name: ClassVar[str]
    download: ClassVar[str]
    official_counts: ClassVar[Mapping[str, int]] = {}
    row_options: ClassVar[Mapping[str, Any]] = {}

    @abstractmethod
    def load(self, source: Path | None) -> list[Record]:
        """Reads a release folder; None where the release comes with an installed package. Raises ReleaseError."""

    @abstractmethod
    def steps(self, records: Iterable[Record]) -> Iterable[Step]:
        """Cuts records into single steps, in a fixed order. Options (history shown …) are the instance's."""

    def messages(self, step: Step, harness: Harness | None = None) -> list[Message]:
        """The prompt of a step, in the shared tool-calling harness or in another style or budget."""
        return (harness or Harness()).messages(step.task.context)

    @abstractmethod
    def parse(self, step: Step, response: str) -> Answer:
        """The answer fields of a response. Never raises: what cannot be read is an answer that scores 0."""

    @abstractmethod
    def score(self, record: Record, answer: Mapping[str, Any]) -> Verdict:
        """The official score of an answer. Never raises because of the answer: a crash of the official code is a 0.

        Raises:
            ReleaseError: The record cannot be scored, whatever the answer: the release lacks what that needs.
        """

    @abstractmethod
    def aggregate(self, verdicts: Sequence[tuple[Record, Verdict]]) -> dict[str, float]:
        """The benchmark's official figures in [0, 1] by name; ``score`` is the one of the paper's table. Empty without
        verdicts. A verdict without details (the scorer itself failed) is a failed answer."""

    def episode(self, record: Record) -> str:
        """The episode of a record. Episodes are kept whole when records are set apart for training: the history of a
        later step holds the gold of an earlier one."""
        return record.record_id

    def defect(self, record: Record) -> str | None:
        """Why a record is no fair question (its gold is broken …), or None. It is scored all the same, as the official
        scorer does, but never becomes a training seed."""
        return None

    def json_list(self, path: Path) -> list[Any]:
        """The records of a release file that is one JSON list. Raises ReleaseError: missing, damaged or empty."""
        try:
            entries = json.loads(path.read_text(encoding="utf-8"))
        except FileNotFoundError:
            raise ReleaseError(f"{path} is missing; download {self.download}") from None
        except (OSError, ValueError, RecursionError) as error:
            raise ReleaseError(f"{path} is damaged ({error}); download it again: {self.download}") from None
        if not isinstance(entries, list) or not entries:
            raise ReleaseError(f"{path} is damaged (no list of records); download it again: {self.download}")
        return entries

    def counts(self, records: Sequence[Record]) -> dict[str, int]:
        """What is counted of a release, by split: records, unless the benchmark counts something else."""
        return dict(Counter(record.split for record in records))

    def unofficial_counts(self, counts: Mapping[str, int]) -> dict[str, tuple[int, int]]:
        """The splits of a release that have another count than the official one: their count, and the official one."""
        return {
            split: (counts[split], official)
            for split, official in self.official_counts.items()
            if counts.get(split, official) != official
        }


_REGISTRY: dict[str, type[Benchmark]] = {}


def register(benchmark: type[Benchmark]) -> type[Benchmark]:
    """Class decorator: makes a benchmark known under its name (ValueError if the name is taken)."""
    if benchmark.name in _REGISTRY:
        raise ValueError(f"a benchmark named {benchmark.name!r} is registered already")
    _REGISTRY[benchmark.name] = benchmark
    return benchmark
