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
"""Compares the environment's update, run by verl's FSDP2 engine, with a float64 reference that shares no code with it.

Started with ``VERL_PLATFORM=cpu torchrun --nproc_per_node=<ranks> rwr_engine_check.py <folder>``; rank 0 writes
``<folder>/verdict.json``. ``test_rwr_engine.py`` reads it.

The engine side is ``EnvironmentPolicy`` itself: only its Ray worker group is replaced, by one that runs in the ranks of
this very process group and splits and collects batches with the functions of verl's dispatch. The reference side is
the Hugging Face model in float64, one row at a time and without padding, with log_softmax, the formula of the loss,
autograd, gradient clipping and torch's AdamW.
"""

from __future__ import annotations

import argparse
import json
import random
from collections.abc import Callable, Sequence
from datetime import timedelta
from functools import partial
from pathlib import Path
from typing import Any

import torch
import torch.distributed
import verl  # noqa: F401  loads the plug-in, which registers the CPU platform
from tensordict import TensorDict
from torch.distributed.tensor import DTensor
from transformers import AutoModelForCausalLM, Qwen2Config
from verl.utils import tensordict_utils as tu
from verl.workers.config import (
    FSDPEngineConfig,
    FSDPOptimizerConfig,
    HFModelConfig,
    TrainingWorkerConfig,
)
from verl.workers.engine_workers import TrainingWorker

from genenv_verl.config.settings import RegressionSettings
from genenv_verl.curriculum.ledger import Ledger
from genenv_verl.trainer.environment_policy import EnvironmentPolicy, Sample
from genenv_verl.trainer.rwr_loss import make_rwr_loss

VOCABULARY = 199
LEARNING_RATE = 1e-3
WEIGHT_DECAY = 0.01
BETAS = (0.9, 0.999)
# AdamW's first step is lr * g / (|g| + eps): with the usual 1e-8 it is lr * sign(g), and the rounding of a gradient
# near 0 would decide its sign. An eps at the scale of the gradients makes parameters comparable.
EPSILON = 1e-3
# below the gradient norm of the batch, so that clipping is part of the comparison
CLIP = 0.3
TOKENS_PER_MICRO_BATCH = 40


# ---------------------------------------------------------------------- data


def make_samples(count: int) -> list[Sample]:
    """Rows of different lengths; weights of mean 1 over eight rows, one of them 0."""
    generator = random.Random(7)
    shapes = [(3, 9), (11, 2), (5, 17), (1, 6), (8, 1), (2, 12), (6, 5), (4, 21)]
    weights = [0.0, 0.4, 0.7, 1.0, 1.2, 1.3, 1.6, 1.8]
    return [
        Sample(
            [generator.randrange(VOCABULARY) for _ in range(prompt)],
            [generator.randrange(VOCABULARY) for _ in range(response)],
            weight,
        )
        for (prompt, response), weight in zip(shapes[:count], weights, strict=False)
    ]


def with_advantages(samples: Sequence[Sample]) -> list[Sample]:
    """The rows as ``genenv.objective=grpo`` weighs them: weights of either sign, of mean 0."""
    mean = sum(sample.weight for sample in samples) / len(samples)
    return [Sample(sample.prompt_ids, sample.response_ids, sample.weight - mean) for sample in samples]


def save_model(folder: Path) -> None:
    torch.manual_seed(11)
    config = Qwen2Config(
        vocab_size=VOCABULARY,
        hidden_size=64,
        intermediate_size=128,
        num_hidden_layers=2,
        num_attention_heads=4,
        num_key_value_heads=2,
        max_position_embeddings=128,
        # ten times the usual spread: a model of small weights is uniform over its vocabulary and hides mistakes
        initializer_range=0.2,
        tie_word_embeddings=True,
    )
    AutoModelForCausalLM.from_config(config, dtype=torch.float32).save_pretrained(folder)


# ---------------------------------------------------------------------- the reference, in float64


