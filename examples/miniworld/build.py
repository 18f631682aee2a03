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
"""Builds the miniature world: two tiny models with their tokenizer, the seeds and the exam.

    python examples/miniworld/build.py --out DIR [--world mild|hard] [--seed 0] [--fast]

writes ``DIR/agent``, ``DIR/environment`` (Hugging Face folders), ``DIR/seeds.parquet``, ``DIR/exam.parquet`` and
``DIR/build.json``, and prints how good both players are before any co-evolution.
"""

from __future__ import annotations

import argparse
import dataclasses
import json
import random
import statistics
import sys
import time
from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import models
import torch
import warm_start
import world
from transformers import LlamaForCausalLM, PreTrainedTokenizerFast

from genenv_verl.rewards.compute_score import compute_score
from genenv_verl.tasks.generation import Rejection, read_generation
from genenv_verl.tasks.prompts import AgentPrompt, EnvironmentPrompt
from genenv_verl.tasks.records import write_tasks
from genenv_verl.tasks.schema import Context, Generator, Task, ToolCall, ToolSpec

SEED_CLAUSES = {"mild": range(3, 7), "hard": range(6, 9)}
SEEDS = 32
BEGINNINGS = 4
"""Initial weights that are tried."""
TOOLS = [ToolSpec.model_validate(tool) for tool in world.TOOLS]


def task_of(goal: str, task_id: str) -> Task:
    """The task of a goal of this world."""
    return Task(
        task_id=task_id,
        family=f"mini-k{world.clause_count(goal)}",
        context=Context(goal=goal, tools=TOOLS),
        gold_action=[ToolCall.model_validate(call) for call in world.solve(goal)],
    )


def seed_tasks(world_name: str, seed: int) -> list[Task]:
    """The base data: ``SEEDS`` different goals whose clause counts belong to the world, in turn."""
    counts = SEED_CLAUSES[world_name]
    rng = random.Random(f"seeds {world_name} {seed}")
    goals = _different_goals(rng, [counts[i % len(counts)] for i in range(SEEDS)], exam=False)
    return [task_of(goal, f"mini-{i:03d}") for i, goal in enumerate(goals)]


def exam_tasks(each: int = 12) -> list[Task]:
    """The exam: ``each`` different held-out goals of every clause count, the same for both worlds and all seeds."""
    return [task_of(goal, f"exam-{i:03d}") for i, goal in enumerate(_exam_goals("exam", each))]


def final_exam_tasks(each: int = 16) -> list[Task]:
    """A second exam of the same kind that shares no goal with the first: nothing has been chosen by it."""
    goals = _exam_goals("final exam", each, known=[task.context.goal for task in exam_tasks()])
    return [task_of(goal, f"final-{i:03d}") for i, goal in enumerate(goals)]


def _exam_goals(name: str, each: int, known: Sequence[str] = ()) -> list[str]:
    counts = [k for k in range(1, world.MAX_CLAUSES + 1) for _ in range(each)]
    return _different_goals(random.Random(name), counts, exam=True, known=known)


def _different_goals(rng: random.Random, counts: list[int], *, exam: bool, known: Sequence[str] = ()) -> list[str]:
    """A goal of every clause count in ``counts``, in their order, no goal twice and none of ``known``."""
    goals = dict.fromkeys(known)
    for wanted, k in enumerate(counts, start=len(known) + 1):
        while len(goals) < wanted:
            goals[world.random_goal(rng, k, exam=exam)] = None
    return list(goals)[len(known) :]


def examine_agent(
    agent: LlamaForCausalLM, tokenizer: PreTrainedTokenizerFast, tasks: list[Task], attempts: int
) -> dict[int, float]:
    """The agent's success rate at temperature 1 for every clause count that occurs among ``tasks``."""
    prompt = AgentPrompt(str(warm_start.AGENT_TEMPLATE))
    tasks = tasks * attempts
    chats = [prompt.messages(task) for task in tasks]
    successes = defaultdict(list)
    for task, response in zip(tasks, models.sample(agent, tokenizer, chats, max_new_tokens=48), strict=True):
        score = compute_score("genenv", response, task.ground_truth())["score"]
        successes[world.clause_count(task.context.goal)].append(score)
    return {k: sum(scores) / len(scores) for k, scores in sorted(successes.items())}


def read_written(text: str, seed: Task) -> Task | Rejection:
    """What the trainer would read in a text of the environment."""
    return read_generation(
        text,
        seed=seed,
        task_id="sample",
        epoch=0,
        generator=Generator(model="warm-start", step=0),
        truncated=False,
        success_threshold=None,
    )


def examine_environment(
    environment: LlamaForCausalLM, tokenizer: PreTrainedTokenizerFast, seeds: list[Task], variations: int
) -> dict[str, float]:
    """What the environment writes from the seeds at temperature 1.

    Returns:
        ``valid`` and ``unique``, shares of all generations; ``wrong_gold``, the share of the valid ones whose calls are
        not those of the true solver (1 without valid ones); ``clauses``, the valid goals' mean clause count.
    """
    prompt = EnvironmentPrompt(str(warm_start.ENVIRONMENT_TEMPLATE))
    unknown = {"seed_success": None, "family_success": None, "overall_success": None, "target_success": 0.5}
    seeds = seeds * variations
    chats = [prompt.messages(seed, **unknown) for seed in seeds]
    texts = models.sample(environment, tokenizer, chats, max_new_tokens=96)
    written = [read_written(text, seed) for text, seed in zip(texts, seeds, strict=True)]
    tasks = [task for task in written if isinstance(task, Task)]
    golds = [(world.solve(task.context.goal), [call.model_dump() for call in task.gold_action or ()]) for task in tasks]
    return {
        "valid": len(tasks) / len(texts),
        "wrong_gold": sum(true != gold for true, gold in golds) / len(tasks) if tasks else 1.0,
        "unique": len(set(texts)) / len(texts),
        "clauses": sum(world.clause_count(task.context.goal) for task in tasks) / max(1, len(tasks)),
    }


