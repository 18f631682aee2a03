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
"""An append-only store of JSON records: D_train and D_env (SPEC section 4).

Files in a pool's directory::

    d_train-000000.jsonl    records, one a line; a new segment begins when this one has ``segment_bytes``
    d_train-000001.jsonl
    d_train.commits         one line a batch: {"step", "records", "segment", "bytes"}

A batch is in the pool if and only if its commit line is complete. The records reach the disk first, the commit line
second, so that a process that is killed at any instant leaves either the whole batch or bytes that no commit line
covers. Such bytes are never read, and the next write begins by cutting them off. Opening a pool writes nothing: a
report may read the pool of a run that goes on.
"""

from __future__ import annotations

import json
import os
from array import array
from bisect import bisect_right
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from itertools import groupby
from pathlib import Path
from typing import Any, BinaryIO

MAX_OPEN_FILES = 64  # for reading, a segment each: a long run has thousands of segments

_ID_FIELD = '{"id":'
_decoder = json.JSONDecoder()


class PoolError(Exception):
    """The files of a pool do not hold what its commits, or a checkpoint's marker, say."""


@dataclass(frozen=True, slots=True)
class _Commit:
    """One batch: its step and records, and the size in bytes of its segment once the batch is in."""

    step: int
    records: int
    segment: int
    bytes: int


