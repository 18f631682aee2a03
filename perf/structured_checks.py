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

Each row is one way to score the same three responses (one call, two parallel calls, one call with nested arguments):
the matching alone, with the parsing of the response, and as verl calls it (with the JSON of the ground truth). Beside
them stand the peers, where they are installed: verl's scorer of tool calls (``rlla``), which neither parses by JSON
object nor knows schemas, and bfcl-eval's ``ast_checker``, which is given parsed calls and so compares with the matching
alone.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Callable, Sequence
from types import SimpleNamespace

from genenv_verl.rewards.agent_reward import read_target, score_target
from genenv_verl.rewards.compute_score import compute_score
from genenv_verl.rewards.matching import CallMatcher
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
    """Runs the checks in turn for ``seconds`` and returns how many were made in a second of processor time.

    The best of many short windows: other work on the machine takes caches and clock away, and adds nothing.
    """
    best, end = 0.0, time.monotonic() + seconds
    rounds = 25
    while time.monotonic() < end:
        start = time.process_time()
        for _ in range(rounds):
            for check in checks:
                check()
        best = max(best, rounds * len(checks) / (time.process_time() - start))
    return best


def cases() -> dict[str, list[Callable[[], object]]]:
    """The ways to score, each with one check a gold."""
    tasks = [Task(task_id="t", context=Context(goal="g", tools=TOOLS), gold_action=gold) for gold in GOLDS]
    truths = [task.ground_truth() for task in tasks]
    targets = [read_target(truth, TOOLS) for truth in truths]
    tools = [spec.model_dump() for spec in TOOLS]
    rows = [json.dumps({**truth, "tools": tools}) for truth in truths]
    responses = [response(gold) for gold in GOLDS]
    assert all(compute_score("", text, row)["success"] for text, row in zip(responses, rows, strict=True))
    matchers = [CallMatcher(gold, TOOLS) for gold in GOLDS]
    ways = {
        "match calls": [lambda m=matcher, g=gold: m.score(g) for matcher, gold in zip(matchers, GOLDS, strict=True)],
        "score_target (parse, match)": [
            lambda r=text, t=target: score_target(r, t) for text, target in zip(responses, targets, strict=True)
        ],
        "compute_score (as verl calls it)": [
            lambda r=text, t=row: compute_score("", r, t) for text, row in zip(responses, rows, strict=True)
        ],
    }
    for peer in (verl_rlla, bfcl_ast_checker):
        try:
            ways |= peer()
        except ImportError as missing:
            print(f"{peer.__name__} is left out: {missing}")
    return ways


def verl_rlla() -> dict[str, list[Callable[[], object]]]:
    """verl's scorer; its two functions, since the scorer itself prints one response in 64."""
    from verl.utils.reward_score import rlla

    golds = [response(gold, "parameters") for gold in GOLDS]
    checks = [
        lambda g=gold: (
            rlla.customize_format_reward_func([[{"content": g}]], [g], 0, 1.0, 0.0, False),
            rlla.customize_correctness_reward_tool([[{"content": g}]], [g], 0, 3.0, -3.0, False),
        )
        for gold in golds
    ]
    return {"verl rlla (parse, match)": checks}


def bfcl_ast_checker() -> dict[str, list[Callable[[], object]]]:
    """bfcl-eval's comparison of parsed calls, with its own names of types and its lists of possible values."""
    import bfcl_eval.constants as constants

    # Asked for tool names with dots only, and it imports the client of every provider of models.
    sys.modules.setdefault(f"{constants.__name__}.model_config", SimpleNamespace(MODEL_CONFIG_MAPPING={}))
    from bfcl_eval.constants.enums import Language
    from bfcl_eval.eval_checker.ast_eval.ast_checker import ast_checker

    names = {"number": "float", "object": "dict"}
    described = []
    for spec in TOOLS:
        properties = {
            key: {"type": names.get(schema["type"], schema["type"]), "items": {"type": "dict"}}
            for key, schema in spec.function.parameters["properties"].items()
        }
        parameters = {"type": "dict", "properties": properties, "required": list(properties)}
        described.append({"name": spec.name, "parameters": parameters})
    checks = []
    for gold in GOLDS:
        calls = [{call.name: call.arguments} for call in gold]
        answers = [{call.name: {key: [possible(value)] for key, value in call.arguments.items()}} for call in gold]
        check = lambda c=calls, a=answers: ast_checker(described, c, a, Language.PYTHON, "parallel", "gpt-4o")  # noqa: E731
        assert check()["valid"], check()
        checks.append(check)
    return {"bfcl-eval ast_checker (match)": checks}


def possible(value: object) -> object:
    """A value as one of bfcl-eval's possible values: every value within an object is a list of choices."""
    if isinstance(value, dict):
        return {key: [possible(item)] for key, item in value.items()}
    return [possible(item) for item in value] if isinstance(value, list) else value


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=1.0, help="seconds for each row")
    arguments = parser.parse_args()
    for name, checks in cases().items():
        print(f"{name:<40} {checks_per_second(checks, arguments.seconds):>10,.0f} checks/s on one core")


if __name__ == "__main__":
    main()
