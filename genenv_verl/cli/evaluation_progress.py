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
"""What an evaluation shows on the terminal."""

from __future__ import annotations

import asyncio
import signal
from collections import Counter
from collections.abc import Coroutine, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeVar

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn

from genenv_verl.evaluation.results import read_results, write_text
from genenv_verl.evaluation.run import Outcome
from genenv_verl.evaluation.table import WRITERS, measured_row, paper_rows, row_names

T = TypeVar("T")


@contextmanager
def sigterm_like_ctrl_c() -> Iterator[None]:
    """In the block a termination ends the run like Ctrl-C: what was started is ended, what was answered is kept."""

    def interrupt(*_: object) -> None:
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGTERM, interrupt)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


class EvaluationProgress:
    """One bar a benchmark, with failures and the time left. A context manager.

    Args:
        steps: Number of steps by benchmark.
    """

    def __init__(self, steps: Mapping[str, int]):
        self._failed: Counter[str] = Counter()
        self._progress = Progress(
            TextColumn("{task.description}"),
            BarColumn(),
            MofNCompleteColumn(),
            TextColumn("{task.fields[failed]} failed"),
            TimeElapsedColumn(),
            TextColumn("left"),
            TimeRemainingColumn(),
            console=Console(stderr=True),
        )
        self._tasks = {
            name: self._progress.add_task(name, total=total, start=False, failed=0) for name, total in steps.items()
        }

    def __enter__(self) -> EvaluationProgress:
        self._progress.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._progress.stop()

    def watch(self, benchmark: str, outcome: Outcome) -> None:
        """Counts an outcome."""
        task = self._tasks[benchmark]
        self._progress.start_task(task)
        self._failed[benchmark] += outcome.failure is not None
        self._progress.update(task, advance=1, failed=self._failed[benchmark])

    def run(self, work: Coroutine[Any, Any, T]) -> T:
        """Runs the evaluation's coroutine."""
        return asyncio.run(work)


def show_results(out: Path, results: Mapping[str, Mapping[str, Any]]) -> int:
    """Prints what came of each benchmark, writes the run's table beside it, and returns the steps without a verdict."""
    for name, result in results.items():
        figure = "nothing scored" if result["figure"] is None else f"{100 * result['figure']:.1f} % {result['metric']}"
        print(f"genenv: {name}: {figure} over {result['scored_steps']} of {result['steps']} steps")
        for reason, count in result["failures"].items():
            print(f"genenv:   {count} failed ({reason}): {result['failure_examples'][reason]}")
        if result["scorer_errors"]:
            print(f"genenv:   the scorer itself failed at {', '.join(result['scorer_errors'][:20])} (counted as 0)")
        if result["cut_off_answers"]:
            print(f"genenv:   {result['cut_off_answers']} answers were cut off at --max-tokens")
    everything = {out: read_results(out)}
    rows = [*paper_rows(), measured_row(row_names(everything)[out], everything[out])]
    for kind, writer in WRITERS.items():
        write_text(out / f"table.{_ENDINGS[kind]}", writer(rows))
    print(f"genenv: {out}/table.md, table.csv, table.json; {out}/<benchmark>/answers.jsonl, result.json")
    return sum(result["steps"] - result["scored_steps"] for result in results.values())


_ENDINGS = {"markdown": "md", "csv": "csv", "json": "json"}
