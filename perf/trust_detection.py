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
"""Precision and recall of the trust flags: known defects injected into real records, attempts simulated.

    GENENV_BENCHMARK_DATA=DIR python perf/trust_detection.py [--seeds 200 201 …] [--skills 0.2 0.5 0.8]

DIR is the folder that holds ``benchmarks/apibank`` and ``benchmarks/bfcl``. A defect goes into 20 % of the sound
records, one third each:

- ``wrong_gold``: the gold is replaced by a corruption of it that satisfies the schemas, so that no validity rule sees
  it;
- ``missing_tool``: the gold's tool is not declared. Where other tools are left, half of the golds are moved to one of
  them (a substitute that nobody would choose); the others still name the missing tool, which the validity filter sees;
- ``ambiguous``: one argument cannot be told from the goal, so two, three or four readings are equally good, the gold
  one of them.

Attempts are simulated; texts, parser, R_agent and flags are the real ones. An agent of skill s understands a task with
a probability drawn for each task from Beta(3s, 3(1−s)). It then answers what is right by the task's text: the true
calls, one of the readings, or that no tool fits. If it does not understand, one attempt in five is no readable call;
the others are corruptions of the true calls (for a missing tool, calls of that tool or of another). At ``--tempting``
of the tasks (30 %) it has one favourite mistake that takes 70 % of its wrong calls: what a wrong gold is confused with.
"""

from __future__ import annotations

import argparse
import os
import random
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from genenv_verl.benchmarks import get_benchmark
from genenv_verl.curriculum.trust import Trial, read_trial, weigh
from genenv_verl.rewards.solved import is_solved
from genenv_verl.tasks.corruption import change_value, corrupt_calls
from genenv_verl.tasks.schema import Task, ToolCall, ToolSpec
from genenv_verl.tasks.tool_calls import format_calls
from genenv_verl.tasks.validity import Candidate
from genenv_verl.tasks.validity.tools import call_fault, gold_uses_declared_tools

DEFECTS = ("wrong_gold", "missing_tool", "ambiguous")
FLAG_OF = {"wrong_gold": "suspected_wrong_gold", "missing_tool": "unsolvable_for_now", "ambiguous": "ambiguous"}
CONCENTRATION = 3.0
UNREADABLE, FAVOURITE = 0.2, 0.7
DECLINED = "None of the tools can do this."


@dataclass(frozen=True)
class Case:
    """A task as the agent meets it.

    Attributes:
        task: The task, with its defect.
        defect: One of ``DEFECTS``; None for a sound task.
        right: What an agent that understands the task answers, one of them at random.
        wrong: What one that does not may answer instead.
        caught: Whether the validity filter rejects the task, so that it never reaches the agent.
    """

    task: Task
    defect: str | None
    right: tuple[str, ...]
    wrong: tuple[str, ...]
    caught: bool


def sound_tasks(data: Path) -> list[Task]:
    """The records of both benchmarks whose gold is non-empty and satisfies the record's own schemas."""
    tasks = []
    for name, folder in (("apibank", "apibank"), ("bfcl_ast", "bfcl")):
        benchmark = get_benchmark(name)
        steps = benchmark.steps(benchmark.load(data / "benchmarks" / folder))
        tasks += [step.task for step in steps if benchmark.defect(step.record) is None]
    return [task for task in tasks if task.gold_action and fits(task.gold_action, task.context.tools)]


def fits(calls: Sequence[ToolCall], tools: Sequence[ToolSpec]) -> bool:
    return all(call_fault(call, tools) is None for call in calls)


def with_parts(task: Task, *, gold: Sequence[ToolCall], tools: Sequence[ToolSpec]) -> Task:
    context = task.context.model_copy(update={"tools": list(tools)})
    return task.model_copy(update={"gold_action": list(gold), "context": context})


