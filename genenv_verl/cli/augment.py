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
"""The command that writes a fixed training set."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
import yaml

from genenv_verl.cli.evaluate import read_extra

if TYPE_CHECKING:
    from genenv_verl.tasks.manifest import Manifest
    from genenv_verl.variants.plan import AugmentPlan


def augment(
    seeds: Annotated[list[Path], typer.Option(help="Seed file, verl parquet or JSON Lines of tasks; repeatable.")],
    out: Annotated[Path, typer.Option(help="Folder of the training set; give it again to continue.")],
    model: Annotated[
        str | None,
        typer.Option(help="Hugging Face folder or name, for a local vLLM server; with --base-url its name there."),
    ] = None,
    base_url: Annotated[
        str | None, typer.Option(help="OpenAI-compatible endpoint of a teacher, http://host:8000/v1.")
    ] = None,
    n: Annotated[int, typer.Option("-n", help="Variations of each seed; with --target-multiple at most.")] = 5,
    target_multiple: Annotated[
        float | None, typer.Option(help="Rows over seeds at which writing stops; 1.76 and 3.27 are the paper's.")
    ] = None,
    agent_model: Annotated[
        str | None,
        typer.Option(help="Whose tokenizer checks the agent's limits; default: the local model's, or an estimate."),
    ] = None,
    max_prompt_tokens: Annotated[int, typer.Option(help="As data.max_prompt_length of the run.")] = 6000,
    max_response_tokens: Annotated[int, typer.Option(help="As data.max_response_length of the run.")] = 3000,
    temperature: Annotated[float, typer.Option(help="Of the writing.")] = 1.0,
    max_tokens: Annotated[int, typer.Option(help="Most new tokens of a variation.")] = 3000,
    concurrency: Annotated[int, typer.Option(help="Most requests at a time.")] = 16,
    timeout: Annotated[float, typer.Option(help="Seconds for one try of a request.")] = 600.0,
    retries: Annotated[int, typer.Option(help="Tries after the first.")] = 5,
    api_key_env: Annotated[str, typer.Option(help="Environment variable with the endpoint's key.")] = "OPENAI_API_KEY",
    extra_body: Annotated[
        str | None, typer.Option(help="JSON object of further fields of every request; null takes one out.")
    ] = None,
    server_arg: Annotated[
        list[str] | None,
        typer.Option(help="Argument of the local vLLM server, --tensor-parallel-size=2; repeatable."),
    ] = None,
    set_: Annotated[
        list[str] | None,
        typer.Option("--set", metavar="KEY=VALUE", help="A key of the genenv block, reward.match=subset; repeatable."),
    ] = None,
):
    """Writes the fixed training set of the variants `static` (local model) and `offline` (a teacher's endpoint).

    The seeds stand first, then their variations: the loop's prompt, parser and validity rules, written once. A run
    trains on it with `genenv.variant=static data.train_files=OUT/train.parquet`. The same command continues what was
    stopped and pays for nothing twice.

    Example: `genenv-verl augment --seeds seeds.parquet --base-url https://host/v1 --model teacher --target-multiple
    3.27 --out teacher_set`
    """
    from genenv_verl.config.settings import SettingsError
    from genenv_verl.evaluation.chat import Decoding
    from genenv_verl.variants.plan import AugmentPlan, augment_settings

    try:
        settings = augment_settings(tuple(seeds), n, _read_settings(set_ or []))
    except SettingsError as error:
        raise SystemExit(f"genenv: {str(error).replace('genenv.n_variations', '-n')}") from None
    plan = AugmentPlan(
        out=out,
        seeds=tuple(seeds),
        settings=settings,
        model=model,
        base_url=base_url,
        api_key_env=api_key_env,
        agent_model=agent_model,
        max_prompt_tokens=max_prompt_tokens,
        max_response_tokens=max_response_tokens,
        target_multiple=target_multiple,
        decoding=Decoding(temperature, max_tokens, settings.seed, read_extra(extra_body)),
        concurrency=concurrency,
        timeout_s=timeout,
        retries=retries,
        server_arguments=tuple(server_arg or ()),
    )
    _run(plan)


def _read_settings(entries: list[str]) -> dict[str, Any]:
    """``KEY=VALUE`` by key; values are read as YAML, as verl's command line does."""
    read = {}
    for entry in entries:
        key, equals, text = entry.partition("=")
        if not equals or not key:
            raise SystemExit(f"genenv: --set {entry}: write it as KEY=VALUE")
        try:
            read[key] = yaml.safe_load(text)
        except yaml.YAMLError:
            raise SystemExit(f"genenv: --set {entry}: {text!r} is no YAML value") from None
    return read


def _run(plan: AugmentPlan) -> None:
    import asyncio

    from genenv_verl.cli.augment_progress import AugmentProgress
    from genenv_verl.cli.evaluation_progress import sigterm_like_ctrl_c
    from genenv_verl.evaluation.cache import CacheInUse
    from genenv_verl.evaluation.http import EndpointError
    from genenv_verl.evaluation.local_model import ModelFolderError
    from genenv_verl.evaluation.plan import PlanError
    from genenv_verl.evaluation.vllm_server import ServerError
    from genenv_verl.tasks.prompts import TemplateError
    from genenv_verl.tasks.records import TaskFileError
    from genenv_verl.variants.augment import augment as write_set
    from genenv_verl.variants.augment import prepare
    from genenv_verl.variants.plan import check_plan

    try:
        check_plan(plan)
        job = prepare(plan)
        with sigterm_like_ctrl_c(), AugmentProgress(job.wanted or len(job.requests)) as progress:
            manifest = asyncio.run(write_set(job, progress.watch))
    except (PlanError, TaskFileError, TemplateError, ModelFolderError, CacheInUse) as error:
        raise SystemExit(f"genenv: {error}") from None
    except (EndpointError, ServerError) as error:
        raise SystemExit(f"genenv: {error}\ngenenv: the same command continues from {plan.out}") from None
    except KeyboardInterrupt:
        raise SystemExit(f"genenv: stopped; the same command continues from {plan.out}") from None
    _show(plan, manifest)


def _show(plan: AugmentPlan, manifest: Manifest) -> None:
    """Prints the account; ends with a status other than 0 where rows are missing that another try could bring."""
    print(f"genenv: {manifest.rows} rows: {manifest.seeds} seeds and {manifest.valid} variations")
    for reason, count in manifest.invalid_reasons.items():
        print(f"genenv:   {count} rejected ({reason})")
    for reason, count in manifest.failed.items():
        print(f"genenv:   {count} requests failed ({reason})")
    cost = manifest.tokens
    untold = f"; {cost.untold} answers came without a count" if cost.untold else ""
    print(f"genenv: tokens: {cost.prompt:,} of prompts, {cost.completion:,} of completions{untold}")
    if manifest.limits["counted_by"] == "estimate":
        print("genenv: the agent's limits were checked with an estimate of its tokens; --agent-model makes it exact")
    print(f"genenv: {plan.out}/train.parquet, tasks.jsonl, rejections.jsonl, manifest.json")
    if manifest.target_rows is not None and manifest.rows >= manifest.target_rows:
        return  # what failed is not missing
    if manifest.failed:
        raise SystemExit(
            f"genenv: {sum(manifest.failed.values())} requests have no answer; the same command asks again"
        )
    if not manifest.valid:
        raise SystemExit("genenv: no variation is valid, the set is the seeds alone: see rejections.jsonl")
    if manifest.target_rows is not None:
        raise SystemExit(
            f"genenv: {manifest.rows} of {manifest.target_rows} rows; the same command with a larger -n adds"
        )
