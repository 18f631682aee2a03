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
"""From which similarity on a task is a near-duplicate: errors of both kinds on real records.

    GENENV_BENCHMARK_DATA=DIR python perf/novelty_threshold.py [--seeds 3] [--show]

DIR is the folder that holds ``benchmarks/``. For each benchmark and threshold:

- ``flagged``: the records that are flagged as a near-duplicate of an earlier one. They are different records, so each
  is an error, unless the release asks one thing twice in other words. Exact duplicates in the release are left out.
- ``found``: the share of copies that are flagged as a near-duplicate of their original: one word of the goal that is no
  value and no name is replaced by another word (a synonym, as far as hashing can see).
- ``found (please)``: the same where ``Please`` is put before and ``Thank you!`` behind the goal.
"""

from __future__ import annotations

import argparse
import os
import random
import re
from collections.abc import Callable, Iterator
from pathlib import Path

from genenv_verl.benchmarks import get_benchmark
from genenv_verl.tasks.near_duplicates import NoveltyIndex
from genenv_verl.tasks.novelty import fingerprint
from genenv_verl.tasks.schema import Task

THRESHOLDS = (0.5, 0.6, 0.7, 0.8)
SOURCES = (("bfcl_ast", "bfcl"), ("bfcl", "bfcl"), ("apibank", "apibank"), ("bamboogle", "bamboogle"))


def distinct_tasks(name: str, folder: Path) -> list[Task]:
    """The steps of a benchmark as tasks, each goal and gold once."""
    benchmark = get_benchmark(name)
    tasks = [step.task for step in benchmark.steps(benchmark.load(folder))]
    return list({fingerprint(task): task for task in tasks}.values())


def flagged(tasks: list[Task], threshold: float) -> list[tuple[str, str]]:
    """The ids of the tasks that are near-duplicates of an earlier one, and of that one."""
    index = NoveltyIndex((), threshold)
    found = []
    for task in tasks:
        if (twin := index.measure(task, task).near_duplicate_of) is not None:
            found.append((task.task_id, twin))
        index.add(task)
    return found


def found_copies(tasks: list[Task], threshold: float, change: Callable[[str], str | None]) -> tuple[int, int]:
    """How many changed copies are found in the index of all tasks, and how many copies there are."""
    index = NoveltyIndex((), threshold)
    index.rebuild(tasks)
    found = copies = 0
    for task in tasks:
        if (goal := change(task.context.goal)) is not None:
            copy = task.model_copy(update={"context": task.context.model_copy(update={"goal": goal})})
            copies += 1
            found += index.measure(copy, copy).near_duplicate_of is not None
    return found, copies


def one_word_replaced(rng: random.Random) -> Callable[[str], str | None]:
    """Replaces one word in lower case of at least four letters, if there is one."""

    def change(goal: str) -> str | None:
        words = list(re.finditer(r"(?<![\w'])[a-z]{4,}(?![\w'])", goal))
        if not words:
            return None
        word = rng.choice(words)
        return f"{goal[: word.start()]}otherwise{goal[word.end() :]}"

    return change


def politely(goal: str) -> str:
    return f"Please {goal[0].lower()}{goal[1:].rstrip(' .?!')}. Thank you!"


def rows(data: Path, seeds: int, show: bool) -> Iterator[str]:
    for name, folder in SOURCES:
        tasks = distinct_tasks(name, data / "benchmarks" / folder)
        for threshold in THRESHOLDS:
            pairs = flagged(tasks, threshold)
            replaced = [found_copies(tasks, threshold, one_word_replaced(random.Random(seed))) for seed in range(seeds)]
            found, copies = map(sum, zip(*replaced, strict=True))
            polite, all_polite = found_copies(tasks, threshold, politely)
            yield (
                f"| {name} ({len(tasks)}) | {threshold} | {len(pairs)} ({len(pairs) / len(tasks):.1%}) "
                f"| {found / copies:.0%} | {polite / all_polite:.0%} |"
            )
            if show:
                yield from (f"    {task_id} is flagged as {twin}" for task_id, twin in pairs)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, default=os.environ.get("GENENV_BENCHMARK_DATA"))
    parser.add_argument("--seeds", type=int, default=3, help="times that words are drawn")
    parser.add_argument("--show", action="store_true", help="name the flagged pairs")
    arguments = parser.parse_args()
    if arguments.data is None:
        parser.error("give --data, or set GENENV_BENCHMARK_DATA, to the folder that holds benchmarks/")
    print("| records | threshold | flagged | found | found (please) |\n|---|---|---|---|---|")
    for row in rows(arguments.data, arguments.seeds, arguments.show):
        print(row, flush=True)


if __name__ == "__main__":
    main()
