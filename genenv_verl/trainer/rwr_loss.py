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
"""The loss of reward-weighted regression: weighted SFT on the environment's own generations, with a KL penalty.

For generation i with tokens y_i1 … y_im (the prompt masked out), weight w_i of mean 1 over the accepted generations of
the epoch, reference log-probabilities of the initial environment and T response tokens in the whole optimizer batch::

    L = 1/T * sum_i sum_t [ -w_i * log pi(y_it) + c * k3(log pi_0(y_it) - log pi(y_it)) ],    k3(r) = exp(r) - r - 1

With ``genenv.objective=grpo`` w_i is the generation's advantage, of either sign. At the first optimizer step of an
update the policy is the one that sampled, and the gradient of the first term is GRPO's at ratio 1, averaged over the
tokens of generations whose advantage is not 0. Later steps are not clipped: ``genenv.rwr.max_kl`` ends the update
instead.

k3 is a non-negative estimate of KL(pi || pi_0) on sampled tokens; the plain difference becomes negative on a sample, so
that a penalty or a cap built on it would act in the wrong direction.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

import torch
from tensordict import TensorDict

# exp(20) is 5e8: beyond it the estimate says "far away" anyway, and float32 would overflow at 88.
MAX_LOG_RATIO = 20.0


def k3(log_prob: torch.Tensor, reference_log_prob: torch.Tensor) -> torch.Tensor:
    """Non-negative per-token estimate of KL(policy || reference), in nats.

    Args:
        log_prob: log-probabilities of sampled tokens under the policy, any shape.
        reference_log_prob: the same tokens under the reference, same shape.

    Returns:
        Tensor of the same shape, >= 0; log-ratios are clamped to +-20.
    """
    log_ratio = (reference_log_prob - log_prob).clamp(-MAX_LOG_RATIO, MAX_LOG_RATIO)
    return torch.exp(log_ratio) - log_ratio - 1.0


def mean_kl(policy: Sequence[torch.Tensor], reference: Sequence[torch.Tensor]) -> float:
    """Mean k3 over all tokens: KL(policy || reference) in nats per token, without bias where ``policy`` sampled them.

    Args:
        policy: log-probabilities of response tokens, one tensor of shape ``[m]`` a generation.
        reference: the same tokens under the reference, same shapes.

    Returns:
        A number >= 0, up to rounding; NaN if one of the log-probabilities is.
    """
    values = torch.cat([k3(mine, other) for mine, other in zip(policy, reference, strict=True)])
    return values.double().mean().item()


def rwr_loss(
    model_output: dict[str, torch.Tensor], data: TensorDict, dp_group: Any = None, *, kl_coef: float
) -> tuple[torch.Tensor, dict[str, float]]:
    """verl loss function of the environment's update, for one micro-batch.

    Args:
        model_output: ``log_probs``, nested (rows, tokens): entry t scores token t + 1.
        data: nested ``input_ids`` and ``loss_mask`` (1 on response tokens), per row ``rwr_weight``, nested
            ``ref_log_prob`` in the layout of ``log_probs`` when ``kl_coef`` is above 0; ``batch_num_tokens`` (T above,
            over all ranks and micro-batches) and ``dp_size`` are put there by verl's engine.
        dp_group: unused, part of verl's interface.
        kl_coef: coefficient c of the penalty, >= 0.

    Returns:
        The micro-batch's share of L (times ``dp_size``, because FSDP averages gradients over ranks), and sums over its
        tokens for logging: of -w log pi, of -log pi and of k3.
    """
    log_prob = model_output["log_probs"].values()
    # under mixed precision they can arrive in bfloat16, which would round weights and sums to three digits
    log_prob = log_prob.to(torch.promote_types(log_prob.dtype, torch.float32))
    row_lengths = data["input_ids"].offsets().diff()
    # log_probs[t] scores token t + 1, hence the shift; the last token of each row wraps to a prompt position, mask 0
    mask = torch.roll(data["loss_mask"].values(), shifts=-1, dims=0).to(log_prob.dtype)
    weight = torch.repeat_interleave(data["rwr_weight"].to(log_prob.dtype), row_lengths)
    # a masked position can hold -inf or NaN, and 0 * NaN is NaN
    log_prob = torch.where(mask > 0, log_prob, torch.zeros_like(log_prob))
    weighted_nll = -(weight * log_prob).sum()
    total = weighted_nll
    sums = {"weighted_nll_sum": weighted_nll.item(), "nll_sum": -log_prob.detach().sum().item(), "kl_initial_sum": 0.0}
    if kl_coef > 0.0:
        reference = torch.where(mask > 0, data["ref_log_prob"].values().to(log_prob.dtype), torch.zeros_like(log_prob))
        penalty = k3(log_prob, reference).sum()
        sums["kl_initial_sum"] = penalty.item()
        total = total + kl_coef * penalty
    return total / max(data["batch_num_tokens"], 1) * data["dp_size"], sums


def make_rwr_loss(kl_coef: float) -> partial:
    """The loss with its coefficient bound, picklable, as ``set_loss_fn`` wants it."""
    return partial(rwr_loss, kl_coef=kl_coef)