class Reference:
    """The same model and optimizer, written down as plainly as possible."""

    def __init__(self, folder: Path):
        self.model = AutoModelForCausalLM.from_pretrained(folder, dtype=torch.float64, attn_implementation="eager")
        self.model.train()
        self.optimizer = torch.optim.AdamW(
            self.model.parameters(),
            lr=LEARNING_RATE,
            betas=BETAS,
            eps=EPSILON,
            weight_decay=WEIGHT_DECAY,
        )

    def row_log_probs(self, sample: Sample) -> torch.Tensor:
        ids = torch.tensor([sample.prompt_ids + sample.response_ids])
        log_probs = torch.log_softmax(self.model(input_ids=ids, use_cache=False).logits[0], dim=-1)
        return torch.stack(
            [log_probs[len(sample.prompt_ids) + t - 1, token] for t, token in enumerate(sample.response_ids)]
        )

    @torch.no_grad()
    def log_probs(self, samples: Sequence[Sample]) -> list[torch.Tensor]:
        return [self.row_log_probs(sample) for sample in samples]

    def step(
        self,
        samples: Sequence[Sample],
        initial: Sequence[torch.Tensor] | None,
        kl_coef: float,
    ) -> dict[str, Any]:
        """One optimizer step; the gradients that are returned are the clipped ones."""
        tokens = sum(len(sample.response_ids) for sample in samples)
        loss = torch.zeros((), dtype=torch.float64)
        nll = 0.0
        for row, sample in enumerate(samples):
            log_prob = self.row_log_probs(sample)
            nll -= log_prob.sum().item()
            loss = loss - sample.weight * log_prob.sum()
            if initial is not None:
                loss = loss + kl_coef * k3_float64(log_prob, initial[row]).sum()
        loss = loss / tokens
        self.optimizer.zero_grad()
        loss.backward()
        norm = torch.sqrt(sum(parameter.grad.square().sum() for parameter in self.model.parameters())).item()
        for parameter in self.model.parameters():
            parameter.grad.mul_(min(1.0, CLIP / norm))
        gradients = {name: parameter.grad.clone() for name, parameter in self.model.named_parameters()}
        self.optimizer.step()
        return {
            "loss": loss.item(),
            "grad_norm": norm,
            "nll_sum": nll,
            "gradients": gradients,
        }

    def parameters(self) -> dict[str, torch.Tensor]:
        return {name: parameter.detach().clone() for name, parameter in self.model.named_parameters()}


def k3_float64(log_prob: torch.Tensor, initial: torch.Tensor) -> torch.Tensor:
    difference = initial.double() - log_prob
    return torch.expm1(difference) - difference


def mean_k3(log_probs: Sequence[torch.Tensor], initial: Sequence[torch.Tensor]) -> float:
    return torch.cat([k3_float64(new, old) for new, old in zip(log_probs, initial, strict=True)]).mean().item()


# ---------------------------------------------------------------------- the engine


class InProcessWorkers:
    """What ``EnvironmentPolicy`` calls on its worker group, on the ranks of this process group.

    Every rank holds the whole batch, trains on its contiguous share, as verl's dispatch would send it, and collects
    the others' outputs.
    """

    def __init__(self, actor: TrainingWorker, initial: TrainingWorker | None = None):
        self.world_size = torch.distributed.get_world_size()
        self.actor = actor
        self.initial = initial

    def update_actor(self, data: TensorDict) -> TensorDict:
        return self._dispatch(self.actor.train_mini_batch, data)

    def compute_log_prob(self, data: TensorDict) -> TensorDict:
        return self._dispatch(self.actor.infer_batch, data)

    def compute_ref_log_prob(self, data: TensorDict) -> TensorDict:
        return self._dispatch(self.initial.infer_batch, data)

    def _dispatch(self, call: Callable[[TensorDict], TensorDict], data: TensorDict) -> TensorDict:
        share = tu.chunk_tensordict(data, self.world_size)[torch.distributed.get_rank()]
        outputs: list[Any] = [None] * self.world_size
        torch.distributed.all_gather_object(outputs, call(share))
        return tu.concat_tensordict(outputs)


