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
"""The environment policy: a second verl worker group with rollout servers of its own.

It writes tasks through verl's LLM server client and is trained by reward-weighted regression (or with
GRPO's advantages) with verl's own engine.
"""

from __future__ import annotations

import asyncio
import logging
import math
import uuid
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import ray
import torch
from omegaconf import DictConfig
from tensordict import TensorDict
from tqdm import tqdm
from verl.checkpoint_engine import CheckpointEngineManager
from verl.single_controller.ray import (
    RayClassWithInitArgs,
    RayResourcePool,
    RayWorkerGroup,
    create_colocated_worker_cls,
)
from verl.utils import tensordict_utils as tu
from verl.utils.config import omega_conf_to_dataclass

from genenv_verl.config.settings import RegressionSettings
from genenv_verl.curriculum.ledger import Ledger
from genenv_verl.trainer.co_evolution import Request
from genenv_verl.trainer.environment_worker import EnvironmentServerManager, EnvironmentWorker
from genenv_verl.trainer.rwr_loss import make_rwr_loss, mean_kl

logger = logging.getLogger(__name__)


class ServerDied(RuntimeError):
    """A rollout server of the environment is gone for good."""


@dataclass(frozen=True)
class Written:
    """What came back for one request: ids as sampled; without any, ``problem`` says why."""

    prompt_ids: list[int]
    response_ids: list[int]
    text: str
    truncated: bool
    environment_step: int
    problem: str | None = None


@dataclass(frozen=True)
class Sample:
    """One generation for the update: prompt and response ids as sampled, and its weight."""

    prompt_ids: list[int]
    response_ids: list[int]
    weight: float


