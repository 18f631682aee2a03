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
"""What a user asks ``genenv-verl augment`` for, checked before anything is started or paid."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from genenv_verl.config.settings import Settings, SettingsError, read_settings
from genenv_verl.evaluation.chat import Decoding
from genenv_verl.evaluation.http import check_url, key_from_environment
from genenv_verl.evaluation.plan import Plan, PlanError
from genenv_verl.evaluation.vllm_server import vllm_version
from genenv_verl.tasks.records import from_verl_row
from genenv_verl.tasks.schema import Task
from genenv_verl.trainer.seed_rows import read_seed_rows

SERVED_HERE = ("seeds", "environment", "variant", "budget", "steps_per_epoch", "n_variations")
"""Settings that have an option of their own, or no meaning without a run."""


@dataclass(frozen=True)
class AugmentPlan:
    """The options of ``genenv-verl augment``.

    Attributes:
        out: Folder of the training set.
        seeds: Seed files.
        settings: The ``genenv`` block: templates, rewards, validity rules, ``n_variations`` and the seed.
        model: Folder or hub name of a model that a local vLLM server is started for; with ``base_url`` its name there.
        base_url: An OpenAI-compatible endpoint: the teacher of the variant ``offline``.
        api_key_env: Environment variable with its key.
        agent_model: Whose tokenizer counts the agent's tokens; None for the local model's, or an estimate.
        max_prompt_tokens: Limit of the agent's prompt, and of the writer's.
        max_response_tokens: Limit of the agent's response.
        target_multiple: Rows over seeds at which writing stops; None for all variations.
        decoding: How the model writes.
        concurrency: Most requests at a time.
        timeout_s: Of one try of a request, in seconds.
        retries: Tries after the first.
        server_arguments: Further arguments of the local vLLM server.
    """

    out: Path
    seeds: tuple[Path, ...]
    settings: Settings
    model: str | None = None
    base_url: str | None = None
    api_key_env: str = "OPENAI_API_KEY"
    agent_model: str | None = None
    max_prompt_tokens: int = 6000
    max_response_tokens: int = 3000
    target_multiple: float | None = None
    decoding: Decoding = field(default_factory=lambda: Decoding(temperature=1.0, max_tokens=3000))
    concurrency: int = 16
    timeout_s: float = 600.0
    retries: int = 5
    server_arguments: tuple[str, ...] = ()

    @property
    def variant(self) -> str:
        """``offline`` with an endpoint, ``static`` with a local server."""
        return "static" if self.base_url is None else "offline"


def check_plan(plan: AugmentPlan) -> None:
    """PlanError on the first option that cannot work."""
    if plan.model is None and plan.base_url is None:
        raise PlanError("give --model (a folder or hub name, for a local vLLM server) or --base-url (an endpoint)")
    if plan.base_url is not None and plan.server_arguments:
        raise PlanError("--server-arg is for a server that is started here; with --base-url there is none")
    for name in ("concurrency", "timeout_s", "max_prompt_tokens", "max_response_tokens"):
        if not getattr(plan, name) > 0:
            raise PlanError(f"--{name.removesuffix('_s').replace('_', '-')} is {getattr(plan, name)}, not above 0")
    if plan.retries < 0:
        raise PlanError(f"--retries is {plan.retries}, below 0")
    if plan.decoding.max_tokens < 1 or not 0 <= plan.decoding.temperature < 100:
        raise PlanError("--max-tokens has to be above 0, --temperature 0 or above")
    try:
        if plan.base_url is not None:
            check_url(plan.base_url, "--base-url")
        key_from_environment(plan.api_key_env)
    except ValueError as error:
        raise PlanError(str(error)) from None


def writer_plan(plan: AugmentPlan) -> Plan:
    """The model that writes, as the evaluation's client and server know one.

    Raises:
        ServerError: A local server is wanted and vLLM is missing.
    """
    arguments: tuple[str, ...] = ()
    if plan.base_url is None:
        # The loop samples from the policy as it is, without the top-p or top-k that a model's own defaults may hold.
        arguments = ("--generation-config", "vllm")
        if vllm_version().endswith("cpu"):
            # A request with a seed whose prompt is cut into chunks ends vLLM 0.27 on a CPU (see genenv_cpu.yaml).
            arguments += ("--no-enable-chunked-prefill",)
    return Plan(
        out=plan.out,
        model=plan.model,
        base_url=plan.base_url,
        api_key_env=plan.api_key_env,
        decoding=plan.decoding,
        context_tokens=plan.max_prompt_tokens,
        concurrency=plan.concurrency,
        timeout_s=plan.timeout_s,
        retries=plan.retries,
        server_arguments=arguments + plan.server_arguments,
    )


def read_seeds(plan: AugmentPlan) -> list[tuple[Task, list[dict[str, str]]]]:
    """The seed tasks with the prompts of their rows, which the training set keeps.

    Raises:
        TaskFileError: A file cannot be read or has broken rows.
        PlanError: There is no seed, or two have one name.
    """
    rows = read_seed_rows([str(path) for path in plan.seeds], plan.settings.agent_template)
    seeds = [(from_verl_row(row), row["prompt"]) for row in rows]
    if not seeds:
        raise PlanError(f"--seeds {', '.join(map(str, plan.seeds))}: no seed task in it")
    names: set[str] = set()
    for task, _ in seeds:
        if task.task_id in names:
            raise PlanError(f"--seeds: two tasks are called {task.task_id!r}, each name must be used once")
        names.add(task.task_id)
    return seeds


def augment_settings(seeds: tuple[Path, ...], n_variations: int, overrides: Mapping[str, Any]) -> Settings:
    """The ``genenv`` block that the set is written with.

    Args:
        seeds: Seed files.
        n_variations: Variations of each seed.
        overrides: Values by dotted key, with or without ``genenv.`` in front.

    Raises:
        SettingsError: A key or a value is not allowed.
    """
    block: dict[str, Any] = {"seeds": [str(path) for path in seeds], "n_variations": n_variations}
    for dotted, value in overrides.items():
        *parents, last = dotted.removeprefix("genenv.").split(".")
        if (parents or [last])[0] in SERVED_HERE:
            raise SettingsError(f"--set {dotted}: this key has an option of its own, or no meaning without a run")
        inner = block
        for parent in parents:
            inner = inner.setdefault(parent, {})
            if not isinstance(inner, dict):
                raise SettingsError(f"--set {dotted}: {parent} is set to a value already")
        inner[last] = value
    return read_settings(block)
