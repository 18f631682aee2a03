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
"""Time of scoring every gold turn of BFCL by state and response, in the sandbox, one after another.

    python perf/bfcl_gold_turns.py [--data DIR] [--verdicts FILE.jsonl]

With ``--verdicts`` the lines of a file of official verdicts are scored as well, and the differences are counted.
Seconds are those of the clock: the work is done by the sandbox's processes.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from genenv_verl.benchmarks import get_benchmark
from genenv_verl.benchmarks.base import Record

TARGET_SECONDS = 60.0


def time_gold(records: list[Record]) -> None:
    """Prints how long the gold turns take, and how many of them pass."""
    benchmark = get_benchmark("bfcl")
    turns = [(record, turn, gold) for record in records for turn, gold in enumerate(record.data["gold"])]
    start = time.perf_counter()
    passed = sum(benchmark.score(record, {"turn": turn, "decoded_exec": gold}).score for record, turn, gold in turns)
    seconds = time.perf_counter() - start
    print(f"{len(turns)} gold turns, {passed:.0f} pass: {seconds:.1f} s (target: under {TARGET_SECONDS:.0f} s)")


def compare(records: list[Record], verdicts: Path) -> None:
    """Prints how many verdicts, and how many of their reasons, differ from the official ones."""
    benchmark = get_benchmark("bfcl")
    known = {record.record_id: record for record in records}
    lines = [json.loads(line) for line in verdicts.read_text(encoding="utf-8").splitlines()]
    start, scores, reasons = time.perf_counter(), 0, 0
    for line in lines:
        verdict = benchmark.score(known[line["record_id"]], line)
        official: Mapping[str, Any] = line["official"]["multi_turn"]
        scores += verdict.score != official["valid"]
        reasons += verdict.reason != (official["error_type"] or "ok")
    seconds = time.perf_counter() - start
    print(f"{len(lines)} official verdicts: {scores} scores and {reasons} reasons differ ({seconds:.1f} s)")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, help="the release's folder; the installed bfcl-eval by default")
    parser.add_argument("--verdicts", type=Path)
    arguments = parser.parse_args()
    entries = get_benchmark("bfcl").load(arguments.data)
    time_gold(entries)
    if arguments.verdicts:
        compare(entries, arguments.verdicts)