def make_worker(
    folder: Path,
    remove_padding: bool,
    micro_batch: int | None,
    forward_only: bool = False,
):
    """verl's training worker with a fresh engine.

    Args:
        folder: the model.
        remove_padding: rows packed into one sequence, or padded to the longest.
        micro_batch: rows per rank and micro-batch; None: as many as ``TOKENS_PER_MICRO_BATCH`` allows (dynamic).
        forward_only: a reference model, without optimizer.
    """
    precision = {"param_dtype": "fp32", "reduce_dtype": "fp32", "buffer_dtype": "fp32"}
    worker = TrainingWorker(
        TrainingWorkerConfig(
            model_type="language_model",
            model_config=HFModelConfig(
                path=str(folder),
                load_tokenizer=False,
                override_config={"attn_implementation": "sdpa"},
                use_remove_padding=remove_padding,
                enable_gradient_checkpointing=False,
            ),
            engine_config=FSDPEngineConfig(
                strategy="fsdp2",
                model_dtype="fp32",
                mixed_precision=precision,
                use_torch_compile=False,
                forward_only=forward_only,
                use_dynamic_bsz=micro_batch is None,
                micro_batch_size_per_gpu=micro_batch,
                infer_micro_batch_size_per_gpu=micro_batch,
                max_token_len_per_gpu=TOKENS_PER_MICRO_BATCH,
                infer_max_token_len_per_gpu=TOKENS_PER_MICRO_BATCH,
            ),
            optimizer_config=FSDPOptimizerConfig(
                lr=LEARNING_RATE,
                weight_decay=WEIGHT_DECAY,
                betas=BETAS,
                clip_grad=CLIP,
                override_optimizer_config={"eps": EPSILON},
                total_training_steps=100,
            ),
        )
    )
    worker.reset()
    return worker


def make_policy(workers: InProcessWorkers, regression: RegressionSettings) -> EnvironmentPolicy:
    """An environment policy without Ray and without servers: what it needs to learn, nothing else."""
    policy = object.__new__(EnvironmentPolicy)
    policy.ledger = Ledger({})
    policy.workers = workers
    policy.regression = regression
    policy.has_reference = regression.kl_coef > 0.0
    workers.actor.set_loss_fn(make_rwr_loss(regression.kl_coef))
    return policy


def full(tensor: torch.Tensor) -> torch.Tensor:
    return (tensor.full_tensor() if isinstance(tensor, DTensor) else tensor).detach().clone()


def engine_parameters(worker: TrainingWorker) -> dict[str, torch.Tensor]:
    return {name: full(parameter) for name, parameter in worker.engine.module.named_parameters()}


def first_gradients(worker: TrainingWorker) -> dict[str, torch.Tensor]:
    """The clipped gradients of the first step, from AdamW's first moment (1 - beta_1) * g: verl clears ``.grad``."""
    state = worker.engine.optimizer.state
    return {
        name: full(state[parameter]["exp_avg"]) / (1.0 - BETAS[0])
        for name, parameter in worker.engine.module.named_parameters()
    }


# ---------------------------------------------------------------------- comparisons


def relative_error(value: float, expected: float) -> float:
    return abs(value - expected) / max(abs(expected), 1e-12)


def distance(values: dict[str, torch.Tensor], expected: dict[str, torch.Tensor]) -> float:
    """Norm of the difference over all tensors together."""
    assert values.keys() == expected.keys()
    return sum((values[name].double() - expected[name]).square().sum() for name in expected).sqrt().item()


def norm(values: dict[str, torch.Tensor]) -> float:
    return sum(value.double().square().sum() for value in values.values()).sqrt().item()


