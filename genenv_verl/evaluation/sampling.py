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


def choose_steps(benchmark: Benchmark, records: Sequence[Record], limit: int | None) -> list[Step]:
    """All steps, or ``limit`` of them, in the benchmark's order.

    A limited choice is the same on every machine and spreads over the records: one step of each record before a second
    of any, records and steps in the order of a hash of their ids. A smaller limit chooses a subset of a larger one's.
    """
    if limit is None:
        return list(benchmark.steps(records))
    chosen = sorted(records, key=lambda record: _hash(record.record_id))[:limit]
    ids = {record.record_id for record in chosen}
    ordered: dict[str, list[Step]] = {record.record_id: [] for record in chosen}
    steps = list(benchmark.steps(record for record in records if record.record_id in ids))
    for step in sorted(steps, key=lambda step: _hash(step.step_id)):
        ordered[step.record.record_id].append(step)
    ranked = [(rank, step.step_id) for of_record in ordered.values() for rank, step in enumerate(of_record)]
    ranked.sort(key=lambda pair: pair[0])  # stable: within a rank the records stay in their hashed order
    kept = {step_id for _, step_id in ranked[:limit]}
    return [step for step in steps if step.step_id in kept]


def _hash(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()
