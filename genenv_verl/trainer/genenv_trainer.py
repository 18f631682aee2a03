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
variants without an environment every hook hands over to verl and only counts: the run is a stock run.
"""

from __future__ import annotations

import json
import logging
import math
import os
import threading
import uuid
from concurrent.futures import ThreadPoolExecutor
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
from verl.utils import tensordict_utils as tu
from verl.utils.dataset.rl_dataset import collate_fn

from genenv_verl.config.environment import environment_config
from genenv_verl.config.settings import read_settings
from genenv_verl.curriculum.epochs import epoch_of_step
from genenv_verl.curriculum.ledger import Ledger
from genenv_verl.curriculum.verdicts import EpochVerdict
from genenv_verl.tasks.manifest import manifest_of
from genenv_verl.tasks.novelty import SeenTasks
from genenv_verl.tasks.prompts import TokenBudget
from genenv_verl.tasks.validity import ValidityFilter
from genenv_verl.trainer import checkpointing
from genenv_verl.trainer.co_evolution import BatchItem, CoEvolution, state_to_text
from genenv_verl.trainer.counted_trainer import CountedTrainer
from genenv_verl.trainer.environment_policy import EnvironmentPolicy, Sample
from genenv_verl.trainer.generation import Attempt, Generation
from genenv_verl.trainer.memory import MemoryMonitor
from genenv_verl.trainer.parameter_count import parameter_count
from genenv_verl.trainer.run_cost import RunCost
from genenv_verl.trainer.run_directory import EpochFile, RunDirectory, write_atomically
from genenv_verl.trainer.run_validity import AgentTokens, run_validity
from genenv_verl.trainer.seed_rows import read_seed_rows
from genenv_verl.trainer.unscored import neutral_scores
from genenv_verl.trainer.validation_record import record_validation
from genenv_verl.trainer.watchdog import Watchdog

logger = logging.getLogger(__name__)

SEEDED_AGENT_LOOP = "genenv_verl.trainer.seeded_rollouts.SeededAgentLoopManager"


@register_trainer("genenv")
class GenEnvTrainer(CountedTrainer):
    """verl's synchronous trainer plus the second player.

    Args:
        config: the run's configuration, resolved; ``config.genenv`` was validated by the driver already.
    """

    def __init__(self, config: DictConfig):
        self.settings = read_settings(OmegaConf.to_container(config.genenv, resolve=True))
        self.checkpoint_root = Path(os.path.abspath(config.trainer.default_local_dir))
        folder = self.checkpoint_root / "genenv"
        self.run = RunDirectory(folder) if self.settings.has_environment else None
        self.epochs = self.run.epochs if self.run else EpochFile(folder / "epochs.jsonl")
        self.cost = self._new_cost(config)
        self.watchdog = Watchdog(self.settings.watchdog.model_dump(), self.checkpoint_root / "genenv" / "watchdog.txt")
        if self.settings.seeded_rollouts:
            with open_dict(config):
                config.actor_rollout_ref.rollout.agent.agent_loop_manager_class = SEEDED_AGENT_LOOP
        self._agent_failed = threading.Event()
        super().__init__(config)

    def _new_cost(self, config: DictConfig) -> RunCost:
        models = {"agent": config.actor_rollout_ref.model}
        if self.settings.has_environment:
            models["environment"] = environment_config(config).actor_rollout_ref.model
        parameters = {
            player: parameter_count(model.path, trust_remote_code=model.get("trust_remote_code", False))
            for player, model in models.items()
        }
        return RunCost(Ledger(parameters, MemoryMonitor().start()), self.settings.budget.model_dump())

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
            sampling={
                **{key: rollout[key] for key in ("temperature", "top_p", "top_k")},
                "max_tokens": rollout["response_length"],
            },
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
        data = self.config.data
        options = data.get("apply_chat_template_kwargs", {})
        return run_validity(
            self.settings,
            AgentTokens.of_tokenizer(self.tokenizer, self.config.actor_rollout_ref.model.path, options),
            seen,
            max_prompt_tokens=data.max_prompt_length,
            max_response_tokens=data.max_response_length,
            val_files=data.val_files,
        )

    def _setup(self):
        if not self.settings.has_environment:
            super()._setup()
            self._load_cost()
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
            ledger=self.cost.ledger,
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
        self.cost.start()
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
        ledger = self.cost.ledger
        with self.cost.timed("env_generate"):
            with ledger.phase("environment", "sync"), self.watchdog.phase("weight_sync"):
                self.environment.wake(self.global_steps - 1)
            requests = loop.requests(epoch)
            with ledger.phase("environment", "generate"), self.watchdog.phase("write_tasks"):
                written = self.environment.write(requests, f"epoch {epoch}: writing tasks")
            with ledger.phase("environment", "sync"):
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
        self.cost.tokens["env_generate"] += sum(len(answer.response_ids) for answer in written)
        total = sum(len(answer.prompt_ids) + len(answer.response_ids) for answer in written)
        ledger.count("environment", "generate", total)
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
        with self.watchdog.phase("agent_step"), self.cost.timed("agent"):
            batch = super().step(metrics, timing_raw)
            if self.settings.has_environment:
                self._record_attempts(batch)
            else:
                self._count_attempts(batch)
        finished = self._step_in_epoch() == self.steps_per_epoch - 1
        if finished:
            self._finish_epoch(metrics)
        self._stop_at_the_budget(metrics, finished)
        return batch

    def _stop_at_the_budget(self, metrics: dict, finished: bool) -> None:
        """Ends the run after this step once ``genenv.budget`` is used up."""
        limit = self.cost.limit_reached(self.global_steps)
        if limit is None:
            # the last step of a run may stand in the middle of an epoch of verl's data
            if not finished and not self.settings.has_environment and self.global_steps >= self.total_training_steps:
                self._write_line({}, [], metrics)
            return
        if not finished:
            self._show_unfinished_epoch(metrics)
        print(f"genenv: genenv.budget.{limit} is used up after step {self.global_steps}; the run ends", flush=True)
        # verl's loop then saves, validates and leaves by itself
        self.total_training_steps = self.global_steps
        with open_dict(self.config):
            for key in ("save_freq", "test_freq"):
                if self.config.trainer[key] > 0:
                    self.config.trainer[key] = self.global_steps

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
        self._count_tokens(
            sum(a.prompt_tokens for tries in attempts for a in tries),
            sum(a.response_tokens for tries in attempts for a in tries),
        )
        self.co_evolution.record(self.global_steps, self._items, attempts)

    def _finish_epoch(self, metrics: dict) -> None:
        """p̂, R_env, filter, weights, D_env and the environment's update; then the epoch's line."""
        if not self.settings.has_environment:
            self._write_line({}, [], metrics)
        else:
            verdict = self.co_evolution.judge()
            for warning in self.co_evolution.warnings(verdict):
                logger.warning("genenv: %s", warning)
            training_set = self.co_evolution.training_set(verdict)
            self.co_evolution.store_environment_records(verdict, self.global_steps)
            update = self._train_environment(training_set) if self.settings.trains_environment else None
            self._write_verdict(verdict, update, metrics)
        self.cost.close_epoch()

    def _show_unfinished_epoch(self, metrics: dict) -> None:
        """Writes the line of an epoch that the budget cuts off.

        Nothing is updated: should the run go on with a larger budget, it goes on in the middle of this epoch, and the
        line is written again at its end.
        """
        if self.settings.has_environment:
            self._write_verdict(self.co_evolution.verdict(), None, metrics)
        else:
            self._write_line({}, [], metrics)

    def _train_environment(self, training_set: list[tuple[Generation, float]]) -> dict[str, Any]:
        with self.cost.timed("env_update"), self.watchdog.phase("environment_update"):
            samples = [Sample(g.prompt_ids, g.response_ids, weight) for g, weight in training_set]
            update = self.environment.update(samples, seed=self.settings.seed + self.co_evolution.epoch)
        if not update["updates"]:
            epoch = self.co_evolution.epoch
            print(f"genenv: epoch {epoch}: the environment is not updated, no generation has a weight", flush=True)
        self.cost.tokens["env_train"] += update.pop("tokens")
        return update

    def _write_verdict(self, verdict: EpochVerdict, update: dict[str, Any] | None, metrics: dict) -> None:
        loop = self.co_evolution
        self._write_line({**loop.summary(verdict), "env_update": update}, loop.task_records(verdict), metrics)

    def _write_line(self, findings: dict[str, Any], tasks: list[dict[str, Any]], metrics: dict) -> None:
        """The epoch's line, and its task file where there is an environment."""
        epoch = epoch_of_step(self.global_steps, self.steps_per_epoch)
        line = _without_non_finite(
            {
                "epoch": epoch,
                "global_step": self.global_steps,
                "variant": self.settings.variant,
                **findings,
                **self.cost.fields(self.global_steps),
            }
        )
        if self.run is None:
            self.epochs.write(line)
        else:
            self.run.write_epoch(epoch, line, [_without_non_finite(record) for record in tasks])
        # the ledger's fifty numbers are for the line alone
        numbers = _flat_numbers({key: value for key, value in line.items() if key != "ledger"})
        metrics.update({f"genenv/{key}": value for key, value in numbers.items()})

    def on_step_end(self):
        with self.watchdog.phase("weight_sync"):
            super().on_step_end()

    def _validate(self) -> dict[str, float]:
        metrics = super()._validate()
        record_validation(self.checkpoint_root / "genenv" / "validation.jsonl", self.global_steps, metrics)
        return metrics

    # ------------------------------------------------------------------ checkpoint

    def _save_checkpoint(self):
        folder = checkpointing.checkpoint_folder(self.checkpoint_root, self.global_steps)
        if not self.settings.has_environment:
            with self.cost.timed("checkpoint"):
                write_atomically(folder / checkpointing.COST_FILE, json.dumps(self.cost.state_dict()))
                super()._save_checkpoint()
            return
        keep = self.config.trainer.get("max_actor_ckpt_to_keep", None)
        finished = self._step_in_epoch() == self.steps_per_epoch - 1
        with self.cost.timed("checkpoint"), self.watchdog.phase("checkpoint"):
            checkpointing.unmark(self.checkpoint_root, self.global_steps)
            self.environment.save(folder / "environment", self.global_steps)
            state = {
                "global_step": self.global_steps,
                "epoch_finished": finished,
                "steps_per_epoch": self.steps_per_epoch,
                "loop": self.co_evolution.state_dict(finished=finished),
                "timers": self.cost.state_dict(),
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
        folder = self._resumed_folder()
        state = json.loads((folder / checkpointing.STATE_FILE).read_text(encoding="utf-8"))
        if state["steps_per_epoch"] != self.steps_per_epoch:
            raise ValueError(
                f"genenv.steps_per_epoch is {self.steps_per_epoch}, but the checkpoint {folder} was written with "
                f"{state['steps_per_epoch']}: keep the value of the first start"
            )
        if self.config.trainer.resume_mode == "resume_path":
            checkpointing.roll_back(self.checkpoint_root, self.global_steps)
        self.environment.load(folder / "environment")
        self.co_evolution.load_state_dict(state["loop"], finished=state["epoch_finished"])
        self.cost.load_state_dict(state["timers"])
        self._end_if_spent()
        print(f"genenv: resumed from {folder}", flush=True)

    def _resumed_folder(self) -> Path:
        if self.config.trainer.resume_mode == "resume_path":
            return Path(os.path.abspath(self.config.trainer.resume_from_path))
        return checkpointing.checkpoint_folder(self.checkpoint_root, self.global_steps)

    def _load_cost(self) -> None:
        """Without an environment: what the run has used up to the step that verl has resumed from."""
        self.epochs.cut_back(self.global_steps // self.steps_per_epoch)
        if self.global_steps == 0:
            if self.settings.has_fixed_set:
                self._count_writing()
            return
        file = self._resumed_folder() / checkpointing.COST_FILE
        if file.is_file():
            self.cost.load_state_dict(json.loads(file.read_text(encoding="utf-8")))
        else:
            logger.warning("genenv: %s is missing; tokens and seconds are counted from here on", file)
        self._end_if_spent()

    def _count_writing(self) -> None:
        """What the fixed training set cost once: the writer's tokens stand in the first epoch."""
        files = self.config.data.train_files
        for file in [files] if isinstance(files, str) else files:
            tokens = manifest_of(Path(file).expanduser(), self.settings.variant).tokens
            self.cost.tokens["env_generate"] += tokens.completion
            self.cost.ledger.count("environment", "generate", tokens.prompt + tokens.completion)

    def _end_if_spent(self) -> None:
        """A run that is started again with a budget that is used up has nothing left to do."""
        if self.cost.limit_reached(self.global_steps) is not None:
            self.total_training_steps = self.global_steps


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