class EnvironmentPolicy:
    """Writes tasks, learns from their rewards.

    Args:
        config: the run's configuration with the environment's ``actor_rollout_ref`` (see ``config.environment``).
        regression: the ``genenv.rwr`` block.
        resource_pool: devices shared with the agent.
        replica_rank_offset: number of the agent's rollout replicas.
        trained: whether :meth:`update` will be called; an environment that is never trained needs no reference model.
        ledger: where scoring and training are counted.
    """

    def __init__(
        self,
        config: DictConfig,
        regression: RegressionSettings,
        resource_pool: RayResourcePool,
        replica_rank_offset: int,
        trained: bool,
        ledger: Ledger,
    ):
        self.config = config
        self.regression = regression
        self.ledger = ledger
        block = config.actor_rollout_ref
        self.rollout = block.rollout
        # as verl builds it: with model.tokenizer_path and model.custom_chat_template
        self.tokenizer = omega_conf_to_dataclass(block.model).tokenizer
        self.has_reference = trained and regression.kl_coef > 0.0
        role = "actor_rollout_ref" if self.has_reference else "actor_rollout"
        worker_class = RayClassWithInitArgs(
            cls=ray.remote(EnvironmentWorker), config=block, role=role, replica_rank_offset=replica_rank_offset
        )
        group = RayWorkerGroup(
            resource_pool=resource_pool,
            ray_cls_with_init=create_colocated_worker_cls({role: worker_class}),
            name_prefix="environment_" + uuid.uuid4().hex[:6],
            device_name=config.trainer.device,
        )
        self.workers = group.spawn(prefix_set=[role])[role]
        self.workers.init_model()
        self.workers.set_loss_fn(make_rwr_loss(regression.kl_coef if self.has_reference else 0.0))
        self.servers = EnvironmentServerManager.create(
            config=config,
            worker_group=self.workers,
            rollout_resource_pool=resource_pool,
            start_rank=replica_rank_offset,
        )
        checkpoint_engine = omega_conf_to_dataclass(block.rollout.checkpoint_engine)
        checkpoint_engine.backend = "naive"
        self._weight_sync = CheckpointEngineManager(
            config=checkpoint_engine, actor_wg=self.workers, replicas=self.servers.get_replicas()
        )
        self._weight_sync.sleep_replicas()
        self._client = self.servers.get_client()

    # ------------------------------------------------------------------ servers

    def wake(self, step: int) -> None:
        """Wakes the servers with the trainer's current weights, labelled with ``step``."""
        self._weight_sync.update_weights(step)

    def sleep(self) -> None:
        """Frees the servers' device memory."""
        self._weight_sync.sleep_replicas()

    # ------------------------------------------------------------------ writing

    def write(self, requests: Sequence[Request], description: str) -> list[Written]:
        """Samples one task instance for each request, with a progress bar.

        A request whose prompt leaves no room, or that the server refuses, yields an empty ``Written``: the epoch goes
        on without it and it is counted.

        Raises:
            ServerDied: It will never write again, and an epoch without tasks would look like a bad environment.
        """

        async def sample_all() -> list[Written]:
            progress = tqdm(total=len(requests), desc=description, unit="task", mininterval=1.0)
            room = asyncio.Semaphore(max(1, int(self.rollout.max_num_seqs)) * max(1, len(self.servers.get_replicas())))

            async def one(request: Request) -> Written:
                async with room:
                    written = await self._sample(request)
                progress.update(1)
                return written

            try:
                return await asyncio.gather(*(one(request) for request in requests))
            finally:
                progress.close()

        return asyncio.run(sample_all())

    def tokenize(self, messages: list[dict[str, str]]) -> list[int]:
        """The token ids of a request, up to where the environment begins to write."""
        return self.tokenizer.apply_chat_template(
            messages,
            add_generation_prompt=True,
            tokenize=True,
            return_dict=False,
            **self.config.data.get("apply_chat_template_kwargs", {}),
        )

    async def _sample(self, request: Request) -> Written:
        prompt_ids = self.tokenize(request.messages)
        if len(prompt_ids) > self.rollout.prompt_length:
            return Written([], [], "", False, 0, problem="seed_prompt_too_long")
        sampling = {
            "temperature": self.rollout.temperature,
            "top_p": self.rollout.top_p,
            "top_k": self.rollout.top_k,
            "max_tokens": self.rollout.response_length,
            "seed": request.sampling_seed,
        }
        try:
            output = await self._client.generate(uuid.uuid4().hex, prompt_ids=prompt_ids, sampling_params=sampling)
        except ValueError as error:  # raised by the server about this request
            logger.warning("genenv: no task for %s: %s: %.300s", request.task_id, type(error).__name__, error)
            return Written(prompt_ids, [], "", False, 0, problem="server_error")
        except (ray.exceptions.RayError, RuntimeError) as error:
            raise ServerDied(
                f"the environment's rollout servers do not answer (asked for {request.task_id}): "
                f"{type(error).__name__}; the same command continues the run from its last checkpoint"
            ) from error
        response_ids = list(output.token_ids)
        return Written(
            prompt_ids=list(prompt_ids),
            response_ids=response_ids,
            text=self.tokenizer.decode(response_ids, skip_special_tokens=True),
            truncated=bool(response_ids)
            and response_ids[-1] != self.tokenizer.eos_token_id
            and len(response_ids) >= self.rollout.response_length,
            environment_step=int(output.extra_fields.get("global_steps") or 0),
        )

    # ------------------------------------------------------------------ learning

    def update(self, samples: Sequence[Sample], seed: int) -> dict[str, Any]:
        """Weighted training on accepted generations.

        Before each optimizer step but the first, the divergence from the policy that sampled is measured on the
        step's own batch; beyond ``max_kl`` this and all later steps are left out.

        Args:
            samples: accepted generations; weights of mean 1, or advantages of either sign.
            seed: for the order of the batches.

        Returns:
            ``updates, loss, nll, kl_initial, kl_step, skipped_by_kl_cap, skipped_non_finite, grad_norm, tokens``.
        """
        samples = [sample for sample in samples if sample.response_ids]
        result: dict[str, Any] = {
            "updates": 0, "loss": None, "nll": None, "kl_initial": None, "kl_step": 0.0, "skipped_by_kl_cap": 0,
            "skipped_non_finite": 0, "grad_norm": None, "tokens": 0,
        }  # fmt: skip
        if not samples or all(sample.weight == 0.0 for sample in samples):
            return result
        sampled = self.log_probs(samples)
        reference = self.log_probs(samples, reference=True) if self.has_reference else None
        losses, nlls, norms = [], [], []
        capped = False
        for rows in self._batches_of_rows(samples, seed):
            batch = [samples[row] for row in rows]
            if result["updates"] and self.regression.max_kl is not None and not capped:
                divergence = mean_kl([sampled[row] for row in rows], self.log_probs(batch))
                # also when it is NaN
                capped = not divergence <= self.regression.max_kl
            if capped:
                result["skipped_by_kl_cap"] += 1
                continue
            metrics = self._optimizer_step(batch, None if reference is None else [reference[row] for row in rows])
            if not math.isfinite(metrics["grad_norm"]):
                # verl's engine leaves such a step out (fsdp/transformer_impl.py, ``optimizer_step``)
                result["skipped_non_finite"] += 1
                continue
            losses.append(metrics["loss"])
            nlls.append(metrics["nll_sum"] / sum(len(sample.response_ids) for sample in batch))
            norms.append(metrics["grad_norm"])
            result["updates"] += 1
            result["tokens"] += _tokens(batch)
        updated = self.log_probs(samples)
        result |= {
            "loss": _mean(losses),
            "nll": _mean(nlls),
            "grad_norm": _mean(norms),
            "kl_step": mean_kl(sampled, updated),
            "kl_initial": None if reference is None else mean_kl(updated, reference),
        }
        return result

    def _batches_of_rows(self, samples: Sequence[Sample], seed: int) -> Iterator[list[int]]:
        """Positions in ``samples`` for each optimizer step, in a new random order for each pass.

        A batch without any weight is left out: AdamW's moments and weight decay would still move the parameters.
        """
        generator = torch.Generator().manual_seed(seed)
        for _ in range(self.regression.epochs):
            order = torch.randperm(len(samples), generator=generator).tolist()
            for start in range(0, len(order), self.regression.batch_size):
                rows = order[start : start + self.regression.batch_size]
                if any(samples[row].weight != 0.0 for row in rows):
                    yield rows

    def log_probs(self, samples: Sequence[Sample], reference: bool = False) -> list[torch.Tensor]:
        """Log-probabilities of response tokens, one tensor a sample, under the policy or the initial environment."""
        data = self._batch(samples)
        tu.assign_non_tensor(data, temperature=1.0, calculate_entropy=False, compute_loss=False)
        with self.ledger.phase("environment", "score"):
            output = self.workers.compute_ref_log_prob(data) if reference else self.workers.compute_log_prob(data)
            rows = output["log_probs"].unbind()[: len(samples)]
        self.ledger.count("environment", "score", _tokens(samples))
        # entry t scores token t + 1
        return [
            row[len(s.prompt_ids) - 1 : len(s.prompt_ids) - 1 + len(s.response_ids)].float().cpu()
            for s, row in zip(samples, rows, strict=True)
        ]

    def _optimizer_step(self, samples: Sequence[Sample], reference: list[torch.Tensor] | None) -> dict[str, float]:
        data = self._batch(samples, reference)
        rows = data.batch_size[0]
        tu.assign_non_tensor(
            data,
            temperature=1.0,
            mini_batch_size=rows,
            global_batch_size=rows,
            epochs=1,
            seed=0,
            dataloader_kwargs={"shuffle": False},
            calculate_entropy=False,
        )
        with self.ledger.phase("environment", "train"):
            metrics = self.workers.update_actor(data)["metrics"]
        self.ledger.count("environment", "train", _tokens(samples))
        return {
            "loss": _total(metrics["loss"]),
            "grad_norm": _total(metrics["grad_norm"]),
            "nll_sum": _total(metrics["nll_sum"]),
        }

    def _batch(self, samples: Sequence[Sample], reference: list[torch.Tensor] | None = None) -> TensorDict:
        """Rows of ``prompt + response`` ids, padded to a multiple of the ranks with rows that carry no loss."""
        ranks = self.workers.world_size
        padded = list(samples)
        while len(padded) % ranks:
            padded.append(Sample(samples[0].prompt_ids, samples[0].response_ids, 0.0))
        ids = [s.prompt_ids + s.response_ids for s in padded]
        masks = [[0] * len(s.prompt_ids) + [int(i < len(samples))] * len(s.response_ids) for i, s in enumerate(padded)]
        fields: dict[str, torch.Tensor] = {
            "input_ids": _nested(ids, torch.long),
            "position_ids": _nested([list(range(len(row))) for row in ids], torch.long),
            "loss_mask": _nested(masks, torch.long),
            "rwr_weight": torch.tensor([s.weight for s in padded], dtype=torch.float32),
        }
        if reference is not None:
            rows = []
            for i, s in enumerate(padded):
                row = torch.zeros(len(s.prompt_ids) + len(s.response_ids))
                if i < len(samples):
                    row[len(s.prompt_ids) - 1 : len(row) - 1] = reference[i]
                rows.append(row)
            fields["ref_log_prob"] = torch.nested.as_nested_tensor(rows, layout=torch.jagged)
        return TensorDict(fields, batch_size=len(padded))

    # ------------------------------------------------------------------ checkpoint

    def save(self, folder: Path, step: int) -> None:
        """Model, optimizer, schedule and generator state, through verl's checkpoint manager."""
        self.workers.save_checkpoint(str(folder), None, step, max_ckpt_to_keep=None)

    def load(self, folder: Path) -> None:
        """Restores what :meth:`save` wrote."""
        self.workers.load_checkpoint(local_path=str(folder), del_local_after_load=False)


def _tokens(samples: Sequence[Sample]) -> int:
    """Prompt and response tokens."""
    return sum(len(sample.prompt_ids) + len(sample.response_ids) for sample in samples)


def _nested(rows: list[list[int]], dtype: torch.dtype) -> torch.Tensor:
    return torch.nested.as_nested_tensor([torch.tensor(row, dtype=dtype) for row in rows], layout=torch.jagged)


def _mean(values: list[float]) -> float | None:
    return sum(values) / len(values) if values else None


def _total(value: Any) -> float:
    """Sum over micro-batches and ranks of a metric that verl hands back as a number or as nested lists of numbers."""
    return sum(_total(entry) for entry in value) if isinstance(value, list | tuple) else float(value)