def inject(task: Task, defect: str | None, rng: random.Random) -> Case | None:
    """The task with a defect; None where the record has no place for it."""
    gold, tools = task.gold_action, task.context.tools
    mistakes = [calls for _, calls in corrupt_calls(gold, tools, rng)]
    wrong = tuple(map(format_calls, mistakes))
    if defect == "wrong_gold":
        candidates = [calls for calls in mistakes if calls and fits(calls, tools)]
        if not candidates:
            return None
        bad = rng.choice(candidates)
        return Case(with_parts(task, gold=bad, tools=tools), defect, (format_calls(gold),), wrong, False)
    if defect == "ambiguous":
        return ambiguous(task, wrong, rng)
    if defect == "missing_tool":
        return without_tool(task, wrong, rng)
    return Case(task, None, (format_calls(gold),), wrong, False)


def ambiguous(task: Task, wrong: tuple[str, ...], rng: random.Random) -> Case | None:
    gold, tools = task.gold_action, task.context.tools
    places = [(i, name) for i, call in enumerate(gold) for name in call.arguments]
    if not places:
        return None
    place, name = rng.choice(places)
    call = gold[place]
    properties = next(tool for tool in tools if tool.name == call.name).function.parameters.get("properties") or {}
    readings = {format_calls(gold)}
    for _ in range(rng.randint(1, 3)):
        other = change_value(call.arguments[name], properties.get(name), rng)
        read = ToolCall(name=call.name, arguments={**call.arguments, name: other})
        if fits([read], tools):
            readings.add(format_calls([*gold[:place], read, *gold[place + 1 :]]))
    return Case(task, "ambiguous", tuple(sorted(readings)), wrong, False) if len(readings) > 1 else None


def without_tool(task: Task, wrong: tuple[str, ...], rng: random.Random) -> Case:
    missing = {call.name for call in task.gold_action}
    left = [tool for tool in task.context.tools if tool.name not in missing]
    substitutes = [call for tool in left if (call := any_call(tool, rng)) is not None and fits([call], left)]
    mistakes = (*wrong, *(format_calls([call]) for call in substitutes))
    if substitutes and rng.random() < 0.5:
        moved = with_parts(task, gold=[rng.choice(substitutes)], tools=left)
        return Case(moved, "missing_tool", (DECLINED,), mistakes, False)
    broken = with_parts(task, gold=task.gold_action, tools=left)
    caught = gold_uses_declared_tools(Candidate(broken, task, None)) is not None
    return Case(broken, "missing_tool", (DECLINED,), mistakes, caught)


def any_call(tool: ToolSpec, rng: random.Random) -> ToolCall | None:
    """A call of the tool with its required arguments, or with its first if none is required."""
    parameters = tool.function.parameters
    properties = parameters.get("properties") or {}
    names = parameters.get("required") or list(properties)[:1]
    examples: dict[str, Any] = {"integer": 1, "number": 1.0, "boolean": True, "array": [], "object": {}}
    arguments = {}
    for name in names:
        schema = properties.get(name, {})
        arguments[name] = change_value(examples.get(schema.get("type"), "0"), schema, rng)
    return ToolCall(name=tool.name, arguments=arguments)


def simulate(case: Case, skill: float, attempts: int, tempting: float, rng: random.Random) -> list[str]:
    """The responses of an agent of a skill to one task."""
    understands = rng.betavariate(CONCENTRATION * skill, CONCENTRATION * (1.0 - skill))
    favourite = rng.choice(case.wrong) if rng.random() < tempting else None
    return [one_response(case, understands, favourite, rng) for _ in range(attempts)]


def one_response(case: Case, understands: float, favourite: str | None, rng: random.Random) -> str:
    if rng.random() < understands:
        return rng.choice(case.right)
    if rng.random() < UNREADABLE:
        return "<tool_call>{"
    if favourite is not None and rng.random() < FAVOURITE:
        return favourite
    return rng.choice(case.wrong)


def read_all(case: Case, responses: Sequence[str]) -> list[Trial]:
    known: dict[str, Trial] = {}
    for response in responses:
        if response not in known:
            known[response] = read_trial(case.task, response, bool(is_solved(case.task, response)))
    return [known[response] for response in responses]