def one_step(
    folder: Path,
    samples: list[Sample],
    remove_padding: bool,
    micro_batch: int | None,
    kl_coef: float,
    loss: Callable[..., Any] | None = None,
) -> dict[str, Any]:
    """One optimizer step on both sides.

    Args:
        folder: the model.
        samples: the batch.
        remove_padding: see :func:`make_worker`.
        micro_batch: see :func:`make_worker`.
        kl_coef: coefficient of the penalty.
        loss: instead of the project's loss.

    Returns:
        The setting and the errors: loss and gradient norm relative; gradient, and parameter change, as the norm of the
        difference over the norm of what is expected.
    """
    reference = Reference(folder)
    before = reference.parameters()
    noise = torch.Generator().manual_seed(5)
    # log-probabilities of an "initial environment" that is near the policy but not equal to it
    initial = [
        (row + 0.5 * torch.randn(row.shape, generator=noise, dtype=torch.float64)).float()
        for row in reference.log_probs(samples)
    ]
    policy = make_policy(
        InProcessWorkers(make_worker(folder, remove_padding, micro_batch)),
        RegressionSettings(lam=1.0, kl_coef=kl_coef),
    )
    worker = policy.workers.actor
    if loss is not None:
        worker.set_loss_fn(loss)
    log_prob_error = max(
        (ours.double() - theirs).abs().max().item()
        for ours, theirs in zip(policy.log_probs(samples), reference.log_probs(samples), strict=True)
    )
    measured = policy._optimizer_step(samples, initial if kl_coef > 0.0 else None)
    expected = reference.step(samples, initial if kl_coef > 0.0 else None, kl_coef)
    after = reference.parameters()
    moved = {name: after[name] - before[name] for name in after}
    return {
        "ranks": torch.distributed.get_world_size(),
        "rows": len(samples),
        "remove_padding": remove_padding,
        "micro_batch": micro_batch or "dynamic",
        "kl_coef": kl_coef,
        "loss": expected["loss"],
        "grad_norm": expected["grad_norm"],
        "clip": CLIP,
        "log_prob_error": log_prob_error,
        "loss_error": relative_error(measured["loss"], expected["loss"]),
        "nll_error": relative_error(measured["nll_sum"], expected["nll_sum"]),
        "grad_norm_error": relative_error(measured["grad_norm"], expected["grad_norm"]),
        "gradient_error": distance(first_gradients(worker), expected["gradients"]) / norm(expected["gradients"]),
        "parameter_error": distance(engine_parameters(worker), after) / norm(moved),
    }


def naive_loss(
    model_output: dict[str, torch.Tensor],
    data: TensorDict,
    dp_group: Any,
    *,
    micro_batches: int,
):
    """The usual mistake: the mean over micro-batches of the loss per token of each.

    Args:
        model_output: as for the project's loss.
        data: as for the project's loss.
        dp_group: as for the project's loss.
        micro_batches: their number on each rank.
    """
    total, sums = make_rwr_loss(0.0)(model_output, data, dp_group)
    own_tokens = data["loss_mask"].values().sum().item()
    share = data["batch_num_tokens"] / data["dp_size"] / (max(own_tokens, 1) * micro_batches)
    return total * share, sums


