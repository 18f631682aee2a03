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
"""``trainer.v1.trainer_mode=genenv``: verl's synchronous GRPO trainer with an environment that writes its tasks.

The agent's step is verl's, untouched. Around it, by verl's hooks: at an epoch's first step the environment writes
tasks; each step's attempts are recorded; after the last step they are judged and the environment is trained. With
``genenv.variant=grpo`` every hook hands over to verl: the run is a stock run.
"""

from __future__ import annotations

import functools
import json
import logging
import math
import os
import threading
import time
import uuid
from collections import defaultdict
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import torch
import transfer_queue as tq
from omegaconf import DictConfig, OmegaConf, open_dict
from tensordict import TensorDict
from transfer_queue import KVBatchMeta
from verl.single_controller.ray import RayResourcePool
from verl.trainer.ppo.v1.trainer_base import register_trainer
from verl.trainer.ppo.v1.trainer_sync import PPOTrainerSync
from verl.utils import tensordict_utils as tu
from verl.utils.dataset.rl_dataset import collate_fn

from genenv_verl.config.environment import environment_config
from genenv_verl.config.settings import read_settings
from genenv_verl.curriculum.epochs import epoch_of_step
from genenv_verl.rewards.agent_reward import Scoring
from genenv_verl.rewards.solved import is_solved
from genenv_verl.tasks.novelty import SeenTasks
from genenv_verl.tasks.prompts import TokenBudget
from genenv_verl.tasks.sandbox.backends import shared_backend
from genenv_verl.tasks.validity import ValidityFilter, load_rules
from genenv_verl.trainer import checkpointing
from genenv_verl.trainer.co_evolution import BatchItem, CoEvolution, state_to_text
from genenv_verl.trainer.environment_policy import EnvironmentPolicy, Sample
from genenv_verl.trainer.evaluation_files import evaluation_set
from genenv_verl.trainer.generation import Attempt, Generation
from genenv_verl.trainer.run_directory import RunDirectory, write_atomically
from genenv_verl.trainer.seed_rows import read_seed_rows
from genenv_verl.trainer.unscored import neutral_scores
from genenv_verl.trainer.watchdog import Watchdog

logger = logging.getLogger(__name__)

SEEDED_AGENT_LOOP = "genenv_verl.trainer.seeded_rollouts.SeededAgentLoopManager"


