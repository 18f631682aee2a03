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
"""What a user asks for, checked before anything is started or paid."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from genenv_verl.benchmarks import MODULES, get_benchmark
from genenv_verl.benchmarks.base import Benchmark, Step
from genenv_verl.evaluation.chat import Decoding
from genenv_verl.evaluation.http import check_url, key_from_environment
from genenv_verl.evaluation.paper_rows import COLUMNS
from genenv_verl.evaluation.sampling import by_use, choose_steps
from genenv_verl.evaluation.styles import get_style

logger = logging.getLogger(__name__)

# Two scorers of one release.
_FOLDERS = {"bfcl_ast": "bfcl"}
# Releases that also come with an installed package.
_INSTALLED = frozenset({"bfcl", "bfcl_ast"})


class PlanError(ValueError):
    """An option of the evaluation cannot work; the message names it."""


@dataclass(frozen=True)
class Plan:
    """The options of an evaluation.

    Attributes:
        out: Folder of this model's results.
        model: Folder or hub name of a model that a local vLLM server is started for; with ``base_url`` its name there.
        base_url: An OpenAI-compatible endpoint.
        api_key_env: Environment variable with its key.
        benchmarks: Names, in the order in which they are run.
        data: Folder with a subfolder a benchmark.
        options: Options of benchmarks, by benchmark.
        limit: Most steps of a benchmark, None for all.
        style: Prompt style.
        decoding: How the model answers.
        context_tokens: Prompt and answer together, to which tool results are cut (the paper: 9,000).
        concurrency: Most requests at a time.
        timeout_s: Of one try of a request, in seconds.
        retries: Tries after the first.
        search: URL of a search endpoint or path of a corpus, for Bamboogle.
        search_key_env: Environment variable with the search endpoint's key.
        judge_url, judge_model, judge_key_env: The judge of Bamboogle's answers.
        server_arguments: Further arguments of the local vLLM server.
        seed: Of the bootstrap. ``decoding`` has its own.
    """

    out: Path
    model: str | None = None
    base_url: str | None = None
    api_key_env: str = "OPENAI_API_KEY"
    benchmarks: tuple[str, ...] = tuple(COLUMNS)
    data: Path | None = None
    options: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    limit: int | None = None
    style: str = "unified"
    decoding: Decoding = field(default_factory=Decoding)
    context_tokens: int = 9_000
    concurrency: int = 16
    timeout_s: float = 600.0
    retries: int = 5
    search: str | None = None
    search_key_env: str = "SERPER_API_KEY"
    judge_url: str | None = None
    judge_model: str | None = None
    judge_key_env: str = "OPENAI_API_KEY"
    server_arguments: tuple[str, ...] = ()
    seed: int = 0

    @property
    def search_is_url(self) -> bool:
        return self.search is not None and self.search.startswith(("http://", "https://"))


def check_plan(plan: Plan) -> None:
    """PlanError on the first option that cannot work."""
    if plan.model is None and plan.base_url is None:
        raise PlanError("give --model (a folder or hub name, for a local vLLM server) or --base-url (an endpoint)")
    if plan.base_url is None and plan.model.startswith(("/", ".", "~")) and not Path(plan.model).is_dir():
        raise PlanError(f"--model {plan.model}: there is no such folder")
    if plan.base_url is not None and plan.server_arguments:
        raise PlanError("--server-arg is for a server that is started here; with --base-url there is none")
    if not plan.benchmarks:
        raise PlanError("--benchmarks names no benchmark")
    if unknown := [name for name in plan.benchmarks if name not in MODULES]:
        raise PlanError(f"--benchmarks: {', '.join(map(repr, unknown))} is unknown; known are {', '.join(MODULES)}")
    if stray := plan.options.keys() - set(plan.benchmarks):
        raise PlanError(f"--option for {', '.join(sorted(stray))}, which --benchmarks does not name")
    if plan.judge_url is not None and plan.judge_model is None:
        raise PlanError("--judge-url needs --judge-model")
    if plan.judge_model is not None and plan.judge_url is None:
        raise PlanError("--judge-model needs --judge-url")
    for name in ("concurrency", "timeout_s", "context_tokens"):
        if not getattr(plan, name) > 0:
            raise PlanError(f"--{name.removesuffix('_s').replace('_', '-')} is {getattr(plan, name)}, not above 0")
    if plan.limit is not None and plan.limit < 1:
        raise PlanError(f"--limit is {plan.limit}, not above 0")
    if plan.retries < 0:
        raise PlanError(f"--retries is {plan.retries}, below 0")
    if plan.decoding.max_tokens < 1 or not 0 <= plan.decoding.temperature < 100:
        raise PlanError("--max-tokens has to be above 0, --temperature 0 or above")
    _check_texts(plan)


def _check_texts(plan: Plan) -> None:
    try:
        get_style(plan.style)
        for url, option in ((plan.base_url, "--base-url"), (plan.judge_url, "--judge-url")):
            if url is not None:
                check_url(url, option)
        if plan.search_is_url:
            check_url(plan.search, "--search")
        for variable in (plan.api_key_env, plan.search_key_env, plan.judge_key_env):
            key_from_environment(variable)
    except ValueError as error:
        raise PlanError(str(error)) from None


@dataclass(frozen=True)
class Chosen:
    """A benchmark with the steps that are asked, and the number of records that they were chosen from."""

    benchmark: Benchmark
    steps: list[Step]
    release_records: int


def make_benchmark(plan: Plan, name: str) -> Benchmark:
    """The benchmark with its options (PlanError if it does not have them)."""
    options = dict(plan.options.get(name, {}))
    if name == "bamboogle" and plan.search is None:
        options["max_rounds"] = 1  # nothing to search with: a closed book
    try:
        return get_benchmark(name, **options)
    except (ValueError, TypeError) as error:
        raise PlanError(f"--option for {name}: {error}") from None
    except ImportError as error:
        raise PlanError(f"benchmark {name} needs an extra that is not installed: {error}") from None


def source_folder(data: Path | None, name: str) -> Path | None:
    """The folder of a benchmark's release below ``--data``, None for a release that is an installed package."""
    folder = None if data is None else data / _FOLDERS.get(name, name)
    return None if folder is None or (name in _INSTALLED and not folder.exists()) else folder


def choose(plan: Plan, name: str) -> Chosen:
    """Loads a benchmark and chooses its steps.

    The training split is left out, unless nothing else can be scored; the result then says so.

    Raises:
        PlanError: The benchmark does not have an option, or no step.
        ReleaseError: The release is missing or damaged.
    """
    benchmark = make_benchmark(plan, name)
    records = benchmark.load(source_folder(plan.data, name))
    for split, (count, official) in benchmark.unofficial_counts(benchmark.counts(records)).items():
        logger.warning(
            "%s: split %s has %d, the official release %d: the figure is over what is there",
            name,
            split,
            count,
            official,
        )
    for candidates in by_use(records):
        if steps := choose_steps(benchmark, candidates, plan.limit):
            return Chosen(benchmark, steps, len(candidates))
    raise PlanError(f"the release of {name} holds no step that can be scored")