def cases(tasks: Sequence[Task], share: float, rng: random.Random) -> Iterator[Case]:
    for task in tasks:
        defect = rng.choice(DEFECTS) if rng.random() < share else None
        yield inject(task, defect, rng) or inject(task, None, rng)


Counts = dict[tuple[float, int], list[Counter[tuple[str, str]]]]
"""For each skill and number of attempts, seed by seed: how many tasks of a kind (``sound`` or a defect) have a flag."""


def study(tasks: Sequence[Task], options: argparse.Namespace) -> Counts:
    counts: Counts = {(skill, n): [] for skill in options.skills for n in options.attempts}
    for seed in options.seeds:
        for cell in counts.values():
            cell.append(Counter())
        rng = random.Random(f"trust study {seed}")
        for case in cases(tasks, options.share, rng):
            for skill in options.skills:
                responses = simulate(case, skill, max(options.attempts), options.tempting, rng)
                trials = [] if case.caught else read_all(case, responses)
                for n in options.attempts:
                    kind, found = case.defect or "sound", counts[skill, n][-1]
                    found[kind, "all"] += 1
                    flags = ("validity",) if case.caught else weigh(case.task, trials[:n]).flags
                    found.update((kind, flag) for flag in flags)
    return counts


def figures(found: Counter[tuple[str, str]], defect: str, flag: str) -> tuple[float | None, float | None, float]:
    """Precision (None where nothing was flagged), recall (None where nothing could be), flagged of 100 sound tasks."""
    hits = found[defect, flag]
    raised = sum(count for (_, raised), count in found.items() if raised == flag)
    reached = found[defect, "all"] - found[defect, "validity"]
    recall = hits / reached if reached else None
    return hits / raised if raised else None, recall, 100 * found["sound", flag] / found["sound", "all"]


def spread(pooled: float | None, each: Iterable[float | None], digits: int) -> str:
    """The figure over all seeds, and the least and the greatest of the single ones."""
    known = [value for value in each if value is not None]
    if pooled is None or not known:
        return "-"
    return f"{pooled:.{digits}f} ({min(known):.{digits}f}–{max(known):.{digits}f})"


def report(counts: Counts) -> Iterator[str]:
    yield "| defect | flag | skill | attempts | precision | recall | flagged of 100 sound tasks |"
    yield "|---|---|---|---|---|---|---|"
    for defect, flag in FLAG_OF.items():
        for (skill, n), seeds in counts.items():
            pooled = figures(sum(seeds, Counter()), defect, flag)
            each = zip(*(figures(found, defect, flag) for found in seeds), strict=True)
            cells = (spread(*column) for column in zip(pooled, each, (2, 2, 1), strict=True))
            yield f"| {defect} | {flag} | {skill:g} | {n} | {' | '.join(cells)} |"
    any_cell = sum(next(iter(counts.values())), Counter())  # what the filter sees depends on neither skill nor attempts
    missing = any_cell["missing_tool", "validity"], any_cell["missing_tool", "all"]
    yield ""
    yield f"missing_tool: the validity filter rejects {missing[0]} of {missing[1]}; its rows are about the others."


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, default=os.environ.get("GENENV_BENCHMARK_DATA"))
    parser.add_argument("--seeds", type=int, nargs="+", default=list(range(200, 210)))
    parser.add_argument("--skills", type=float, nargs="+", default=[0.2, 0.5, 0.8])
    parser.add_argument("--attempts", type=int, nargs="+", default=[4, 8, 16])
    parser.add_argument("--share", type=float, default=0.2, help="share of the records that get a defect")
    parser.add_argument("--tempting", type=float, default=0.3, help="share of the tasks with a favourite mistake")
    options = parser.parse_args()
    if options.data is None:
        parser.error("give --data, or set GENENV_BENCHMARK_DATA, to the folder that holds benchmarks/")
    tasks = sound_tasks(options.data)
    print(f"{len(tasks)} records, seeds {options.seeds}, {options.tempting:.0%} of the tasks tempting\n")
    print("\n".join(report(study(tasks, options))))


if __name__ == "__main__":
    main()