class Pool:
    """Records with an ``id`` that is unique in the pool; a sequence in the order of appending.

    In memory a record costs its id and eight bytes: a million records fit in some 200 MB. One process writes; others
    may read what was committed when they opened the pool.

    Args:
        directory: The pool's own directory; the first append makes it.
        name: Names the files, and the pool in error messages.
        segment_bytes: Size from which on a segment gets no further batch.

    Raises:
        PoolError: If the files hold less than was committed, or something else.
    """

    def __init__(self, directory: str | os.PathLike[str], name: str, *, segment_bytes: int = 64 * 2**20):
        self.directory = Path(directory)
        self.name = name
        self.segment_bytes = segment_bytes
        self._readers: dict[int, BinaryIO] = {}
        self._load()

    def __len__(self) -> int:
        return len(self._ends)

    def __contains__(self, record_id: object) -> bool:
        return record_id in self._ids

    def __iter__(self) -> Iterator[dict[str, Any]]:
        return (self[index] for index in range(len(self)))

    def __getitem__(self, index: int) -> dict[str, Any]:
        """The record at a position, read from the disk.

        Raises:
            IndexError: If there is no such position.
        """
        if not -len(self) <= index < len(self):
            raise IndexError(f"pool {self.name!r} has {len(self)} records, there is no record {index}")
        index %= len(self)
        start = self._ends[index - 1] if index else 0
        segment = bisect_right(self._segment_starts, start) - 1
        line = os.pread(
            self._reader(segment).fileno(), self._ends[index] - start, start - self._segment_starts[segment]
        )
        return json.loads(line)

    def append(self, records: Sequence[Mapping[str, Any]], *, step: int) -> None:
        """Appends one batch. After the return it is on the disk; killed before, the pool has all of it or nothing.

        Args:
            records: JSON objects, each with a non-empty string ``id``. Any text is safe, unpaired surrogates included.
                No record, no batch.
            step: The agent's step that the batch belongs to.

        Raises:
            ValueError: If an id is missing, or occurs twice, or is in the pool already; if a record is not JSON (NaN
                is not); or if the step lies before that of the last batch: the pool was not cut back on resume.
        """
        if not records:
            return
        if self._commits and step < self._commits[-1].step:
            raise ValueError(
                f"pool {self.name!r} already holds records of step {self._commits[-1].step}, later than {step}; "
                "it has to be cut back to the checkpoint that the run resumes from"
            )
        ids = self._new_ids(records)
        # The id comes first in its line: opening a pool then reads ids without decoding records.
        lines = [_to_line({"id": record["id"], **record}) for record in records]

        segment, size = (self._commits[-1].segment, self._commits[-1].bytes) if self._commits else (0, 0)
        if size >= self.segment_bytes:
            segment, size = segment + 1, 0
        commit = _Commit(step, len(lines), segment, size + sum(map(len, lines)))
        self.directory.mkdir(parents=True, exist_ok=True)
        _write_at(self._segment_path(segment), size, b"".join(lines))
        commit_line = _to_line(asdict(commit))
        _write_at(self._commits_path, self._commits_bytes, commit_line)

        self._commits_bytes += len(commit_line)
        self._add(commit, [len(line) for line in lines], ids)

    def marker(self) -> dict[str, int]:
        """Where the pool stands, for a checkpoint: number of batches, records and bytes. Safe for JSON."""
        return _marker_of(self._commits)

    def cut_back(self, marker: Mapping[str, int]) -> None:
        """Removes all batches after a checkpoint's marker, so that a resumed run writes them anew, without doubles.

        The removed records are gone; the run that resumes generates the same ones again. Killed in between, the pool
        still has all its batches or has lost just the ones to be removed.

        Args:
            marker: What :meth:`marker` returned when the checkpoint was taken.

        Raises:
            PoolError: If the pool has fewer batches than the marker, or others; nothing is removed then.
        """
        kept = self._commits[: marker["batches"]]
        if _marker_of(kept) != dict(marker):
            raise PoolError(
                f"pool {self.name!r} in {self.directory} cannot go back to the checkpoint: it holds {self.marker()}, "
                f"the checkpoint's marker is {dict(marker)}; records are missing or belong to another run"
            )
        if len(kept) == len(self._commits):
            return
        self.close()
        _write_at(self._commits_path, sum(len(_to_line(asdict(commit))) for commit in kept), b"")
        last_segment = kept[-1].segment if kept else -1
        for segment in range(self._commits[-1].segment, last_segment, -1):
            self._segment_path(segment).unlink()
        if kept:
            _write_at(self._segment_path(last_segment), kept[-1].bytes, b"")
        self._load()

    def close(self) -> None:
        """Closes the files that are open for reading; a later read opens them again."""
        for reader in self._readers.values():
            reader.close()
        self._readers.clear()

    @property
    def _commits_path(self) -> Path:
        return self.directory / f"{self.name}.commits"

    def _segment_path(self, segment: int) -> Path:
        return self.directory / f"{self.name}-{segment:06d}.jsonl"

    def _reader(self, segment: int) -> BinaryIO:
        if segment not in self._readers:
            if len(self._readers) == MAX_OPEN_FILES:
                self._readers.pop(next(iter(self._readers))).close()
            self._readers[segment] = open(self._segment_path(segment), "rb", buffering=0)
        return self._readers[segment]

    def _load(self) -> None:
        """Reads the commits and, as far as they reach, the ids and line ends of the segments."""
        self._commits: list[_Commit] = []
        self._commits_bytes = 0
        self._ids: set[str] = set()
        # Positions in the segments laid end to end: where each record ends, and where each segment starts.
        self._ends = array("q")
        self._segment_starts: list[int] = []
        log = self._commits_path.read_bytes() if self._commits_path.exists() else b""
        complete = log[: log.rfind(b"\n") + 1]
        commits = [self._parse_commit(line) for line in complete.splitlines()]
        for segment, batches in groupby(commits, key=lambda commit: commit.segment):
            path = self._segment_path(segment)
            if not path.exists():
                raise PoolError(f"{path} is missing, although records in it were committed")
            with open(path, "rb") as file:
                for commit in batches:
                    self._load_batch(file, commit)
        self._commits_bytes = len(complete)

    def _parse_commit(self, line: bytes) -> _Commit:
        try:
            return _Commit(**json.loads(line))
        except (ValueError, TypeError) as error:
            raise PoolError(f"{self._commits_path}: {line[:200]!r} is no commit line") from error

    def _load_batch(self, file: BinaryIO, commit: _Commit) -> None:
        lines = [file.readline() for _ in range(commit.records)]
        if file.tell() != commit.bytes:
            raise self._damaged(commit)
        try:
            ids = [_decoder.raw_decode(line.decode("ascii"), len(_ID_FIELD))[0] for line in lines]
        except ValueError as error:
            raise self._damaged(commit) from error
        self._add(commit, [len(line) for line in lines], ids)

    def _damaged(self, commit: _Commit) -> PoolError:
        return PoolError(
            f"{self._segment_path(commit.segment)} does not hold the {commit.records} records of step {commit.step} "
            f"that end at byte {commit.bytes}: it was cut or changed after they were committed"
        )

    def _add(self, commit: _Commit, lengths: Sequence[int], ids: Sequence[str]) -> None:
        """Takes a batch that is on the disk into the index."""
        end = self._ends[-1] if self._ends else 0
        if commit.segment == len(self._segment_starts):
            self._segment_starts.append(end)
        for length in lengths:
            end += length
            self._ends.append(end)
        self._ids.update(ids)
        self._commits.append(commit)

    def _new_ids(self, records: Sequence[Mapping[str, Any]]) -> list[str]:
        ids: dict[str, None] = {}
        for record in records:
            record_id = record.get("id")
            if not isinstance(record_id, str) or not record_id:
                raise ValueError(f"pool {self.name!r}: a record needs a non-empty string 'id', got {record_id!r}")
            if record_id in self._ids or record_id in ids:
                raise ValueError(f"pool {self.name!r}: id {record_id!r} is in the pool or in the batch already")
            ids[record_id] = None
        return list(ids)


def _marker_of(commits: Sequence[_Commit]) -> dict[str, int]:
    segment_bytes = {commit.segment: commit.bytes for commit in commits}
    return {
        "batches": len(commits),
        "records": sum(commit.records for commit in commits),
        "bytes": sum(segment_bytes.values()),
    }


def _to_line(record: Mapping[str, Any]) -> bytes:
    # ASCII: an unpaired surrogate is written as its escape and comes back as itself, and no line break is left inside.
    return json.dumps(record, ensure_ascii=True, allow_nan=False, separators=(",", ":")).encode("ascii") + b"\n"


def _write_at(path: Path, position: int, data: bytes) -> None:
    """Makes ``data`` the end of the file from ``position`` on; what stood there is cut off. Returns when it is on disk.

    Raises:
        PoolError: If the file is shorter than ``position``.
    """
    is_new = not path.exists()
    with open(path, "ab") as file:
        if file.tell() < position:
            raise PoolError(f"{path} has {file.tell()} bytes, {position} were committed: somebody else cut it")
        file.truncate(position)
        file.write(data)
        file.flush()
        os.fsync(file.fileno())
    if is_new:
        directory = os.open(path.parent, os.O_RDONLY)
        try:
            os.fsync(directory)
        finally:
            os.close(directory)
