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
"""Commands around benchmark releases: score answers, prepare data."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated, Any

import typer

from genenv_verl.benchmarks import MODULES, benchmark_class, get_benchmark
from genenv_verl.benchmarks.base import Benchmark, ReleaseError, ScorerUnavailable
from genenv_verl.cli.faults import told

_Name = Annotated[str, typer.Argument(metavar="BENCHMARK", help=f"One of {', '.join(MODULES)}.")]
_Options = Annotated[
    list[str] | None,
    typer.Option("--option", metavar="NAME=VALUE", help="An option of the benchmark; may be given several times."),
]


def score(
    benchmark: _Name,
    outputs: Annotated[Path, typer.Option(help="Answers: JSON Lines with `id`, `record_id` and the answer's fields.")],
    out: Annotated[Path, typer.Option(help="Verdicts: JSON Lines with `id`, `score` and `reason`, in the same order.")],
    data: Annotated[
        Path | None, typer.Option(help="The benchmark's folder; not needed where its release is an installed package.")
    ] = None,
    summary: Annotated[bool, typer.Option("--summary", help="Print the aggregate as JSON.")] = False,
    option: _Options = None,
):
    """Scores answers as the official scorer does.

    Example: `genenv-verl score apibank --data ToolRL/benchmarks/API-Bank --outputs answers.jsonl --out verdicts.jsonl`
    """
    from genenv_verl.benchmarks.scoring import score_file

    scorer = _benchmark(benchmark, option)
    try:
        records = scorer.load(data)
        result = score_file(scorer, records, outputs, out)
    except (ReleaseError, ScorerUnavailable, OSError) as error:
        raise SystemExit(f"genenv: {told(error)}") from None
    for reason, count in result.unattributed.items():
        typer.echo(f"genenv: {count} of {result.lines} lines of {outputs}: {reason}; they count nowhere", err=True)
    for fault in result.scorer_errors:
        typer.echo(
            f"genenv: the scorer failed at {fault['id']} (record {fault['record_id']}): {fault['error']}", err=True
        )
    if summary:
        typer.echo(json.dumps(result.as_dict(scorer, len(records)), indent=1))
    if result.lines and not result.verdicts:
        raise SystemExit(f"genenv: no line of {outputs} is an answer to a record of this release")


def prepare(
    benchmark: _Name,
    out: Annotated[Path, typer.Option(help="Folder for validation.parquet, train.parquet and seeds.jsonl.")],
    source: Annotated[
        Path | None, typer.Option(help="The official release; not needed where it is an installed package.")
    ] = None,
    train_share: Annotated[
        float,
        typer.Option(
            help="Share of the episodes that is set apart for training, where the release has no training split. "
            "With 0 all of it is for validation.",
            min=0.0,
            max=0.9,
        ),
    ] = 0.2,
    max_tokens: Annotated[int, typer.Option(help="Limit of prompt and response together, in tokens.", min=1)] = 9_000,
    response_tokens: Annotated[int, typer.Option(help="What of it is kept for the response.", min=0)] = 1_024,
    partial: Annotated[bool, typer.Option("--partial", help="Take a release with other counts as it is.")] = False,
    option: _Options = None,
):
    """Turns an official release into verl's validation and training files, and seed tasks.

    Example: `genenv-verl prepare bamboogle --source ToolRL/benchmarks/Bamboogle --out data/bamboogle`
    """
    from genenv_verl.benchmarks.harness import Harness
    from genenv_verl.benchmarks.prepare import prepare as write_files

    cutter = _benchmark(benchmark, option, for_rows=True)
    harness = Harness(max_tokens=max_tokens, response_tokens=response_tokens)
    try:
        result = write_files(cutter, source, out, train_share=train_share, harness=harness, partial=partial)
    except (ReleaseError, ScorerUnavailable, OSError) as error:
        raise SystemExit(f"genenv: {told(error)}") from None
    for split in {**cutter.official_counts, **result.counts}:
        official = cutter.official_counts.get(split)
        typer.echo(f"{split}: {result.counts.get(split, 0):,}" + (f" (official: {official:,})" if official else ""))
    for file, rows in result.rows.items():
        typer.echo(f"{out / file}: {rows:,}" + ("" if rows else " (not written)"))
    for defect, count in result.left_out.items():
        typer.echo(f"left out of training: {count:,} with the defect {defect}")
    if result.too_long:
        typer.echo(f"genenv: {result.too_long:,} prompts are longer than the budget, even with cut results", err=True)


def _benchmark(name: str, options: list[str] | None, *, for_rows: bool = False) -> Benchmark:
    """The benchmark with the options of the command line; values are JSON where they can be, else text."""
    values: dict[str, Any] = {}
    for option in options or ():
        key, equals, text = option.partition("=")
        if not equals:
            raise SystemExit(f"genenv: --option {option}: write it as NAME=VALUE")
        try:
            values[key] = json.loads(text)
        except ValueError:
            values[key] = text
    try:
        defaults = benchmark_class(name).row_options if for_rows else {}
        return get_benchmark(name, **{**defaults, **values})
    except (ValueError, ImportError) as error:
        raise SystemExit(f"genenv: {error}") from None
