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
"""What an evaluation leaves behind: a line a step, and beside it the figures with all that they depend on.

``<out>/<benchmark>/answers.jsonl`` and ``<out>/<benchmark>/result.json``; both appear whole or not at all.
"""

from __future__ import annotations

import json
import os
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from genenv_verl.benchmarks.base import Benchmark, Record, Verdict
from genenv_verl.evaluation.run import SCORER_ERROR, Outcome, prompt_sha256
from genenv_verl.evaluation.statistics import bootstrap_interval

RESULT_FILE = "result.json"
ANSWERS_FILE = "answers.jsonl"

# What makes two benchmarks of one folder columns of the same row. Search and judge belong to one benchmark only.
ROW_SETTINGS = ("model", "style", "decoding", "context_tokens")


class ResultError(ValueError):
    """A result is missing, damaged or does not fit; the message names the file."""


def summarise(
    benchmark: Benchmark, outcomes: Sequence[Outcome], *, release_records: int, limit: int | None, seed: int
) -> dict[str, Any]:
    """The figures of a benchmark and what stands behind them.

    Args:
        benchmark: The benchmark.
        outcomes: Of all steps that were asked.
        release_records: Records that the steps were chosen from.
        limit: Most steps that were to be asked, None for all.
        seed: Of the bootstrap.

    Returns:
        ``figure`` (in [0, 1], over the steps that have a verdict; None without any), its ``metric`` and ``interval``,
        all ``figures`` of the benchmark, and the counts. A judge's verdict, where there is one, is the figure.
    """
    judged = any(outcome.judged is not None for outcome in outcomes)
    verdicts = [(o.step.record, o.verdict) for o in outcomes if o.verdict is not None]
    figures = benchmark.aggregate(verdicts) if verdicts else {}
    if judged:
        items = [(o.step.record, Verdict(float(o.judged), "")) for o in outcomes if o.judged is not None]
        figures["judge"] = _mean_score(items)
    else:
        items = verdicts
    interval = bootstrap_interval(
        [benchmark.episode(record) for record, _ in items],
        lambda positions: _figure(benchmark, [items[position] for position in positions], judged=judged),
        seed=seed,
    )
    failures = [outcome for outcome in outcomes if outcome.failure is not None]
    completions = [c for o in outcomes if o.answered is not None for c in o.answered.completions]
    return {
        "benchmark": benchmark.name,
        "metric": "judge" if judged else _METRICS.get(benchmark.name, "score"),
        "figure": figures.get("judge" if judged else "score"),
        "interval": None if interval is None else asdict(interval),
        "figures": figures,
        "steps": len(outcomes),
        "limited": limit is not None and len(outcomes) >= limit,
        "release_records": release_records,
        "splits": dict(Counter(outcome.step.record.split for outcome in outcomes)),
        "scored_steps": len(items),
        "scored_records": len({record.record_id for record, _ in items}),
        "failed_steps": len(failures),
        "failures": dict(Counter(outcome.failure[0] for outcome in failures)),
        "failure_examples": {outcome.failure[0]: outcome.failure[1] for outcome in reversed(failures)},
        "reasons": dict(Counter(verdict.reason for _, verdict in verdicts).most_common(50)),
        "scorer_errors": [
            o.step.step_id for o in outcomes if o.verdict is not None and o.verdict.reason.startswith(SCORER_ERROR)
        ],
        "cut_off_answers": sum(completion.finish_reason == "length" for completion in completions),
        "requests": len(completions),
        "prompt_tokens": sum(completion.prompt_tokens or 0 for completion in completions),
        "completion_tokens": sum(completion.completion_tokens or 0 for completion in completions),
    }


_METRICS = {"bamboogle": "exact match"}


def _figure(benchmark: Benchmark, items: Sequence[tuple[Record, Verdict]], *, judged: bool) -> float:
    return _mean_score(items) if judged else benchmark.aggregate(items)["score"]


