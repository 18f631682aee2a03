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
"""Turns a release into the files of a run: verl's parquet for validation and training, and seed tasks.

Records for training are those of the release's own ``train`` split. Where it has none, a share of its episodes is set
apart, whole episodes and never a part of one, and leaves the validation file: nothing that is trained on is validated
on. The same release and options give the same bytes.
"""

from __future__ import annotations

import hashlib
import os
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from genenv_verl.benchmarks.base import Benchmark, Record, ReleaseError, Step
from genenv_verl.benchmarks.harness import Harness
from genenv_verl.benchmarks.rows import step_row
from genenv_verl.tasks.records import write_tasks

TRAIN_SPLIT = "train"


@dataclass(frozen=True)
class Prepared:
    """What was written.

    Attributes:
        counts: What the release holds, by split (``Benchmark.counts``).
        rows: Rows or tasks by file name; a file without any is not written.
        left_out: Steps that were set apart for training but have a defect, by defect.
        too_long: Prompts that do not fit although their tool results are cut.
    """

    counts: dict[str, int]
    rows: dict[str, int]
    left_out: dict[str, int]
    too_long: int


def prepare(
    benchmark: Benchmark,
    source: Path | None,
    out: Path,
    *,
    train_share: float = 0.2,
    harness: Harness | None = None,
    partial: bool = False,
) -> Prepared:
    """Writes ``validation.parquet``, ``train.parquet`` and ``seeds.jsonl`` into a folder.

    Args:
        benchmark: The benchmark, with its options.
        source: The release's folder; None where it comes with an installed package.
        out: The folder, made if it is missing. Files of an earlier call are replaced.
        train_share: Share of the episodes, in [0, 1), that is set apart where the release has no training split.
        harness: Prompt style and token budget.
        partial: Whether a release with other counts than the official one is taken.

    Raises:
        ReleaseError: The release is missing, damaged or incomplete.
        OSError: A file cannot be written.
        ValueError: ``train_share`` is out of range.
    """
    if not 0.0 <= train_share < 1.0:
        raise ValueError(f"train_share is {train_share}, which is not in [0, 1)")
    records, harness = benchmark.load(source), harness or Harness()
    counts = benchmark.counts(records)
    if not partial:
        check_counts(benchmark, counts, source)
    chosen = _training_episodes(benchmark, records, train_share)
    train, validation, left_out = [], [], Counter()
    for step in benchmark.steps(records):
        if benchmark.episode(step.record) not in chosen:
            validation.append(step)
        elif defect := benchmark.defect(step.record):
            left_out[defect] += 1
        else:
            train.append(step)
    if not train and not validation:
        raise ReleaseError(f"{source or benchmark.name} holds no step; download {benchmark.download}")
    out.mkdir(parents=True, exist_ok=True)
    too_long = _write_rows(out / "validation.parquet", benchmark, validation, harness)
    too_long += _write_rows(out / "train.parquet", benchmark, train, harness)
    _write_seeds(out / "seeds.jsonl", train)
    rows = {"validation.parquet": len(validation), "train.parquet": len(train), "seeds.jsonl": len(train)}
    return Prepared(counts, rows, dict(left_out), too_long)


def check_counts(benchmark: Benchmark, counts: Mapping[str, int], source: Path | None) -> None:
    """Compares a release with the official one, in the splits that it has.

    Raises:
        ReleaseError: A split has another count.
    """
    for split, (count, official) in benchmark.unofficial_counts(counts).items():
        raise ReleaseError(
            f"{source or benchmark.name}: split {split} has {count:,}, the official release {official:,}; "
            f"download it again ({benchmark.download}), or take it as it is with --partial"
        )


def _training_episodes(benchmark: Benchmark, records: Sequence[Record], share: float) -> set[str]:
    own = {benchmark.episode(record) for record in records if record.split == TRAIN_SPLIT}
    if own:
        return own
    # In the order of a hash: an even sample, the same whatever the order of the records.
    episodes = sorted({benchmark.episode(record) for record in records}, key=_shuffled)
    return set(episodes[: int(share * len(episodes))])


def _shuffled(episode: str) -> bytes:
    return hashlib.blake2b(episode.encode()).digest()


def _write_rows(path: Path, benchmark: Benchmark, steps: Sequence[Step], harness: Harness) -> int:
    """Writes the rows of steps, or removes the file if there are none; returns how many prompts are too long."""
    prompts = [benchmark.messages(step, harness) for step in steps]
    rows = [
        step_row(benchmark.name, step, prompt, split=path.stem, index=index)
        for index, (step, prompt) in enumerate(zip(steps, prompts, strict=True))
    ]
    if rows:
        draft = path.with_name(path.name + ".tmp")
        pq.write_table(pa.Table.from_pylist(rows), draft)
        os.replace(draft, path)
    else:
        path.unlink(missing_ok=True)
    return sum(not harness.fits(prompt) for prompt in prompts)


def _write_seeds(path: Path, steps: Sequence[Step]) -> None:
    if steps:
        write_tasks(path, [step.task for step in steps])
    else:
        path.unlink(missing_ok=True)