class Progress:
    """Prints where a training stands, every few seconds, with the time that it still needs."""

    def __init__(self, every: float = 5.0):
        self._every = every
        self._began = self._printed = time.monotonic()

    def __call__(self, what: str, step: int, steps: int, nll: float) -> None:
        now = time.monotonic()
        if step == 1:
            self._began = now
        if now - self._printed >= self._every or step == steps:
            self._printed = now
            left = (now - self._began) / step * (steps - step)
            print(f"{what}: step {step} of {steps}, loss {nll:.3f}, {left:.0f} s left", flush=True)


def build(out: Path, world_name: str, seed: int, schedule: warm_start.Schedule, *, attempts: int) -> dict[str, Any]:
    """Builds everything below ``out`` and returns what ``build.json`` holds.

    Args:
        out: the folder to write to; made if missing.
        world_name: a key of ``SEED_CLAUSES``.
        seed: of the models, the lessons and the base data.
        schedule: how long the players are trained.
        attempts: samples for every task and seed when the players are examined.
    """
    began = time.monotonic()
    out.mkdir(parents=True, exist_ok=True)
    seeds, exam = seed_tasks(world_name, seed), exam_tasks()
    prompt = AgentPrompt(str(warm_start.AGENT_TEMPLATE))
    write_tasks(out / "seeds.parquet", seeds, prompt=prompt.messages)
    write_tasks(out / "exam.parquet", exam, prompt=prompt.messages, split="test")

    tokenizer = models.build_tokenizer()
    rng = random.Random(f"lessons {seed}")
    lessons = warm_start.Lessons(tokenizer, rng)
    progress = Progress()
    for beginning in range(BEGINNINGS):
        model = models.new_model(tokenizer, seed + 1_000 * beginning)
        warm_start.teach_environment(model, lessons, rng, schedule, progress)
        environment = examine_environment(model, tokenizer, seeds, variations=attempts)
        if environment["wrong_gold"] <= schedule.most_wrong_golds:
            break
        print(f"{environment['wrong_gold']:.0%} wrong golds: the environment has not learned to solve", flush=True)
    else:
        raise SystemExit(f"seed {seed}: the environment did not learn to solve; take another seed")
    models.save(model, tokenizer, out / "environment")
    warm_start.teach_agent(model, lessons, rng, schedule, progress)
    models.save(model, tokenizer, out / "agent")
    by_count = examine_agent(model, tokenizer, exam, attempts=attempts)
    result = {
        "world": world_name,
        "seed": seed,
        "schedule": dataclasses.asdict(schedule),
        "parameters": model.num_parameters(),
        "vocabulary": len(tokenizer),
        "beginnings": beginning + 1,
        "agent": {
            "exam_by_clauses": by_count,
            "exam": sum(by_count.values()) / len(by_count),
            "seeds": statistics.mean(examine_agent(model, tokenizer, seeds, attempts=attempts).values()),
        },
        "environment": environment,
        "seconds": time.monotonic() - began,
    }
    (out / "build.json").write_text(json.dumps(result, indent=1) + "\n")
    return result


def _report(result: dict[str, Any]) -> str:
    agent, environment = result["agent"], result["environment"]
    by_count = agent["exam_by_clauses"]
    rows = [
        ("clauses", *by_count, "mean"),
        ("agent's exam", *(f"{rate:.2f}" for rate in by_count.values()), f"{agent['exam']:.3f}"),
    ]
    lines = [f"{name:<13}" + "".join(f"{cell:>7}" for cell in cells) for name, *cells in rows]
    lines += [
        f"agent at the seeds: {agent['seeds']:.3f}",
        f"environment at the seeds: valid {environment['valid']:.2f}, wrong gold {environment['wrong_gold']:.2f}, "
        f"unique {environment['unique']:.2f}, clauses {environment['clauses']:.1f}",
        f"{result['seconds']:.0f} s",
    ]
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description="Build the miniature world: two tiny models, seeds and exam.")
    parser.add_argument("--out", type=Path, required=True, help="folder to write to")
    parser.add_argument("--world", choices=SEED_CLAUSES, default="mild", help="mild: seeds of 3-6 clauses, hard: 6-8")
    parser.add_argument("--seed", type=int, default=0, help="of the models, the lessons and the base data")
    parser.add_argument("--fast", action="store_true", help="worse players in a quarter of the time, for tests")
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    torch.set_flush_denormal(True)  # weights near zero would slow the CPU down
    schedule, attempts = (warm_start.FAST, 1) if arguments.fast else (warm_start.FULL, 4)
    try:
        print(_report(build(arguments.out, arguments.world, arguments.seed, schedule, attempts=attempts)))
    except KeyboardInterrupt:
        print("genenv: stopped; the same command builds the world from the beginning", file=sys.stderr)
        raise SystemExit(130) from None


if __name__ == "__main__":
    main()
