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
"""Two runs on the same steps."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from genenv_verl.benchmarks import get_benchmark
from genenv_verl.benchmarks.base import Benchmark, Record, Verdict
from genenv_verl.evaluation.plan import PlanError, source_folder
from genenv_verl.evaluation.results import ResultError, read_answer_lines, read_results
from genenv_verl.evaluation.statistics import Figure, compare_paired

Lines = Sequence[Mapping[str, Any]]


def compare_runs(first: Path, second: Path, data: Path | None, *, seed: int = 0) -> list[dict[str, Any]]:
    """Compares two runs benchmark by benchmark, on the steps that both have a verdict for.

    Args:
        first, second: Folders of two runs.
        data: Folder of the releases, None for the one that the first run was given.
        seed: Of the bootstrap.

    Returns:
        One dictionary a benchmark that both have: ``steps``, ``records``, ``first``, ``second``, ``difference``,
        ``interval``, ``p_bootstrap``, ``better``, ``worse``, ``p_sign``. Figures in [0, 1].

    Raises:
        ResultError: A run has no results, or the two have no benchmark with the same metric in common.
        ReleaseError, PlanError: The release cannot be read.
    """
    results, others = read_results(first), read_results(second)
    common = [name for name in results if name in others and results[name]["metric"] == others[name]["metric"]]
    if not common:
        raise ResultError(f"{first} and {second} have no benchmark with the same metric in common")
    compared = []
    for name in common:
        mine, theirs = read_answer_lines(first / name), read_answer_lines(second / name)
        field = "judged" if results[name]["metric"] == "judge" else "score"
        shared = [step for step, line in mine.items() if field in line and field in theirs.get(step, {})]
        if shared:
            pair = [mine[step] for step in shared], [theirs[step] for step in shared]
            compared.append(_compare(name, field, *pair, _release(results[name], data), seed))
    return compared


def _release(result: Mapping[str, Any], data: Path | None) -> tuple[Benchmark, dict[str, Record]]:
    """The benchmark of a result and its records by id."""
    name, settings = result["benchmark"], result["settings"]
    if data is None and settings["data"] is not None:
        data = Path(settings["data"])
    try:
        benchmark = get_benchmark(name, **settings["options"])
    except (ValueError, TypeError, ImportError) as error:
        raise PlanError(f"benchmark {name}: {error}") from None
    return benchmark, {record.record_id: record for record in benchmark.load(source_folder(data, name))}


def _compare(
    name: str, field: str, first: Lines, second: Lines, release: tuple[Benchmark, dict[str, Record]], seed: int
) -> dict[str, Any]:
    benchmark, records = release
    if missing := [line["record_id"] for line in first if line["record_id"] not in records]:
        raise ResultError(f"{name}: the release has no record {missing[0]}: give the --data of the runs")
    groups = [benchmark.episode(records[line["record_id"]]) for line in first]
    figures = [_figure(benchmark, records, field, lines) for lines in (first, second)]
    everything = range(len(first))
    # a step's own share of the figure: its verdict may be about something else (ALFWorld's is admissibility)
    shares = [[figure([position]) for position in everything] for figure in figures]
    comparison = compare_paired(groups, (figures[0], shares[0]), (figures[1], shares[1]), seed=seed)
    return {
        "benchmark": name,
        "metric": "judge" if field == "judged" else "score",
        "steps": len(first),
        "records": len({line["record_id"] for line in first}),
        "first": figures[0](everything),
        "second": figures[1](everything),
        **({} if comparison is None else asdict(comparison)),
    }


def _figure(benchmark: Benchmark, records: Mapping[str, Record], field: str, lines: Lines) -> Figure:
    """The benchmark's figure over some of the lines; a judge's is the share of Yes."""
    if field == "judged":
        return lambda positions: sum(lines[position]["judged"] for position in positions) / len(positions)
    items = [(records[line["record_id"]], Verdict(line["score"], line["reason"], line["details"])) for line in lines]
    return lambda positions: benchmark.aggregate([items[position] for position in positions])["score"]


def comparison_table(comparisons: Sequence[Mapping[str, Any]]) -> str:
    """The comparison as markdown, figures in per cent."""
    lines = [
        "| Benchmark | n | First | Second | Difference [95 %] | p (bootstrap) | Better / worse | p (sign) |",
        "|---|---|---|---|---|---|---|---|",
    ]
    for c in comparisons:
        figures = f"{c['steps']} | {100 * c['first']:.1f} | {100 * c['second']:.1f}"
        rest = "– | – | – | –"
        if "interval" in c:
            low, high = 100 * c["interval"]["low"], 100 * c["interval"]["high"]
            rest = (
                f"{100 * c['difference']:+.1f} [{low:+.1f}, {high:+.1f}] | {c['p_bootstrap']:.3g} | "
                f"{c['better']} / {c['worse']} | {c['p_sign']:.3g}"
            )
        lines.append(f"| {c['benchmark']} | {figures} | {rest} |")
    return "\n".join(lines)
