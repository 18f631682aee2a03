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
"""Suspected wrong golds of real runs against the truth: the miniature world has a solver.

    python perf/trust_in_miniworld.py RUN [RUN …]

RUN is a run's ``genenv`` folder (``<trainer.default_local_dir>/genenv``). The evidence is computed anew from the
attempts in its task files, so that it works for runs of any age. A line an epoch: attempted tasks, how many of their
golds are wrong, how many are suspected, and how many of those are wrong.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections import Counter
from pathlib import Path

from genenv_verl.curriculum.trust import read_trial, weigh
from genenv_verl.tasks.answer_keys import calls_key
from genenv_verl.tasks.schema import Task, ToolCall

sys.path.insert(0, str(Path(__file__).parents[1] / "examples" / "miniworld"))
import world  # noqa: E402


def has_wrong_gold(task: Task) -> bool:
    """Whether the solver gives another answer, or the goal is none of this world."""
    solution = world.solve(task.context.goal)
    if solution is None:
        return True
    return calls_key([ToolCall.model_validate(call) for call in solution]) != calls_key(task.gold_action or [])


def count(file: Path) -> Counter[str]:
    counts: Counter[str] = Counter()
    for line in file.read_text(encoding="utf-8").splitlines():
        record = json.loads(line)
        scored = [attempt for attempt in record["attempts"] if attempt["scored"]]
        if record["task"] is None or not scored:
            continue
        task = Task.model_validate(record["task"])
        trials = [read_trial(task, attempt["response"], attempt["success"]) for attempt in scored]
        wrong = has_wrong_gold(task)
        suspected = "suspected_wrong_gold" in weigh(task, trials).flags
        counts.update(tasks=1, wrong=wrong, suspected=suspected, hits=wrong and suspected)
        counts.update(attempts=len(trials), successes=sum(trial.success for trial in trials))
    return counts


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("runs", type=Path, nargs="+")
    print("| run | epoch | p̂ | tasks | wrong golds | suspected | of them wrong |")
    print("|---|---|---|---|---|---|---|")
    for run in parser.parse_args().runs:
        for file in sorted((run / "tasks").glob("epoch_*.jsonl")):
            c = count(file)
            rate = c["successes"] / max(1, c["attempts"])
            epoch = int(file.stem.removeprefix("epoch_"))
            print(f"| {run} | {epoch} | {rate:.2f} | {c['tasks']} | {c['wrong']} | {c['suspected']} | {c['hits']} |")


if __name__ == "__main__":
    main()
