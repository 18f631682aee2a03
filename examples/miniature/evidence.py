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
"""What the runs of the study say: measures of each, tables over seeds, at equal attempts and at equal tokens.

``DIR/results.md`` and ``DIR/results.json`` of a study's folder come from here.
"""

from __future__ import annotations

import json
import statistics
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
import world

from genenv_verl.report.json_lines import read_json_lines
from genenv_verl.report.run_files import read_run
from genenv_verl.report.series import validation_series

AXES = {"agent steps": "agent_steps", "agent tokens": "agent_tokens", "tokens of both": "total_tokens"}
ATTEMPTS_A_STEP = 192
BAND = (0.4, 0.6)


@dataclass(frozen=True)
class Exam:
    """A sitting of the exam: the score in [0, 1] and what had been spent by then (``genenv.curriculum.budget``)."""

    agent_steps: int
    agent_tokens: int
    total_tokens: int
    score: float


@dataclass(frozen=True)
class Measures:
    """What one run shows. Lists have an entry an epoch, ``None`` where nothing was generated.

    Attributes:
        exams: In the order of steps.
        success: p̂ on generated tasks.
        success_right: p̂ on those whose gold the true solver gives.
        valid: Share of generations that became tasks.
        wrong_gold: Share of the tasks whose gold is not the true solver's.
        unique: Share of different goals among the generations that can be read.
        clauses: Mean clause count of the tasks.
        response_tokens: Mean length of the agent's responses to generated tasks.
        environment_share: The environment's part of the tokens of both players.
    """

    exams: list[Exam]
    success: list[float]
    success_right: list[float | None]
    valid: list[float]
    wrong_gold: list[float | None]
    unique: list[float | None]
    clauses: list[float | None]
    response_tokens: list[float]
    environment_share: float


def steps_done(run: Path) -> int:
    """The last step whose exam is on record, 0 for a run that has none."""
    return max((line["step"] for line in _lines(run / "genenv" / "validation.jsonl")), default=0)


def measure(path: Path) -> Measures:
    """Reads a finished run."""
    run = read_run(path, path.name)
    spent = {0: (0, 0)} | {
        line["global_step"]: tuple(line["budget"]["used"][name] for name in ("agent_tokens", "total_tokens"))
        for line in run.epochs
    }
    exams = [Exam(int(step), *spent[int(step)], score) for step, score in validation_series(run)]
    written = [line for line in run.epochs if line.get("generated")]
    tasks = [list(_lines(run.task_files[line["epoch"]])) for line in written]
    last = exams[-1]
    return Measures(
        exams=exams,
        success=[line["success_rate"] for line in written],
        success_right=[_mean(r["p_hat"] for r in records if r["p_hat"] is not None and _right(r)) for records in tasks],
        valid=[line["valid_fraction"] for line in written],
        wrong_gold=[_mean(not _right(record) for record in records if record["task"]) for records in tasks],
        unique=[_unique(records) for records in tasks],
        clauses=[_mean(world.clause_count(_goal(record)) for record in records if record["task"]) for records in tasks],
        response_tokens=[line["response_tokens_mean"] for line in written],
        environment_share=1 - last.agent_tokens / last.total_tokens,
    )


def _lines(path: Path) -> Iterator[dict[str, Any]]:
    """The whole lines of a file that may be missing; a kill can have cut one off."""
    return (line for line in read_json_lines(path) if line is not None) if path.exists() else iter(())


def _mean(values: Iterator[float]) -> float | None:
    values = list(values)
    return statistics.mean(values) if values else None


def _goal(record: dict[str, Any]) -> str:
    return record["task"]["context"]["goal"]


def _right(record: dict[str, Any]) -> bool:
    return world.solve(_goal(record)) == record["task"]["gold_action"]


def _unique(records: list[dict[str, Any]]) -> float | None:
    texts = [record["text"] for record in records]
    return len(set(texts)) / len(texts) if texts else None


def score_at(exams: Sequence[Exam], axis: str, amount: float) -> float:
    """The exam's score when ``amount`` had been spent, on the straight line between the two sittings around it."""
    return float(np.interp(amount, [getattr(exam, axis) for exam in exams], [exam.score for exam in exams]))


Results = dict[str, dict[str, dict[int, Measures]]]
"""By world, arm and seed."""


def read(out: Path) -> Results:
    """The runs of a study that have come as far as its farthest: one that goes on would shrink all budgets."""
    results: Results = defaultdict(lambda: defaultdict(dict))
    steps = {run: steps_done(run) for run in sorted((out / "runs").glob("*/*-*"))}
    farthest = max(steps.values(), default=0)
    for run, done in steps.items():
        arm, _, seed = run.name.rpartition("-")
        if done and done == farthest:
            results[run.parent.name][arm][int(seed)] = measure(run)
    return results


def equal_budgets(arms: dict[str, dict[int, Measures]]) -> dict[str, float]:
    """The most of each resource that every run of a world has spent."""
    runs = [run for seeds in arms.values() for run in seeds.values()]
    return {axis: min(getattr(run.exams[-1], axis) for run in runs) for axis in AXES.values()}