@register_trainer("genenv")
class GenEnvTrainer(PPOTrainerSync):
    """verl's synchronous trainer plus the second player.

    Args:
        config: the run's configuration, resolved; ``config.genenv`` was validated by the driver already.
    """

    def __init__(self, config: DictConfig):
        self.settings = read_settings(OmegaConf.to_container(config.genenv, resolve=True))
        self.checkpoint_root = Path(os.path.abspath(config.trainer.default_local_dir))
        self.run = RunDirectory(self.checkpoint_root / "genenv") if self.settings.has_environment else None
        self.watchdog = Watchdog(self.settings.watchdog.model_dump(), self.checkpoint_root / "genenv" / "watchdog.txt")
        if self.settings.seeded_rollouts:
            with open_dict(config):
                config.actor_rollout_ref.rollout.agent.agent_loop_manager_class = SEEDED_AGENT_LOOP
        self._agent_failed = threading.Event()
        self._clear_timers()
        super().__init__(config)

    def _build_replay_buffer(self):
        # verl/trainer/ppo/v1/trainer_base.py compares trainer_mode with the literal "sync" in six places
        self.trainer_mode = "sync"
        buffer = super()._build_replay_buffer()
        buffer.poll_interval = self.settings.poll_interval
        return buffer

    # ------------------------------------------------------------------ set-up

    def _init_dataloader(self):
        if not self.settings.has_environment:
            super()._init_dataloader()
            self._default_save_freq(self.steps_per_epoch)
            return
        environment = environment_config(self.config)
        self.environment_config = environment
        rollout = environment.actor_rollout_ref.rollout
        self.co_evolution = CoEvolution(
            settings=self.settings,
            seeds=read_seed_rows(self.settings.seed_files, self.settings.agent_template),
            run=self.run,
            batch_size=self.config.data.train_batch_size,
            make_validity_filter=self._validity_filter,
            model_name=environment.actor_rollout_ref.model.path,
            sampling={key: rollout[key] for key in ("temperature", "top_p", "top_k")},
            # the environment is built later, but before it is asked for anything
            prompt_budget=TokenBudget(rollout.prompt_length, lambda messages: len(self.environment.tokenize(messages))),
        )
        steps = self.co_evolution.steps_per_epoch
        total = self.config.trainer.total_training_steps or steps * self.config.trainer.total_epochs
        with open_dict(self.config):
            self.config.trainer.total_training_steps = total
            environment.actor_rollout_ref.actor.optim.total_training_steps = total
        super()._init_dataloader()
        self.steps_per_epoch = steps
        self._default_save_freq(steps)

    def _default_save_freq(self, steps: int) -> None:
        if self.config.trainer.save_freq is None:
            with open_dict(self.config):
                self.config.trainer.save_freq = steps

    def _validity_filter(self, seen: SeenTasks) -> ValidityFilter:
        tokenizer = self.tokenizer
        load_rules(self.settings.validity_rules)

        def count_prompt_tokens(task) -> int:
            messages = self.co_evolution.agent_prompt.messages(task)
            options = self.config.data.get("apply_chat_template_kwargs", {})
            return len(
                tokenizer.apply_chat_template(messages, add_generation_prompt=True, return_dict=False, **options)
            )

        return ValidityFilter(
            max_prompt_tokens=self.config.data.max_prompt_length,
            max_response_tokens=self.config.data.max_response_length,
            count_prompt_tokens=count_prompt_tokens,
            count_response_tokens=lambda text: len(tokenizer.encode(text, add_special_tokens=False)),
            seen=seen,
            solves=functools.partial(is_solved, scoring=Scoring(**self.settings.reward.model_dump())),
            checkers=shared_backend(self.settings.sandbox),
            evaluation=evaluation_set(self.settings, self.config.data.val_files),
            max_same_template=self.settings.novelty.max_same_template,
            control_tokens=frozenset(tokenizer.all_special_tokens)
            | {token.content for token in tokenizer.added_tokens_decoder.values() if token.special},
        )

    def _setup(self):
        if not self.settings.has_environment:
            super()._setup()
            return
        if self.config.trainer.device != "cpu":
            # one after the other: vLLM measures free device memory while it starts
            super()._setup()
            self.environment = self._build_environment()
        else:
            with ThreadPoolExecutor(max_workers=1) as executor:
                environment = executor.submit(self._build_environment)
                try:
                    super()._setup()
                except BaseException:
                    self._agent_failed.set()
                    raise
                self.environment = environment.result()
        self._load_environment()

    def _build_environment(self) -> EnvironmentPolicy:
        agent = self.config.actor_rollout_ref.rollout
        replica_size = agent.tensor_model_parallel_size * agent.data_parallel_size * agent.pipeline_model_parallel_size
        pool = self._agent_resource_pool()
        return EnvironmentPolicy(
            config=self.environment_config,
            regression=self.settings.rwr,
            resource_pool=pool,
            replica_rank_offset=pool.world_size // replica_size,
            trained=self.settings.trains_environment,
        )

    def _agent_resource_pool(self) -> RayResourcePool:
        """The agent's pool, once verl has made it and placed the agent's workers on it."""
        while not self._agent_failed.wait(0.05):
            pools = self.resource_pool_manager.resource_pool_dict if hasattr(self, "resource_pool_manager") else {}
            if "global_pool" in pools and pools["global_pool"].pgs is not None:
                return pools["global_pool"]
        raise RuntimeError("the agent's set-up failed")

    def on_init_end(self):
        with self.watchdog.phase("weight_sync"):
            super().on_init_end()

    def on_train_begin(self):
        super().on_train_begin()
        # set-up, and the time between a kill and this start, belong to no epoch
        self._epoch_started = time.monotonic() - sum(self._seconds.values())
        if self.global_steps > self.total_training_steps:
            print(
                f"genenv: the run is complete ({self.total_training_steps} steps); nothing is left to train", flush=True
            )

    # ------------------------------------------------------------------ one epoch

    def on_step_begin(self):
        super().on_step_begin()
        if self.settings.has_environment and self._step_in_epoch() == 0:
            self._write_tasks()

    def _step_in_epoch(self) -> int:
        return (self.global_steps - 1) % self.steps_per_epoch

    def _write_tasks(self) -> None:
        """The environment writes the epoch's tasks; parse, validity and mixture follow."""
        epoch = epoch_of_step(self.global_steps, self.steps_per_epoch)
        loop = self.co_evolution
        with self._timed("env_generate"):
            with self.watchdog.phase("weight_sync"):
                self.environment.wake(self.global_steps - 1)
            requests = loop.requests(epoch)
            with self.watchdog.phase("write_tasks"):
                written = self.environment.write(requests, f"epoch {epoch}: writing tasks")
            self.environment.sleep()
            generations: list[Generation] = [
                loop.read(
                    request,
                    epoch=epoch,
                    step=answer.environment_step,
                    prompt_ids=answer.prompt_ids,
                    response_ids=answer.response_ids,
                    text=answer.text,
                    truncated=answer.truncated,
                    problem=answer.problem,
                )
                for request, answer in zip(requests, written, strict=True)
            ]
        loop.begin_epoch(epoch, generations)
        valid = sum(generation.task is not None for generation in generations)
        if not valid:
            print(f"genenv: epoch {epoch} has no valid task; it trains on base data and earlier tasks", flush=True)
        print(f"genenv: epoch {epoch}: {valid} of {len(generations)} generations are valid tasks", flush=True)

    def _fetch_one_gen_batch(self) -> TensorDict:
        if not self.settings.has_environment:
            return super()._fetch_one_gen_batch()
        self._items = self.co_evolution.batch(self._step_in_epoch())
        # trajectory keys are "<uid>_<session>_<index>" and verl splits them at "_": none may stand in a uid
        name = f"{self.settings.seed}/{self.global_steps}"
        uids = [str(uuid.uuid5(uuid.NAMESPACE_URL, f"{name}/{place}")) for place in range(len(self._items))]
        self._place_of_uid = {uid: place for place, uid in enumerate(uids)}
        batch = collate_fn([_dataset_row(item) for item in self._items])
        batch["uid"] = np.array(uids, dtype=object)
        return tu.get_tensordict(batch)

    def step(self, metrics: dict, timing_raw: dict) -> KVBatchMeta:
        with self.watchdog.phase("agent_step"), self._timed("agent"):
            batch = super().step(metrics, timing_raw)
            if self.settings.has_environment:
                self._record_attempts(batch)
        if self.settings.has_environment and self._step_in_epoch() == self.steps_per_epoch - 1:
            self._finish_epoch(metrics)
        return batch

    def _balance_batch(self, batch: KVBatchMeta, metrics, *args, **kwargs):
        if self.settings.seeded_rollouts:
            # rollouts arrive in any order; the order of a batch decides the order of floating-point sums
            batch.reorder(sorted(range(len(batch.keys)), key=lambda position: batch.keys[position]))
        return super()._balance_batch(batch, metrics, *args, **kwargs)

    def _compute_advantage(self, batch: KVBatchMeta, metrics: dict) -> KVBatchMeta:
        if self.settings.has_environment:
            self._neutralise_unscored(batch, metrics)
        return super()._compute_advantage(batch, metrics)

    def _neutralise_unscored(self, batch: KVBatchMeta, metrics: dict) -> None:
        """Gives attempts without a verdict the mean score of their group, so that their GRPO advantage is 0 and the
        baseline of the others is the mean over scored attempts. Does nothing where all attempts have a verdict."""
        data = tq.kv_batch_get(
            keys=batch.keys, partition_id=batch.partition_id, select_fields=["uid", "rm_scores", "extra_fields"]
        )
        infos = [_reward_info(fields) for fields in _objects(data["extra_fields"])]
        scored = [bool(info.get("scored", 1.0)) for info in infos]
        metrics["genenv/unscored_attempts"] = scored.count(False)
        if all(scored):
            return
        rows = list(data["rm_scores"].unbind())
        values = neutral_scores([row.sum().item() for row in rows], scored, _objects(data["uid"]))
        for place, value in enumerate(values):
            if not scored[place]:
                rows[place] = torch.zeros_like(rows[place])
                rows[place][-1] = value
        fields = tu.get_tensordict({"rm_scores": torch.nested.as_nested_tensor(rows, layout=torch.jagged)})
        tq.kv_batch_put(keys=batch.keys, partition_id=batch.partition_id, fields=fields)

    def _record_attempts(self, batch: KVBatchMeta) -> None:
        """p̂ comes from the GRPO attempts themselves: no second sweep."""
        rows = [row for row, tag in enumerate(batch.tags) if not tag.get("is_padding", False)]
        data = tq.kv_batch_get(
            keys=[batch.keys[row] for row in rows],
            partition_id=batch.partition_id,
            select_fields=["uid", "prompts", "responses", "extra_fields"],
        )
        attempts: list[list[Attempt]] = [[] for _ in self._items]
        columns = zip(
            _objects(data["uid"]),
            data["prompts"].unbind(),
            data["responses"].unbind(),
            _objects(data["extra_fields"]),
            strict=True,
        )
        for uid, prompt, response, fields in columns:
            info = _reward_info(fields)
            scored = bool(info.get("scored", 1.0))
            attempts[self._place_of_uid[uid]].append(
                Attempt(
                    response=self.tokenizer.decode(response, skip_special_tokens=True),
                    score=float(info.get("score", 0.0)),
                    success=scored and bool(info.get("success", 0.0)),
                    scored=scored,
                    reason=str(info.get("reason", "")),
                    response_tokens=len(response),
                    prompt_tokens=len(prompt),
                )
            )
        wanted = self.config.actor_rollout_ref.rollout.n
        for tries in attempts:
            lost = wanted - len(tries)
            tries.extend(Attempt("", 0.0, False, False, "rollout_failed", 0, 0) for _ in range(lost))
        self._tokens["agent_generate"] += sum(a.response_tokens for tries in attempts for a in tries)
        self._tokens["agent_train"] += sum(a.response_tokens + a.prompt_tokens for tries in attempts for a in tries)
        self.co_evolution.record(self.global_steps, self._items, attempts)

    def _finish_epoch(self, metrics: dict) -> None:
        """p̂, R_env, filter, weights, D_env and the environment's update; then the epoch's line."""
        loop = self.co_evolution
        verdict = loop.judge()
        for warning in verdict.warnings:
            logger.warning("genenv: %s", warning)
        training_set = loop.training_set(verdict)
        loop.store_environment_records(verdict, self.global_steps)
        update = None
        if self.settings.trains_environment:
            with self._timed("env_update"), self.watchdog.phase("environment_update"):
                samples = [Sample(g.prompt_ids, g.response_ids, weight) for g, weight in training_set]
                update = self.environment.update(samples, seed=self.settings.seed + loop.epoch)
            if not update["updates"]:
                print(f"genenv: epoch {loop.epoch}: the environment is not updated, no accepted generation", flush=True)
            self._tokens["env_train"] = update.pop("tokens")
        self._tokens["env_generate"] = sum(len(generation.response_ids) for generation in loop.generations)
        seconds = {
            name: round(self._seconds[name], 3) for name in ("env_generate", "agent", "env_update", "checkpoint")
        }
        line = {
            "epoch": loop.epoch,
            "global_step": self.global_steps,
            "variant": self.settings.variant,
            **loop.summary(verdict),
            "env_update": update,
            "tokens": {
                name: self._tokens[name] for name in ("env_generate", "env_train", "agent_generate", "agent_train")
            },
            "seconds": {**seconds, "total": round(time.monotonic() - self._epoch_started, 3)},
        }
        line = _without_non_finite(line)
        self.run.write_epoch(loop.epoch, line, [_without_non_finite(record) for record in loop.task_records(verdict)])
        metrics.update({f"genenv/{key}": value for key, value in _flat_numbers(line).items()})
        self._clear_timers()

    def on_step_end(self):
        with self.watchdog.phase("weight_sync"):
            super().on_step_end()

    # ------------------------------------------------------------------ checkpoint

    def _save_checkpoint(self):
        if not self.settings.has_environment:
            super()._save_checkpoint()
            return
        folder = checkpointing.checkpoint_folder(self.checkpoint_root, self.global_steps)
        keep = self.config.trainer.get("max_actor_ckpt_to_keep", None)
        finished = self._step_in_epoch() == self.steps_per_epoch - 1
        with self._timed("checkpoint"), self.watchdog.phase("checkpoint"):
            checkpointing.unmark(self.checkpoint_root, self.global_steps)
            self.environment.save(folder / "environment", self.global_steps)
            state = {
                "global_step": self.global_steps,
                "epoch_finished": finished,
                "steps_per_epoch": self.steps_per_epoch,
                "loop": self.co_evolution.state_dict(finished=finished),
                "timers": {"seconds": dict(self._seconds), "tokens": dict(self._tokens)},
            }
            write_atomically(folder / checkpointing.STATE_FILE, state_to_text(state))
            # verl deletes old agent folders by itself, before this checkpoint is complete: one decision, at the end
            with open_dict(self.config):
                self.config.trainer.max_actor_ckpt_to_keep = None
            try:
                super()._save_checkpoint()  # writes the tracker last
            finally:
                with open_dict(self.config):
                    self.config.trainer.max_actor_ckpt_to_keep = keep
            checkpointing.mark_complete(self.checkpoint_root, self.global_steps)
            checkpointing.prune(self.checkpoint_root, keep)

    def _load_checkpoint(self):
        if self.settings.has_environment and self.config.trainer.resume_mode == "auto":
            checkpointing.repair_tracker(self.checkpoint_root)
        super()._load_checkpoint()

    def _load_environment(self) -> None:
        """Brings the second player, pools, history and sampler to the step that verl has resumed from."""
        if self.global_steps == 0:
            self.co_evolution.start_afresh()
            return
        rolled_back = self.config.trainer.resume_mode == "resume_path"
        if rolled_back:
            folder = Path(os.path.abspath(self.config.trainer.resume_from_path))
        else:
            folder = checkpointing.checkpoint_folder(self.checkpoint_root, self.global_steps)
        state = json.loads((folder / checkpointing.STATE_FILE).read_text(encoding="utf-8"))
        if state["steps_per_epoch"] != self.steps_per_epoch:
            raise ValueError(
                f"genenv.steps_per_epoch is {self.steps_per_epoch}, but the checkpoint {folder} was written with "
                f"{state['steps_per_epoch']}: keep the value of the first start"
            )
        if rolled_back:
            checkpointing.roll_back(self.checkpoint_root, self.global_steps)
        self.environment.load(folder / "environment")
        self.co_evolution.load_state_dict(state["loop"], finished=state["epoch_finished"])
        self._seconds.update(state["timers"]["seconds"])
        self._tokens.update(state["timers"]["tokens"])
        print(f"genenv: resumed from {folder}", flush=True)

    # ------------------------------------------------------------------ ledger

    def _clear_timers(self) -> None:
        self._seconds: dict[str, float] = defaultdict(float)
        self._tokens: dict[str, int] = defaultdict(int)
        self._epoch_started = time.monotonic()

    @contextmanager
    def _timed(self, phase: str) -> Iterator[None]:
        started = time.monotonic()
        try:
            yield
        finally:
            self._seconds[phase] += time.monotonic() - started


