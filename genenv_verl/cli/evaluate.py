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
"""Commands that evaluate a model and lay out what came of it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from genenv_verl.cli.faults import told

if TYPE_CHECKING:
    from genenv_verl.evaluation.plan import Chosen, Plan

_COLUMNS = "alfworld,bfcl,apibank,bamboogle,travelplanner"


def evaluate(
    out: Annotated[Path, typer.Option(help="Folder of this model's answers and results; give it again to continue.")],
    model: Annotated[
        str | None,
        typer.Option(help="Hugging Face folder or name, for a local vLLM server; with --base-url its name there."),
    ] = None,
    base_url: Annotated[str | None, typer.Option(help="OpenAI-compatible endpoint, http://host:8000/v1.")] = None,
    data: Annotated[Path | None, typer.Option(help="Folder with one subfolder a benchmark, named like it.")] = None,
    benchmarks: Annotated[str, typer.Option(help="Comma-separated names.")] = _COLUMNS,
    limit: Annotated[int | None, typer.Option(help="Most steps of a benchmark: always the same ones.")] = None,
    style: Annotated[
        str, typer.Option(help="Prompt style: unified, plain, toolrl, qwen, search_r1, research, torl.")
    ] = "unified",
    concurrency: Annotated[int, typer.Option(help="Most requests at a time.")] = 16,
    temperature: Annotated[float, typer.Option(help="0 is greedy.")] = 0.0,
    max_tokens: Annotated[int, typer.Option(help="Most new tokens of an answer.")] = 4096,
    seed: Annotated[int, typer.Option(help="Sent with every request, and that of the bootstrap.")] = 0,
    context_tokens: Annotated[
        int, typer.Option(help="Prompt and answer together; longer tool results of the history are cut to it.")
    ] = 9000,
    extra_body: Annotated[
        str | None, typer.Option(help="JSON object of further fields of every request; null takes one out.")
    ] = None,
    option: Annotated[
        list[str] | None, typer.Option(metavar="BENCHMARK.NAME=VALUE", help="An option of a benchmark; repeatable.")
    ] = None,
    search: Annotated[
        str | None,
        typer.Option(help="For Bamboogle: URL of a Serper-like endpoint, or a corpus (JSON Lines, folder of .txt)."),
    ] = None,
    judge_url: Annotated[str | None, typer.Option(help="For Bamboogle: endpoint of the judge.")] = None,
    judge_model: Annotated[str | None, typer.Option(help="The judge's name there.")] = None,
    timeout: Annotated[float, typer.Option(help="Seconds for one try of a request.")] = 600.0,
    retries: Annotated[int, typer.Option(help="Tries after the first.")] = 5,
    api_key_env: Annotated[str, typer.Option(help="Environment variable with the endpoint's key.")] = "OPENAI_API_KEY",
    judge_key_env: Annotated[str, typer.Option(help="The same of the judge.")] = "OPENAI_API_KEY",
    search_key_env: Annotated[str, typer.Option(help="The same of the search endpoint.")] = "SERPER_API_KEY",
    server_arg: Annotated[
        list[str] | None,
        typer.Option(help="Argument of the local vLLM server, --tensor-parallel-size=2; repeatable."),
    ] = None,
):
    """Evaluates a model on the paper's benchmarks and makes its row of the paper's table.

    Every answer is kept in --out: the same command continues where it was stopped, and asks nothing twice.

    Example: `genenv-verl evaluate --base-url http://127.0.0.1:8000/v1 --data benchmarks --benchmarks apibank,bamboogle
    --out results/my_model`
    """
    from genenv_verl.evaluation.chat import Decoding
    from genenv_verl.evaluation.plan import Plan

    plan = Plan(
        out=out,
        model=model,
        base_url=base_url,
        api_key_env=api_key_env,
        benchmarks=tuple(dict.fromkeys(name.strip() for name in benchmarks.split(",") if name.strip())),
        data=data,
        options=_read_options(option or []),
        limit=limit,
        style=style,
        decoding=Decoding(temperature, max_tokens, seed, read_extra(extra_body)),
        context_tokens=context_tokens,
        concurrency=concurrency,
        timeout_s=timeout,
        retries=retries,
        search=search,
        search_key_env=search_key_env,
        judge_url=judge_url,
        judge_model=judge_model,
        judge_key_env=judge_key_env,
        server_arguments=tuple(server_arg or ()),
        seed=seed,
    )
    _run(plan)


def _run(plan: Plan) -> None:
    from genenv_verl.benchmarks.base import ScorerUnavailable
    from genenv_verl.cli.evaluation_progress import EvaluationProgress, show_results, sigterm_like_ctrl_c
    from genenv_verl.evaluation.cache import CacheInUse
    from genenv_verl.evaluation.corpus_search import CorpusError
    from genenv_verl.evaluation.http import EndpointError
    from genenv_verl.evaluation.local_model import ModelFolderError
    from genenv_verl.evaluation.plan import PlanError, check_plan
    from genenv_verl.evaluation.results import ResultError
    from genenv_verl.evaluation.session import run_plan
    from genenv_verl.evaluation.vllm_server import ServerError

    try:
        check_plan(plan)
        chosen = _choose_all(plan)
        counts = {name: len(part.steps) for name, part in chosen.items()}
        with sigterm_like_ctrl_c(), EvaluationProgress(counts) as progress:
            results = progress.run(run_plan(plan, chosen, progress.watch))
    except (PlanError, CorpusError, ModelFolderError, ResultError, CacheInUse, OSError) as error:
        raise SystemExit(f"genenv: {told(error)}") from None
    except (EndpointError, ServerError, ScorerUnavailable) as error:
        raise SystemExit(f"genenv: {error}\ngenenv: the same command continues from {plan.out}") from None
    except KeyboardInterrupt:
        raise SystemExit(f"genenv: stopped; the same command continues from {plan.out}") from None
    failed = show_results(plan.out, results)
    if failed:
        steps = f"{failed} step has" if failed == 1 else f"{failed} steps have"
        raise SystemExit(f"genenv: {steps} no verdict; the same command asks again")


def _choose_all(plan: Plan) -> dict[str, Chosen]:
    """The steps of every benchmark. All benchmarks that cannot be read are named at once (SystemExit)."""
    from genenv_verl.benchmarks.base import ReleaseError
    from genenv_verl.evaluation.plan import PlanError, choose

    chosen: dict[str, Chosen] = {}
    faults = []
    for name in plan.benchmarks:
        typer.echo(f"genenv: reading {name}", err=True)
        try:
            chosen[name] = choose(plan, name)
        except (PlanError, ReleaseError, OSError) as error:
            faults.append(f"genenv: {name}: {told(error)}")
    if faults and chosen:
        faults.append(f"genenv: --benchmarks {','.join(chosen)} evaluates what is there")
    if faults:
        raise SystemExit("\n".join(faults))
    return chosen


def _read_options(options: list[str]) -> dict[str, dict[str, Any]]:
    """``BENCHMARK.NAME=VALUE`` by benchmark; values are JSON where they can be, else text."""
    read: dict[str, dict[str, Any]] = {}
    for option in options:
        key, equals, text = option.partition("=")
        benchmark, dot, name = key.partition(".")
        if not equals or not dot or not name:
            raise SystemExit(f"genenv: --option {option}: write it as BENCHMARK.NAME=VALUE")
        try:
            value = json.loads(text)
        except ValueError:
            value = text
        read.setdefault(benchmark, {})[name] = value
    return read


def read_extra(text: str | None) -> dict[str, Any]:
    """The fields of ``--extra-body`` (SystemExit with what is wrong with them)."""
    try:
        extra = json.loads(text or "{}")
    except ValueError:
        extra = None
    if not isinstance(extra, dict):
        raise SystemExit(f"genenv: --extra-body {text!r} is no JSON object")
    if taken := extra.keys() & {"model", "messages", "stream", "n"}:
        raise SystemExit(f"genenv: --extra-body: {', '.join(sorted(taken))} is not yours to set")
    return extra


def table(
    runs: Annotated[list[Path], typer.Argument(help="Folders given as --out, one a row.")],
    format: Annotated[str, typer.Option(help="markdown, csv or json.")] = "markdown",
    paper: Annotated[bool, typer.Option(help="With the paper's twelve rows, marked as quoted.")] = True,
):
    """Prints the paper's Table 1 with the rows of your runs.

    Example: `genenv-verl table results/base results/trained > table.md`
    """
    from genenv_verl.evaluation.results import ResultError, read_results
    from genenv_verl.evaluation.table import WRITERS, measured_row, paper_rows, row_names

    if format not in WRITERS:
        raise SystemExit(f"genenv: --format {format!r} is unknown; known are {', '.join(WRITERS)}")
    try:
        results = {run: read_results(run) for run in runs}
    except ResultError as error:
        raise SystemExit(f"genenv: {error}") from None
    names = row_names(results)
    rows = [measured_row(names[run], results[run]) for run in results]
    typer.echo(WRITERS[format]((paper_rows() if paper else []) + rows), nl=False)


def compare(
    first: Annotated[Path, typer.Argument(help="The --out folder of one run.")],
    second: Annotated[Path, typer.Argument(help="That of another; differences are second minus first.")],
    data: Annotated[Path | None, typer.Option(help="As for `evaluate`: the figures are computed anew.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
    seed: Annotated[int, typer.Option(help="Of the bootstrap.")] = 0,
):
    """Compares two runs on the steps that both have answered: paired bootstrap by episode, and the exact sign test.

    Example: `genenv-verl compare results/base results/trained --data benchmarks`
    """
    from genenv_verl.benchmarks.base import ReleaseError
    from genenv_verl.evaluation.comparison import compare_runs, comparison_table
    from genenv_verl.evaluation.plan import PlanError
    from genenv_verl.evaluation.results import ResultError

    try:
        comparisons = compare_runs(first, second, data, seed=seed)
    except (ResultError, ReleaseError, PlanError) as error:
        raise SystemExit(f"genenv: {error}") from None
    typer.echo(json.dumps(comparisons, indent=1) if as_json else comparison_table(comparisons))
