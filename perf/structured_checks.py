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
"""How many structured checks one core makes in a second.

    python perf/structured_checks.py [--seconds 1.0]

Each row is one way to score the same responses: the matching alone, with the parsing of the response, as verl calls it
(with the JSON of the ground truth), and verl's own scorer of tool calls (``rlla``), where verl is installed. ``rlla``
does less: it neither parses by JSON object nor knows schemas, so its figure is a yardstick and no competitor.
"""

from __future__ import annotations

import argparse
import itertools
import json
import time
from collections.abc import Callable, Sequence

from genenv_verl.rewards.agent_reward import read_target, score_target
from genenv_verl.rewards.compute_score import compute_score
from genenv_verl.rewards.matching import match_calls
from genenv_verl.tasks.schema import Context, Task, ToolCall, ToolSpec

THOUGHT = "The user wants a booking, so the calendar has to be read first."


def tool(name: str, **types: str) -> ToolSpec:
    properties = {key: {"type": kind} for key, kind in types.items()}
    return ToolSpec.model_validate(
        {"type": "function", "function": {"name": name, "parameters": {"type": "object", "properties": properties}}}
    )


TOOLS = [
    tool("query_calendar", token="string", day="string", limit="integer"),
    tool("set_alarm", hour="integer", minute="integer", label="string"),
    tool("book_trip", origin="string", target="string", travellers="array", options="object"),
    tool("unit_price", sku="string", amount="number"),
]
GOLDS = [
    [ToolCall(name="query_calendar", arguments={"token": "98a5a87a-7714", "day": "2026-05-11", "limit": 3})],
    [
        ToolCall(name="set_alarm", arguments={"hour": 7, "minute": 30, "label": "swim"}),
        ToolCall(name="unit_price", arguments={"sku": "B-7", "amount": 2.5}),
    ],
    [
        ToolCall(
            name="book_trip",
            arguments={
                "origin": "Oslo",
                "target": "Bergen",
                "travellers": [{"name": "Kari", "age": 41}, {"name": "Ola", "age": 9}],
                "options": {"train": True, "class": 2, "seats": ["12A", "12B"]},
            },
        )
    ],
]


def response(calls: Sequence[ToolCall], arguments_key: str = "arguments") -> str:
    lines = "\n".join(json.dumps({"name": call.name, arguments_key: call.arguments}) for call in calls)
    return f"<think>{THOUGHT}</think>\n<tool_call>\n{lines}\n</tool_call>"


def checks_per_second(checks: Sequence[Callable[[], object]], seconds: float) -> float:
    """Runs the checks in turn for ``seconds`` of processor time and returns how many were made in a second of it.

    Processor time, so that other work on the machine does not count.
    """
    done, start = 0, time.process_time()
    for check in itertools.cycle(checks):
        check()
        done += 1
        if done % 64 == 0 and time.process_time() - start >= seconds:
            return done / (time.process_time() - start)
    raise ValueError("no checks")


def cases() -> dict[str, list[Callable[[], object]]]:
    """The ways to score, each with one check a gold."""
    tasks = [Task(task_id="t", context=Context(goal="g", tools=TOOLS), gold_action=gold) for gold in GOLDS]
    truths = [task.ground_truth() for task in tasks]
    targets = [read_target(truth, TOOLS) for truth in truths]
    tools = [spec.model_dump() for spec in TOOLS]
    rows = [json.dumps({**truth, "tools": tools}) for truth in truths]
    responses = [response(gold) for gold in GOLDS]
    assert all(compute_score("", text, row)["success"] for text, row in zip(responses, rows, strict=True))
    ways = {
        "match_calls": [lambda g=gold: match_calls(predicted=g, gold=g, tools=TOOLS) for gold in GOLDS],
        "score_target (parse, match)": [
            lambda r=text, t=target: score_target(r, t) for text, target in zip(responses, targets, strict=True)
        ],
        "compute_score (as verl calls it)": [
            lambda r=text, t=row: compute_score("", r, t) for text, row in zip(responses, rows, strict=True)
        ],
    }
    try:
        from verl.utils.reward_score import rlla
    except ImportError:
        return ways
    golds = [response(gold, "parameters") for gold in GOLDS]
    # rlla prints one response in 64; that is no part of the scoring, so its two reward functions are called themselves.
    ways["verl rlla (parse, match)"] = [
        lambda g=gold: (
            rlla.customize_format_reward_func([[{"content": g}]], [g], 0, 1.0, 0.0, False),
            rlla.customize_correctness_reward_tool([[{"content": g}]], [g], 0, 3.0, -3.0, False),
        )
        for gold in golds
    ]
    return ways


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=1.0, help="processor time for each row")
    arguments = parser.parse_args()
    for name, checks in cases().items():
        print(f"{name:<40} {checks_per_second(checks, arguments.seconds):>10,.0f} checks/s on one core")


if __name__ == "__main__":
    main()
