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
"""Which steps of a benchmark are asked, when not all are."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence

from genenv_verl.benchmarks.base import Benchmark, Record, Step
from genenv_verl.benchmarks.prepare import TRAIN_SPLIT


def by_use(records: Sequence[Record]) -> tuple[list[Record], list[Record]]:
    """The records that a model is judged by, and those of the release's training split."""
    judged = [record for record in records if record.split != TRAIN_SPLIT]
    return judged, [record for record in records if record.split == TRAIN_SPLIT]


def choose_steps(benchmark: Benchmark, records: Sequence[Record], limit: int | None) -> list[Step]:
    """All steps, or ``limit`` of them, in the benchmark's order.

    A limited choice is the same on every machine and spreads over the records: one step of each record before a second
    of any, records and steps in the order of a hash of their ids. A smaller limit chooses a subset of a larger one's.
    """
    if limit is None:
        return list(benchmark.steps(records))
    shuffled = sorted(enumerate(records), key=lambda pair: _hash(pair[1].record_id))
    ranked: list[tuple[int, int, tuple[int, int], Step]] = []  # rank within the record, record, place in the benchmark
    used, start, size = 0, 0, limit
    while used < limit and start < len(shuffled):  # cutting can be slow: no more records than it takes
        places = {record.record_id: place for place, record in shuffled[start : start + size]}
        for record_id, steps in _steps_by_record(benchmark, [records[place] for place in places.values()]).items():
            by_hash = sorted(enumerate(steps), key=lambda pair: _hash(pair[1].step_id))
            ranked += [(rank, used, (places[record_id], at), step) for rank, (at, step) in enumerate(by_hash)]
            used += 1
        start, size = start + size, 4 * size
    chosen = sorted(ranked, key=lambda entry: entry[:2])[:limit]
    return [step for *_, step in sorted(chosen, key=lambda entry: entry[2])]


def _steps_by_record(benchmark: Benchmark, records: Sequence[Record]) -> dict[str, list[Step]]:
    """The steps of each record that has some, in the order of the records."""
    steps: dict[str, list[Step]] = {}
    for step in benchmark.steps(records):
        steps.setdefault(step.record.record_id, []).append(step)
    return steps


def _hash(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()