def whole_update(folder: Path, samples: list[Sample], max_kl: float | None) -> dict[str, Any]:
    """``EnvironmentPolicy.update`` over several optimizer steps, with the initial environment as reference model."""
    regression = RegressionSettings(lam=1.0, batch_size=3, epochs=2, kl_coef=0.1, max_kl=max_kl)
    actor = make_worker(folder, remove_padding=False, micro_batch=None)
    initial_worker = make_worker(folder, remove_padding=False, micro_batch=None, forward_only=True)
    policy = make_policy(InProcessWorkers(actor, initial_worker), regression)
    result = policy.update(samples, seed=23)

    reference = Reference(folder)
    before = reference.parameters()
    initial = reference.log_probs(samples)
    order = torch.Generator().manual_seed(23)
    steps: list[dict[str, Any]] = []
    nlls: list[float] = []
    skipped = 0
    for _ in range(regression.epochs):
        permutation = torch.randperm(len(samples), generator=order).tolist()
        for start in range(0, len(samples), regression.batch_size):
            rows = permutation[start : start + regression.batch_size]
            batch, batch_initial = (
                [samples[row] for row in rows],
                [initial[row] for row in rows],
            )
            # the policy that sampled and the initial one are the same here; once beyond the cap, all later steps go
            capped = skipped > 0 or (
                bool(steps) and max_kl is not None and mean_k3(batch_initial, reference.log_probs(batch)) > max_kl
            )
            if capped:
                skipped += 1
                continue
            steps.append(reference.step(batch, batch_initial, regression.kl_coef))
            nlls.append(steps[-1]["nll_sum"] / sum(len(sample.response_ids) for sample in batch))
    updated = reference.log_probs(samples)
    # the initial policy sampled the tokens, hence it comes first; the distance to it is measured from the updated one
    step_kl, initial_kl = mean_k3(initial, updated), mean_k3(updated, initial)
    after = reference.parameters()
    moved = {name: after[name] - before[name] for name in after}

    def mean(key: str) -> float:
        return sum(step[key] for step in steps) / len(steps)

    return {
        "ranks": torch.distributed.get_world_size(),
        "max_kl": max_kl,
        "updates": result["updates"],
        "expected_updates": len(steps),
        "skipped_by_kl_cap": result["skipped_by_kl_cap"],
        "expected_skipped": skipped,
        "kl_step": step_kl,
        "loss_error": relative_error(result["loss"], mean("loss")),
        "nll_error": relative_error(result["nll"], sum(nlls) / len(nlls)),
        "grad_norm_error": relative_error(result["grad_norm"], mean("grad_norm")),
        "kl_step_error": relative_error(result["kl_step"], step_kl),
        "kl_initial_error": relative_error(result["kl_initial"], initial_kl),
        "parameter_error": distance(engine_parameters(actor), after) / norm(moved),
    }


def zero_weights(folder: Path, samples: list[Sample]) -> dict[str, Any]:
    """Case C16, all weights zero: the update is left out and no bit of the parameters changes."""
    policy = make_policy(
        InProcessWorkers(make_worker(folder, remove_padding=False, micro_batch=1)),
        RegressionSettings(lam=1.0, kl_coef=0.0),
    )
    before = engine_parameters(policy.workers.actor)
    result = policy.update(
        [Sample(sample.prompt_ids, sample.response_ids, 0.0) for sample in samples],
        seed=1,
    )
    after = engine_parameters(policy.workers.actor)
    return {
        "updates": result["updates"],
        "unchanged": all(torch.equal(before[name], after[name]) for name in before),
    }


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("folder", type=Path)
    folder = parser.parse_args().folder
    # a rank whose peer has died ends by itself
    torch.distributed.init_process_group("cpu:gloo", timeout=timedelta(minutes=5))
    ranks, rank = torch.distributed.get_world_size(), torch.distributed.get_rank()
    model = folder / "model"
    if rank == 0:
        save_model(model)
    torch.distributed.barrier()
    # an odd number on two ranks: one row of padding without loss
    samples = make_samples(8 if ranks == 1 else 7)
    rows_per_rank = -(-len(samples) // ranks)
    verdict = {
        "steps": [
            one_step(model, samples, remove_padding, micro_batch, kl_coef)
            for remove_padding in (False, True)
            for micro_batch in (1, 2, rows_per_rank, None)
            for kl_coef in (0.0, 0.1)
        ],
        "naive": [
            one_step(
                model,
                samples,
                False,
                size,
                0.0,
                partial(naive_loss, micro_batches=rows_per_rank // size),
            )
            for size in (1, 2, rows_per_rank)
        ],
        "updates": [whole_update(model, samples, max_kl) for max_kl in (None, 0.002, 0.2)],
        "advantages": [
            one_step(model, with_advantages(samples), remove_padding=True, micro_batch=2, kl_coef=0.1),
            whole_update(model, with_advantages(samples), max_kl=None),
        ],
        "zero_weights": zero_weights(model, samples),
    }
    if rank == 0:
        (folder / "verdict.json").write_text(json.dumps(verdict, indent=1), encoding="utf-8")
    torch.distributed.destroy_process_group()


if __name__ == "__main__":
    main()