def write(out: Path) -> str:
    """Writes ``results.md`` and ``results.json`` and returns the former."""
    results = read(out)
    text = "\n\n".join(world_text(name, arms) for name, arms in results.items()) + "\n"
    (out / "results.md").write_text(text, encoding="utf-8")
    plain = {
        name: {arm: {seed: asdict(run) for seed, run in seeds.items()} for arm, seeds in arms.items()}
        for name, arms in results.items()
    }
    (out / "results.json").write_text(json.dumps(plain, indent=1) + "\n", encoding="utf-8")
    return text


def world_text(name: str, arms: dict[str, dict[int, Measures]]) -> str:
    """The tables of one world as Markdown."""
    budgets = equal_budgets(arms)
    parts = [f"### {name.capitalize()} world", exam_table(arms, budgets), difference_table(arms, budgets)]
    writing = {arm: seeds for arm, seeds in arms.items() if all(run.success for run in seeds.values())}
    if writing:
        parts += [success_table(writing), task_table(writing)]
    return "\n\n".join(parts)


def exam_table(arms: dict[str, dict[int, Measures]], budgets: dict[str, float]) -> str:
    """Exam scores, mean ± standard deviation over seeds, at equal budgets."""
    rows = [
        [
            arm,
            str(len(seeds)),
            _spread([run.exams[0].score for run in seeds.values()]),
            *(_spread([score_at(run.exams, axis, budgets[axis]) for run in seeds.values()]) for axis in AXES.values()),
            _spread([run.exams[-1].agent_tokens / 1000 for run in seeds.values()], digits=0),
            _spread([run.exams[-1].total_tokens / 1000 for run in seeds.values()], digits=0),
        ]
        for arm, seeds in arms.items()
    ]
    attempts = f"{budgets['agent_steps'] * ATTEMPTS_A_STEP:,.0f} attempts"
    header = ["exam", "seeds", "before", attempts, f"{budgets['agent_tokens']:,.0f} agent tokens"]
    header += [f"{budgets['total_tokens']:,.0f} tokens of both", "agent tokens (k)", "tokens of both (k)"]
    return _table(header, rows)


def difference_table(arms: dict[str, dict[int, Measures]], budgets: dict[str, float]) -> str:
    """Exam scores of each arm less those of another with the same players, seed by seed."""
    pairs = [(a, b) for a in ("genenv", "paper") for b in ("random", "grpo") if a in arms and b in arms]
    rows = []
    for first, second in pairs:
        seeds = sorted(arms[first].keys() & arms[second].keys())
        cells = []
        for axis in AXES.values():
            scores = [
                [score_at(arms[arm][seed].exams, axis, budgets[axis]) for seed in seeds] for arm in (first, second)
            ]
            cells.append(" ".join(f"{a - b:+.3f}" for a, b in zip(*scores, strict=True)))
        rows.append([f"{first} − {second}", *cells])
    return _table(["by seed, at equal", *AXES], rows)


def success_table(arms: dict[str, dict[int, Measures]]) -> str:
    """p̂ on generated tasks, epoch by epoch, as the mean over seeds; and how many epochs lie in the band."""
    epochs = max(len(run.success) for seeds in arms.values() for run in seeds.values())
    rows = []
    for arm, seeds in arms.items():
        runs = list(seeds.values())
        means = [_mean(run.success[i] for run in runs if i < len(run.success)) for i in range(epochs)]
        inside = [sum(BAND[0] <= value <= BAND[1] for value in run.success) for run in runs]
        rows.append([arm, *(f"{value:.2f}" for value in means), " ".join(map(str, inside))])
    return _table(["p̂, epoch", *map(str, range(epochs)), "epochs in [0.4, 0.6] by seed"], rows)


def task_table(arms: dict[str, dict[int, Measures]]) -> str:
    """What the environments wrote, in the first and in the last epoch, as means over seeds."""
    columns: dict[str, Callable[[Measures], Sequence[float | None]]] = {
        "valid": lambda run: run.valid,
        "wrong gold": lambda run: run.wrong_gold,
        "p̂, right golds": lambda run: run.success_right,
        "different texts": lambda run: run.unique,
        "clauses": lambda run: run.clauses,
        "response tokens": lambda run: run.response_tokens,
    }
    rows = []
    for arm, seeds in arms.items():
        cells = [_first_and_last([values(run) for run in seeds.values()]) for values in columns.values()]
        share = _spread([100 * run.environment_share for run in seeds.values()], digits=0)
        rows.append([arm, *cells, f"{share} %"])
    return _table(["first → last epoch", *columns, "environment's tokens"], rows)


def _first_and_last(runs: list[Sequence[float | None]]) -> str:
    ends = [_mean(values[place] for values in runs if values[place] is not None) for place in (0, -1)]
    return " → ".join("–" if end is None else f"{end:.2f}" if end < 10 else f"{end:.0f}" for end in ends)


def _spread(values: Sequence[float], digits: int = 3) -> str:
    mean = f"{statistics.mean(values):,.{digits}f}"
    return f"{mean} ± {statistics.stdev(values):,.{digits}f}" if len(values) > 1 else mean


def _table(header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    lines = [header, ["---"] * len(header), *rows]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)
