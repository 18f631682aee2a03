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
"""What it costs to find near-duplicates: 1,024 new tasks against a pool of 100,000.

    python perf/novelty_speed.py [--pool 100000] [--new 1024] [--bleu 256] [--peers]

Rows: the building of this package's index, as on resume; features, hashing, look-up, comparison and insertion of each
new task, one after the other, as the trainer does it; and the quadratic way, BLEU between all pairs of some new tasks
alone, as R-Zero measures diversity. The BLEU here is our own, with the same maths (clipped n-gram precisions up to four
words, brevity penalty, 0.1 for a count of zero) and the n-grams of each task counted once, which makes it faster than
one that counts them anew for each pair. ``--peers`` adds datasketch, where it is installed, with the same sets.

Processor time of one process. Goals are filled into four forms, so that many are similar: harder than real text.
"""

from __future__ import annotations

import argparse
import itertools
import math
import random
import resource
import time
from collections import Counter
from collections.abc import Callable
from typing import Any

from genenv_verl.tasks.near_duplicates import NoveltyIndex
from genenv_verl.tasks.schema import Task
from genenv_verl.tasks.task_features import features

FORMS = (
    "Book {n} {adjective} rooms in {city} for {person} from day {m} and mention the {thing} in a {adjective} way.",
    "Could you {verb} the {thing} of {person} and {verb} it to {city} before {n} o'clock, please?",
    "{person} wants to {verb} {n} {adjective} {thing}s. {verb} them in {city} under number {m}.",
    "If the {thing} in {city} is {adjective}, {verb} it {n} times, otherwise {verb} the {thing} of {person}.",
)


def make_task(rng: random.Random, task_id: str) -> Task:
    city, person = f"City{rng.randrange(300)}", f"Name{rng.randrange(300)}"
    values = {"n": rng.randrange(60), "m": rng.randrange(60), "city": city, "person": person}
    goal = rng.choice(FORMS)
    for kind in ("adjective", "verb", "thing"):
        while f"{{{kind}}}" in goal:
            goal = goal.replace(f"{{{kind}}}", f"{kind}{chr(97 + rng.randrange(26))}{chr(97 + rng.randrange(8))}", 1)
    calls = [{"name": f"tool_{rng.randrange(50)}", "arguments": values}]
    return Task.model_validate({"task_id": task_id, "context": {"goal": goal.format(**values)}, "gold_action": calls})


def seconds(work: Callable[[], Any]) -> tuple[float, Any]:
    """Processor time of a piece of work, and its result."""
    start = time.process_time()
    result = work()
    return time.process_time() - start, result


def look_and_add(index: NoveltyIndex, tasks: list[Task], seeds: list[Task]) -> int:
    """Measures each task and takes it in; how many are near-duplicates."""
    found = 0
    for task, seed in zip(tasks, itertools.cycle(seeds), strict=False):
        found += index.measure(task, seed).near_duplicate_of is not None
        index.add(task)
    return found


def bleu_of_all_pairs(tasks: list[Task]) -> float:
    """The mean BLEU over all ordered pairs of goals."""
    words = [task.context.goal.split() for task in tasks]
    grams = [[Counter(zip(*(text[i:] for i in range(n)), strict=False)) for n in range(1, 5)] for text in words]
    total = sum(
        bleu(grams[one], grams[other], len(words[one]), len(words[other]))
        for one, other in itertools.permutations(range(len(tasks)), 2)
    )
    return total / (len(tasks) * (len(tasks) - 1))


def bleu(candidate: list[Counter], reference: list[Counter], length: int, reference_length: int) -> float:
    """BLEU-4 of one sentence with one reference, from the counts of their n-grams."""
    logs = 0.0
    for own, other in zip(candidate, reference, strict=True):
        clipped = sum(min(count, other[gram]) for gram, count in own.items())
        logs += math.log((clipped or 0.1) / max(1, own.total()))
    return math.exp(min(0.0, 1 - reference_length / max(1, length)) + logs / 4)


def datasketch_rows(pool: list[str], new: list[Task]) -> None:
    """datasketch's MinHash and LSH, with as many permutations and bands as ours, over the same sets."""
    try:
        from datasketch import MinHash, MinHashLSH
    except ImportError:
        print("datasketch is not installed")
        return

    def minhash(task: Task) -> MinHash:
        made = MinHash(num_perm=64, hashfunc=int.from_bytes)
        made.update_batch([element.to_bytes(4) for element in features(task).elements.tolist()])
        return made

    lsh = MinHashLSH(num_perm=64, params=(16, 4))
    before = memory()

    def fill() -> None:
        with lsh.insertion_session() as session:
            for task in map(Task.model_validate_json, pool):
                session.insert(task.task_id, minhash(task))

    spent, _ = seconds(fill)
    print(f"{'datasketch: index of the pool':<44}{spent:8.2f} s, {memory() - before:6.0f} MB")
    spent, _ = seconds(lambda: [(lsh.query(its), lsh.insert(t.task_id, its)) for t in new for its in [minhash(t)]])
    print(f"{'datasketch: ' + str(len(new)) + ' new tasks':<44}{spent:8.2f} s")


def memory() -> float:
    """The largest size of this process so far, in MB."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--pool", type=int, default=100_000)
    parser.add_argument("--new", type=int, default=1024)
    parser.add_argument("--bleu", type=int, default=256, help="tasks for the quadratic way")
    parser.add_argument("--peers", action="store_true")
    arguments = parser.parse_args()
    rng = random.Random(0)
    # Text, as on the disk: a run does not hold its pool's tasks in memory.
    pool = [make_task(rng, f"p{number}").model_dump_json() for number in range(arguments.pool)]
    new = [make_task(rng, f"n{number}") for number in range(arguments.new)]
    seeds = [make_task(rng, f"s{number}") for number in range(544)]
    index = NoveltyIndex(seeds, threshold=0.6)
    before = memory()
    spent, _ = seconds(lambda: index.rebuild(map(Task.model_validate_json, pool)))
    print(f"{'index of ' + str(len(pool)) + ' tasks read from JSON':<44}{spent:8.2f} s, {memory() - before:6.0f} MB")
    spent, found = seconds(lambda: look_and_add(index, new, seeds))
    print(f"{str(len(new)) + ' new tasks':<44}{spent:8.2f} s, {found} near-duplicates")
    copies = [Task.model_validate_json(line.replace('"p', '"c', 1)) for line in pool[: arguments.new]]
    spent, found = seconds(lambda: look_and_add(index, copies, seeds))
    print(f"{str(len(copies)) + ' copies of pooled tasks':<44}{spent:8.2f} s, {found} near-duplicates")
    spent, _ = seconds(lambda: index.begin_epoch(set()))
    print(f"{'end of the epoch':<44}{spent:8.2f} s")
    some = new[: arguments.bleu]
    spent, _ = seconds(lambda: bleu_of_all_pairs(some))
    print(f"{'BLEU of all pairs of ' + str(len(some)) + ' tasks':<44}{spent:8.2f} s")
    if arguments.peers:
        datasketch_rows(pool, new)


if __name__ == "__main__":
    main()
