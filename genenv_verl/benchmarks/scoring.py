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
"""Scores a file of answers: one verdict a line, in the order of the lines.

A line that cannot be scored (no JSON, no or an unknown ``record_id``) gets a verdict as well, with score 0 and its
reason, and is counted apart: it says nothing about the model. So does a fault of a scorer.
"""

from __future__ import annotations

import errno
import json
import logging
import os
import shutil
import stat
import tempfile
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NoReturn, TextIO

from genenv_verl.benchmarks.base import Benchmark, Record, ReleaseError, ScorerUnavailable, Verdict

logger = logging.getLogger(__name__)


@dataclass
class Summary:
    """What a file of answers came to.

    Attributes:
        lines: Lines of the file, blank ones left out.
        unattributed: Lines without a verdict on the model, by reason.
        scorer_errors: ``id``, ``record_id`` and ``error`` of every answer at which the scorer itself failed.
        verdicts: The verdicts of all other lines.
    """

    lines: int = 0
    unattributed: dict[str, int] = field(default_factory=dict)
    scorer_errors: list[dict[str, Any]] = field(default_factory=list)
    verdicts: list[tuple[Record, Verdict]] = field(default_factory=list)

    def as_dict(self, benchmark: Benchmark, release_records: int) -> dict[str, Any]:
        """The summary as it is printed: the aggregate, and what stands behind it."""
        return {
            "benchmark": benchmark.name,
            **benchmark.aggregate(self.verdicts),
            "scored_lines": len(self.verdicts),
            "scored_records": len({record.record_id for record, _ in self.verdicts}),
            "release_records": release_records,
            "unattributed_lines": self.unattributed,
            "scorer_errors": self.scorer_errors,
        }


def score_file(benchmark: Benchmark, records: Iterable[Record], outputs: Path, out: Path) -> Summary:
    """Scores the lines of ``outputs`` into ``out``, which appears whole or not at all.

    What is there and no plain file (``/dev/stdout``, a pipe, a link) is not replaced: it is written into at the end.
    Each line of ``out`` holds ``id``, ``score``, ``reason`` and the verdict's details.

    Raises:
        OSError: A file cannot be read or written.
        ReleaseError: A record that is answered cannot be scored with what the release holds.
        ScorerUnavailable: This machine lacks what the scorer runs on.
    """
    known = {record.record_id: record for record in records}
    summary = Summary()
    with outputs.open("rb") as lines, _appearing(out) as verdicts:
        for verdict in _score_lines(benchmark, known, lines, summary):
            verdicts.write(json.dumps(verdict) + "\n")
    return summary


@contextmanager
def _appearing(out: Path) -> Iterator[TextIO]:
    """A file to write into that becomes ``out`` at the end of the block, and is nothing after an exception."""
    if out.is_dir():
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), str(out))
    if os.path.lexists(out) and not stat.S_ISREG(out.lstat().st_mode):
        with tempfile.TemporaryFile("w+", encoding="utf-8") as draft:
            yield draft
            draft.seek(0)
            # opened anew, a file that the shell made of our output would begin anew as well
            is_our_output = out.exists() and os.path.samestat(out.stat(), os.fstat(1))
            with open(os.dup(1) if is_our_output else out, "w", encoding="utf-8") as target:
                shutil.copyfileobj(draft, target)
        return
    out.parent.mkdir(parents=True, exist_ok=True)
    path = out.with_name(out.name + ".tmp")
    try:
        with path.open("w", encoding="utf-8") as draft:
            yield draft
        os.replace(path, out)
    finally:
        path.unlink(missing_ok=True)


def _score_lines(
    benchmark: Benchmark, known: Mapping[str, Record], lines: Iterable[bytes], summary: Summary
) -> Iterator[dict[str, Any]]:
    for number, line in enumerate(lines, start=1):
        if not line.strip():
            continue
        summary.lines += 1
        answer, fault = _read_answer(line, known)
        verdict_id = answer.get("id")
        if not isinstance(verdict_id, str | int):
            verdict_id = None
        if fault:
            summary.unattributed[fault] = summary.unattributed.get(fault, 0) + 1
            yield {"id": verdict_id, "score": 0, "reason": f"{fault}: line {number}"}
            continue
        record = known[answer["record_id"]]
        verdict = _score(benchmark, record, answer, verdict_id, summary)
        yield {"id": verdict_id, "score": _number(verdict.score), "reason": verdict.reason, **verdict.details}


def _read_answer(line: bytes, known: Mapping[str, Record]) -> tuple[dict[str, Any], str | None]:
    """The answer of a line, and why it cannot be scored, if so."""
    try:
        answer = json.loads(line.decode("utf-8-sig"), parse_constant=_refuse)
    except (ValueError, RecursionError):
        return {}, "not_json"
    if not isinstance(answer, dict):
        return {}, "not_an_object"
    if "record_id" not in answer:
        return answer, "no_record_id"
    record_id = answer["record_id"]
    return answer, None if isinstance(record_id, str) and record_id in known else "unknown_record"


def _score(
    benchmark: Benchmark, record: Record, answer: Mapping[str, Any], verdict_id: str | int | None, summary: Summary
) -> Verdict:
    """The verdict on an answer; a fault of the scorer is a 0 that names the exception."""
    try:
        verdict = benchmark.score(record, answer)
    except (ReleaseError, ScorerUnavailable):  # No answer to this record can be scored: no file of zeros.
        raise
    except Exception as error:  # The boundary where one broken record must not end the run; it is reported by its id.
        logger.warning("the scorer of %s failed at record %s", benchmark.name, record.record_id, exc_info=True)
        verdict = Verdict(0.0, f"scorer_error:{type(error).__name__}")
        summary.scorer_errors.append(
            {"id": verdict_id, "record_id": record.record_id, "error": f"{type(error).__name__}: {error}"}
        )
    summary.verdicts.append((record, verdict))
    return verdict


def _number(score: float) -> int | float:
    """0 and 1 as integers, as the official files have them."""
    return int(score) if score in (0, 1) else score


def _refuse(constant: str) -> NoReturn:
    raise ValueError(f"{constant} is no JSON")
