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
"""The curriculum's whole judgement of an epoch: attempts in, p̂, R_env, acceptance and weights out."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace

from genenv_verl.curriculum.acceptance import Filter, is_in_band, select_groups
from genenv_verl.curriculum.difficulty import Attempts, Granularity, Group, group_attempts
from genenv_verl.curriculum.environment_reward import environment_reward
from genenv_verl.curriculum.weights import Objective, Weighting, group_advantages, regression_weights

HISTOGRAM_BINS = 10


@dataclass(frozen=True)
class TaskVerdict:
    """What the environment policy is told about one of its tasks.

    Attributes:
        task_id: The task.
        p_hat: The task's own k / n in [0, 1]; None if nothing was scored.
        group_p_hat: p̂ of its group, which the reward is taken from; None if the group has too few scored attempts.
        reward: R_env in (0, 1], scaled where the attempts say so; None where there is no ``group_p_hat``, and for a
            quarantined task.
        weight: ``rwr``: >= 0, with mean 1 over the accepted tasks of the epoch. ``grpo``: the advantage among the
            accepted tasks of its seed, of either sign. 0 if not accepted.
        accepted: Whether the task enters the environment's update.
    """

    task_id: str
    p_hat: float | None
    group_p_hat: float | None
    reward: float | None
    weight: float
    accepted: bool


@dataclass(frozen=True)
class EpochVerdict:
    """The judgement of an epoch.

    Attributes:
        epoch: The epoch, counted from 0.
        alpha: The target success rate that held in it.
        tasks: One verdict for each entry of the attempts, in their order.
        groups: Number of groups that have a p̂.
        accepted_groups: How many of them entered the update.
        in_band_groups: How many of them lie in the band, whatever the filter.
        acceptance_rate: ``in_band_groups / groups`` in [0, 1]; 0 without groups.
        fallback: Whether the band held too few tasks and the nearest groups were added.
        ungrouped_tasks: Tasks without a p̂, because their group has fewer than two scored attempts.
        unscored: Attempts without a verdict, left out of every k and n.
        reward_mean: Mean R_env over the tasks that have one, accepted or not; None if there is none.
        p_hat_histogram: Tasks by their own p̂, ten bins over [0, 1], the last one closed.
        zero_variance_share: Share of the scored tasks whose attempts all ended alike, in [0, 1]; 0 without any.
        warnings: What a person should look at, as sentences.
    """

    epoch: int
    alpha: float
    tasks: list[TaskVerdict]
    groups: int
    accepted_groups: int
    in_band_groups: int
    acceptance_rate: float
    fallback: bool
    ungrouped_tasks: int
    unscored: int
    reward_mean: float | None
    p_hat_histogram: list[int]
    zero_variance_share: float
    warnings: list[str]


def judge_epoch(
    attempts: Sequence[Attempts],
    *,
    epoch: int,
    alpha: float,
    beta: float,
    k_min: float,
    granularity: Granularity,
    filter: Filter,
    min_accepted: int,
    top_k: float,
    objective: Objective,
    lam: float,
    weight: Weighting,
    quarantined: Collection[str] = (),
    reward_factors: Mapping[str, float] | None = None,
) -> EpochVerdict:
    """Judges the environment's own tasks of an epoch by the agent's attempts (SPEC section 2).

    Whatever the attempts are, none at all among them, the judgement ends and the run can go on.

    Args:
        attempts: The attempts at the epoch's fresh tasks, one entry a task.
        epoch: The epoch, counted from 0.
        alpha: Target success rate in [0, 1].
        beta: Sharpness of R_env, > 0.
        k_min: Half width of the band in [0, 1].
        granularity: The group that p̂ is taken over, see :func:`group_attempts`.
        filter: ``band``, ``top_k`` or ``none``, see :func:`select_groups`.
        min_accepted: Tasks below which the band is widened to the nearest groups.
        top_k: Share of the groups that ``filter="top_k"`` accepts.
        objective: ``rwr``, see :func:`regression_weights`, or ``grpo``, see :func:`group_advantages`.
        lam: Temperature λ > 0 of the weights, read by ``rwr``.
        weight: ``exp`` or ``linear``, read by ``rwr``.
        quarantined: Tasks that must not train the environment. They count in p̂ and in the groups, as all attempts do,
            but are neither accepted nor rewarded.
        reward_factors: By task, what R_env is multiplied with, in (0, 1]; 1 for a task that is not there.

    Raises:
        ValueError: If an argument is out of its range, or a task occurs twice.
    """
    groups = group_attempts(attempts, granularity)
    in_band_groups = sum(is_in_band(group.p_hat, alpha, k_min) for group in groups)
    group_of = {position: group for group in groups for position in group.members}
    trained = _without(groups, {place for place, entry in enumerate(attempts) if entry.task_id in quarantined})
    factors = reward_factors or {}
    reward_of = {
        position: environment_reward(group.p_hat, alpha, beta) * factors.get(attempts[position].task_id, 1.0)
        for group in trained
        for position in group.members
    }
    selection = select_groups(trained, alpha=alpha, k_min=k_min, filter=filter, min_accepted=min_accepted, top_k=top_k)
    accepted = [position for index in selection.accepted for position in trained[index].members]
    accepted_rewards = [reward_of[position] for position in accepted]
    if objective == "grpo":
        weights = group_advantages(accepted_rewards, [attempts[position].seed_id for position in accepted])
    else:
        weights = regression_weights(accepted_rewards, lam=lam, kind=weight)
    weight_of = dict(zip(accepted, weights.tolist(), strict=True))

    rewards = list(reward_of.values())
    scored = [entry for entry in attempts if entry.scored]
    return EpochVerdict(
        epoch=epoch,
        alpha=alpha,
        tasks=_task_verdicts(attempts, group_of, reward_of, weight_of),
        groups=len(groups),
        accepted_groups=len(selection.accepted),
        in_band_groups=in_band_groups,
        acceptance_rate=in_band_groups / len(groups) if groups else 0.0,
        fallback=selection.fallback,
        ungrouped_tasks=len(attempts) - len(group_of),
        unscored=sum(entry.unscored for entry in attempts),
        reward_mean=sum(rewards) / len(rewards) if rewards else None,
        p_hat_histogram=p_hat_histogram(scored),
        zero_variance_share=sum(not entry.has_variance for entry in scored) / len(scored) if scored else 0.0,
        warnings=_warnings(epoch, scored, groups, rewards),
    )


def _task_verdicts(
    attempts: Sequence[Attempts],
    group_of: Mapping[int, Group],
    reward_of: Mapping[int, float],
    weight_of: Mapping[int, float],
) -> list[TaskVerdict]:
    """One verdict an entry; groups, rewards and weights are given by the position of those that have one."""
    return [
        TaskVerdict(
            task_id=entry.task_id,
            p_hat=entry.p_hat,
            group_p_hat=group_of[position].p_hat if position in group_of else None,
            reward=reward_of.get(position),
            weight=weight_of.get(position, 0.0),
            accepted=position in weight_of,
        )
        for position, entry in enumerate(attempts)
    ]


def _without(groups: Sequence[Group], positions: Collection[int]) -> list[Group]:
    """The groups without some of their members, and without those that lose all of them; p̂ stays as it was."""
    kept = [replace(g, members=tuple(place for place in g.members if place not in positions)) for g in groups]
    return [group for group in kept if group.members]


def p_hat_histogram(attempts: Sequence[Attempts]) -> list[int]:
    """Counts scored tasks by their own p̂ in ten equal bins over [0, 1]; p̂ = 1 falls into the last.

    Whole numbers throughout: 3 of 10 belongs to [0.3, 0.4), wherever floating point puts 0.3.
    """
    histogram = [0] * HISTOGRAM_BINS
    for entry in attempts:
        histogram[min(HISTOGRAM_BINS * entry.successes // entry.scored, HISTOGRAM_BINS - 1)] += 1
    return histogram


def _warnings(epoch: int, scored: Sequence[Attempts], groups: Sequence[Group], rewards: Sequence[float]) -> list[str]:
    warnings = []
    if not groups:
        warnings.append(f"epoch {epoch}: no group has two scored attempts, so the environment is not rewarded")
    if scored and not any(entry.has_variance for entry in scored):
        solved = sum(entry.successes > 0 for entry in scored)
        warnings.append(
            f"epoch {epoch}: no task was both solved and failed ({solved} of {len(scored)} always solved, the others "
            "never): rewards of 0 and 1 then teach the agent nothing; check the scorer"
        )
    if len(rewards) > 1 and max(rewards) - min(rewards) < 1e-9:
        warnings.append(
            f"epoch {epoch}: R_env is {rewards[0]:.4g} for all {len(rewards)} tasks: "
            "the environment cannot tell a good task from a bad one"
        )
    return warnings