def _dataset_row(item: BatchItem) -> dict[str, Any]:
    """One row as ``RLHFDataset.__getitem__`` (verl/utils/dataset/rl_dataset.py) hands it to the trainer."""
    row = item.row
    return {
        "data_source": row["data_source"],
        "raw_prompt": row["prompt"],
        "reward_model": row["reward_model"],
        # ids only: nothing that could be rendered into a prompt
        "extra_info": {"task_id": item.task_id, "origin": item.origin},
        "dummy_tensor": torch.tensor([0], dtype=torch.uint8),
        "index": row["extra_info"]["index"],
        "tools_kwargs": {},
        "interaction_kwargs": {},
    }


def _objects(column: Any) -> list[Any]:
    """A non-tensor column as a plain list: TransferQueue hands back one of several list types, by its values."""
    return [getattr(entry, "data", entry) for entry in column]


def _reward_info(extra_fields: Any) -> dict[str, Any]:
    return extra_fields.get("reward_extra_info", {}) if isinstance(extra_fields, dict) else {}


def _without_non_finite(value: Any) -> Any:
    """NaN and infinity as ``None``: they are no JSON."""
    if isinstance(value, dict):
        return {key: _without_non_finite(entry) for key, entry in value.items()}
    if isinstance(value, list | tuple):
        return [_without_non_finite(entry) for entry in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


def _flat_numbers(line: dict[str, Any], prefix: str = "") -> dict[str, float]:
    """The numbers of an epoch line under slash-separated names, for verl's logger."""
    flat: dict[str, float] = {}
    for key, value in line.items():
        if isinstance(value, dict):
            flat |= _flat_numbers(value, f"{prefix}{key}/")
        elif isinstance(value, int | float) and not isinstance(value, bool):
            flat[prefix + key] = value
    return flat
