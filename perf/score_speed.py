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
"""How many answers one core scores in a second.

    python perf/score_speed.py [--seconds 1.0]

One row a benchmark, over right, wrong and malformed answers to records written here; a row for verl's entry point
(``compute_score`` on a prepared row) beside each. Processor time, so that other work on the machine does not count.
"""

from __future__ import annotations

import argparse
import itertools
import json
import time
from collections.abc import Callable, Iterator, Sequence

from genenv_verl.benchmarks import get_benchmark
from genenv_verl.benchmarks.base import Record
from genenv_verl.benchmarks.rows import step_row
from genenv_verl.rewards.compute_score import compute_score

GOLD = {
    "name": "ModifyRegistration",
    "parameters": {"appointment_id": "34567890", "new_date": "2023-03-26", "new_doctor": "Dr. Lee"},
}
SYSTEM = (
    "1. Name: ModifyRegistration\nDescription: Modifies an appointment.\n"
    "Parameters: {'appointment_id': {'type': 'str', 'description': 'Its ID.'}}"
)
THOUGHT = "<think> The user wants another date, so the registration has to be modified. </think>\n"

FUNCTION = {
    "name": "ModifyRegistration",
    "description": "Modifies an appointment.",
    "parameters": {
        "type": "dict",
        "properties": {name: {"type": "string"} for name in GOLD["parameters"]},
        "required": list(GOLD["parameters"]),
    },
}

RECORDS = {
    "apibank": Record(
        "Level1_0",
        "level1",
        {"system": SYSTEM, "user": "<user> Change it. </user>", "gold": GOLD, "episode": "Change it.", "defect": None},
    ),
    "bamboogle": Record("bamboogle_0", "test", {"question": "Who?", "answer": "James Madison"}),
    "bfcl_ast": Record(
        "simple_python_0",
        "simple_python",
        {
            "question": [{"role": "user", "content": "Change it."}],
            "functions": [FUNCTION],
            "answers": [{GOLD["name"]: {name: [value] for name, value in GOLD["parameters"].items()}}],
        },
    ),
}
RESPONSES = {
    "apibank": [
        f"{THOUGHT}<tool_call>\n{json.dumps(GOLD)}\n</tool_call>",
        f"{THOUGHT}<tool_call>\n{json.dumps({**GOLD, 'name': 'AddRegistration'})}\n</tool_call>",
        f"{THOUGHT}<tool_call>\n{json.dumps(GOLD, indent=1)}\n</tool_call>",
    ],
    "bfcl_ast": [
        f"{THOUGHT}<tool_call>\n{json.dumps(GOLD)}\n</tool_call>",
        f"{THOUGHT}<tool_call>\n{json.dumps({**GOLD, 'name': 'AddRegistration'})}\n</tool_call>",
        f"{THOUGHT}<tool_call>\n{json.dumps(GOLD, indent=1)}\n</tool_call>",
    ],
    "bamboogle": [
        f"{THOUGHT}<response> James Madison </response>",
        f"{THOUGHT}<response> The answer is James Madison. </response>",
        f"{THOUGHT}<response> I don't know </response>",
    ],
}


def scores_per_second(checks: Sequence[Callable[[], object]], seconds: float) -> float:
    """Runs the checks in turn for ``seconds`` of processor time; how many were made in a second of it."""
    start = time.process_time()
    for done, check in enumerate(itertools.cycle(checks), start=1):
        check()
        if done % 64 == 0 and time.process_time() - start >= seconds:
            return done / (time.process_time() - start)
    raise ValueError("no checks")


def ways() -> Iterator[tuple[str, list[Callable[[], object]]]]:
    """Name and checks of every row."""
    for name, record in RECORDS.items():
        benchmark = get_benchmark(name)
        step = next(iter(benchmark.steps([record])))
        yield name, [lambda r=text, b=benchmark, s=step: b.score(s.record, b.parse(s, r)) for text in RESPONSES[name]]
        row = step_row(name, step, benchmark.messages(step), split="validation", index=0)
        truth, info = row["reward_model"]["ground_truth"], row["extra_info"]
        yield (
            f"{name} (compute_score)",
            [lambda r=text, n=name, t=truth, i=info: compute_score(n, r, t, i) for text in RESPONSES[name]],
        )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=1.0, help="processor time for each row")
    arguments = parser.parse_args()
    for name, checks in ways():
        print(f"{name:<28} {scores_per_second(checks, arguments.seconds):>10,.0f} scores/s on one core")


if __name__ == "__main__":
    main()
