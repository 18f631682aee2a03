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
"""How long TravelPlanner's scorer takes: the database, the 45 gold plans, and one prepared prompt after another.

    python perf/travelplanner_plans.py --source TravelPlanner [--repeats 5]

Processor time, so that other work on the machine does not count; the best of the repeats.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from pathlib import Path

from genenv_verl.benchmarks import get_benchmark
from genenv_verl.benchmarks.travelplanner_database import read_database


def best_seconds(work: Callable[[], object], repeats: int) -> float:
    """The least processor time of several runs."""
    seconds = []
    for _ in range(repeats):
        start = time.process_time()
        work()
        seconds.append(time.process_time() - start)
    return min(seconds)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--source", type=Path, required=True, help="TravelPlanner's folder, with its database")
    parser.add_argument("--repeats", type=int, default=5)
    options = parser.parse_args()

    planner = get_benchmark("travelplanner")
    records = [record for record in planner.load(options.source) if record.data["has_gold"]]
    folder = records[0].data["database"]
    print(f"database: {best_seconds(lambda: read_database(folder), 1):.2f} s, once a process")

    def score_gold_plans() -> None:
        for record in records:
            assert planner.score(record, {"plan": record.data["gold_plan"]}).score == 1

    print(f"{len(records)} gold plans: {best_seconds(score_gold_plans, options.repeats):.3f} s")
    steps = list(planner.steps(records))
    prompts = best_seconds(lambda: [planner.messages(step) for step in steps], options.repeats)
    print(f"{len(steps)} prompts: {prompts:.3f} s")


if __name__ == "__main__":
    main()