def _mean_score(items: Sequence[tuple[Record, Verdict]]) -> float:
    return sum(verdict.score for _, verdict in items) / len(items)


def answer_lines(outcomes: Sequence[Outcome]) -> list[dict[str, Any]]:
    """A line a step: its ids, what was answered, the verdict or the failure."""
    return [_answer_line(outcome) for outcome in outcomes]


def _answer_line(outcome: Outcome) -> dict[str, Any]:
    line: dict[str, Any] = {
        "id": outcome.step.step_id,
        "record_id": outcome.step.record.record_id,
        "prompt_sha256": prompt_sha256([outcome.prompt]),
    }
    if outcome.answered is not None:
        line["responses"] = [completion.content for completion in outcome.answered.completions]
        line["finish_reason"] = outcome.answered.completions[-1].finish_reason
    if outcome.verdict is not None:
        line |= {"score": outcome.verdict.score, "reason": outcome.verdict.reason, "details": outcome.verdict.details}
    if outcome.judged is not None:
        line["judged"] = outcome.judged
    if outcome.failure is not None:
        line["failure"], line["failure_message"] = outcome.failure
    return line


def write_result(folder: Path, result: Mapping[str, Any], lines: Sequence[Mapping[str, Any]]) -> None:
    """Writes a benchmark's folder: the lines first, so that figures without their lines cannot be found."""
    folder.mkdir(parents=True, exist_ok=True)
    write_text(folder / ANSWERS_FILE, "".join(json.dumps(line, ensure_ascii=False) + "\n" for line in lines))
    write_text(folder / RESULT_FILE, json.dumps(result, ensure_ascii=False, indent=1) + "\n")


def write_text(path: Path, text: str) -> None:
    """Writes a file that appears whole or not at all."""
    unfinished = path.with_name(path.name + ".unfinished")
    unfinished.write_text(text, encoding="utf-8", errors="backslashreplace")  # a lone surrogate is JSON's own escape
    os.replace(unfinished, path)


def read_results(run: Path) -> dict[str, dict[str, Any]]:
    """The results of a run by benchmark.

    Raises:
        ResultError: There are none, one is damaged, or they belong to different models or settings.
    """
    results = {path.parent.name: read_result(path) for path in sorted(run.glob(f"*/{RESULT_FILE}"))}
    if not results:
        raise ResultError(f"{run} holds no result of an evaluation (<benchmark>/{RESULT_FILE})")
    first, *others = results
    for other in others:
        check_same_row(results[first], results[other], run)
    return results


def read_result(path: Path) -> dict[str, Any]:
    """One benchmark's result (ResultError if it is damaged)."""
    try:
        result = json.loads(path.read_text(encoding="utf-8"))
        if not isinstance(result["settings"], dict) or not isinstance(result["benchmark"], str):
            raise TypeError
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise ResultError(f"{path} is damaged ({error}): evaluate again") from None
    return result


def check_same_row(first: Mapping[str, Any], other: Mapping[str, Any], run: Path) -> None:
    """ResultError if two results cannot stand in one row of a table."""
    for name in ROW_SETTINGS:
        if first["settings"].get(name) != other["settings"].get(name):
            raise ResultError(
                f"{run}: {first['benchmark']} was run with {name} {first['settings'].get(name)}, {other['benchmark']} "
                f"with {other['settings'].get(name)}: one folder is one row of a table; give another --out"
            )


def read_answer_lines(folder: Path) -> dict[str, dict[str, Any]]:
    """The lines of a benchmark's folder by step (ResultError if they cannot be read)."""
    path = folder / ANSWERS_FILE
    try:
        *lines, rest = path.read_text(encoding="utf-8").split("\n")
        if rest:
            raise ValueError("its last line is cut")
        return {line["id"]: line for line in map(json.loads, lines)}
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise ResultError(f"{path} is missing or damaged ({error}): evaluate again") from None
