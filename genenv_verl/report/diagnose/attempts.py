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
"""What the agent makes of the tasks: is there anything to learn, and is it scored?"""

from __future__ import annotations

from genenv_verl.report.diagnose.facts import Facts, attempted_tasks
from genenv_verl.report.diagnose.finding import Finding, Remedy, rule
from genenv_verl.report.diagnose.trends import early_and_late, largest_jump, recent_mean
from genenv_verl.report.fields import number

SATURATED = 0.8
"""With eight attempts a sixth of such tasks is solved every time, and GRPO learns nothing from those."""
HOPELESS = 0.02
"""With eight attempts 85 % of such tasks are never solved."""
FAR = 1.5
"""Half-widths of the band from α. At the band's edge a mean over some sixty tasks strays by half a width."""
UNIFORM_SHARE = 0.8
"""Share of the tasks without both outcomes. An agent at the paper's start (0.14) has 30 % by chance."""
LAST = 2
"""Epochs that must all say so: a single one is noise."""
UNSCORED_SHARE = 0.05
"""More than an occasional timeout. p̂ then speaks of the attempts that could be scored."""
JUMP = 3.0
"""A length of three times the running median is degenerate output, not growth."""
GROWTH = 2.0
"""From the first to the last. The paper's responses grow by half over six epochs (Fig. 5)."""
SHRINKAGE = 1 / 3
STEADY = 1.2
"""Each of the last ``LAST`` epochs against each of the first: a single odd epoch is no drift."""
NEAR_LIMIT = 0.8
"""A mean this near to the limit means that many responses are cut off."""


@rule("agent_saturated")
def agent_saturated(facts: Facts) -> Finding | None:
    """The agent solves nearly everything: the environment does not follow it."""
    success = facts.series("success_rate")[-LAST:]
    if len(success) < LAST or min(success) < SATURATED or min(success) - facts.alpha < 0.1:
        return None
    uniform = recent_mean(facts.series("zero_variance_groups")[-LAST:])
    return Finding(
        says=f"The agent is saturated: it solves {success[-1]:.0%} of the attempts at fresh tasks, against a target of "
        f"{facts.alpha:.0%}" + (f"; {uniform:.0%} of the tasks end alike every time." if uniform is not None else "."),
        figures={"success_rate": success[-1], "alpha": facts.alpha}
        | ({} if uniform is None else {"zero_variance_groups": uniform}),
        remedies=(
            Remedy("genenv.steps_per_epoch", "lower it: the environment follows in shorter epochs"),
            Remedy("genenv.environment.actor.optim.lr", "raise it"),
            Remedy("genenv.preset", "calibrated: steers more steeply"),
            Remedy("genenv.variant", "genenv: only there the environment is trained"),
        )[: 4 if not facts.trains_environment else 3],
    )


@rule("target_passed")
def target_passed(facts: Facts) -> Finding | None:
    """Success began below the band or in it, rose, and is beyond it now: the environment does not keep up."""
    success = facts.series("success_rate")
    far = FAR * facts.k_min
    if not facts.trains_environment or len(success) <= LAST or success[0] > facts.alpha + facts.k_min:
        return None
    if not max(facts.alpha, success[0]) + far <= min(success[-LAST:]) < SATURATED:
        return None
    return Finding(
        says=f"Success on fresh tasks rose from {success[0]:.0%} beyond the target of {facts.alpha:.0%} and has been "
        f"at {min(success[-LAST:]):.0%} or more for {LAST} epochs: the agent outgrows what it is given.",
        figures={"success_rate": success[-1], "alpha": facts.alpha, "k_min": facts.k_min},
        remedies=(
            Remedy("genenv.steps_per_epoch", "lower it: the environment follows in shorter epochs"),
            Remedy(
                "genenv.environment.actor.optim.lr", "raise it, and genenv.rwr.kl_coef with it: golds must stay right"
            ),
            Remedy("genenv.rwr.batch_size", "lower it: more steps an update"),
        ),
    )


@rule("agent_never_succeeds")
def agent_never_succeeds(facts: Facts) -> Finding | None:
    """Nearly nothing is solved: neither player learns anything."""
    success = facts.series("success_rate")[-LAST:]
    if len(success) < LAST or max(success) > HOPELESS:
        return None
    return Finding(
        says=f"The agent solves {success[-1]:.1%} of the attempts at fresh tasks: GRPO has no contrast, and R_env the "
        "same low value everywhere. Look at a few attempts first, the scorer may refuse their format.",
        figures={"success_rate": success[-1]},
        remedies=(
            Remedy("genenv.seeds", "easier seeds, or a warm start of the agent on their format"),
            Remedy("genenv.success_threshold", "lower it, for texts that are nearly right"),
            Remedy("genenv.filter", "top_k: what is least hopeless trains the environment"),
        ),
    )


@rule("no_contrast")
def no_contrast(facts: Facts) -> Finding | None:
    """Most tasks end alike in all attempts although success is in between: they are trivial or impossible."""
    uniform, success = facts.series("zero_variance_groups")[-LAST:], facts.series("success_rate")[-LAST:]
    if len(uniform) < LAST or min(uniform) < UNIFORM_SHARE or not success:
        return None
    if not HOPELESS < success[-1] < SATURATED:
        return None
    return Finding(
        says=f"{uniform[-1]:.0%} of the tasks are solved in all attempts or in none (success rate {success[-1]:.0%}): "
        "they are too easy or too hard, and the agent learns from the others only.",
        figures={"zero_variance_groups": uniform[-1], "success_rate": success[-1]},
        remedies=(
            Remedy("genenv.granularity", "task or shrunk: a seed group mixes trivial and impossible tasks to p̂ near ½"),
            Remedy("actor_rollout_ref.rollout.n", "more attempts find the rare success"),
            Remedy("genenv.trust.suspected_wrong_gold", "quarantine: impossible tasks are often mislabelled"),
        ),
    )


@rule("response_length_drift")
def response_length_drift(facts: Facts) -> Finding | None:
    """The agent's responses become much longer or shorter, or one epoch's explode."""
    return _length_drift(
        "The agent's responses",
        "response_tokens_mean",
        facts.series("response_tokens_mean"),
        (
            Remedy("actor_rollout_ref.actor.kl_loss_coef", "raise it"),
            Remedy("actor_rollout_ref.actor.entropy_coeff", "lower it (0) if responses ramble"),
            Remedy("data.max_response_length", "a lower limit ends rambling sooner"),
        ),
    )


@rule("task_length_drift")
def task_length_drift(facts: Facts) -> Finding | None:
    """The environment's tasks become much longer or shorter, or one epoch's explode."""
    lengths = [
        tokens / generated
        for line in facts.epochs
        if (tokens := number(line, "tokens.env_generate")) and (generated := number(line, "generated"))
    ]
    return _length_drift(
        "The environment's tasks",
        "tokens.env_generate / generated",
        lengths,
        (
            Remedy("genenv.rwr.kl_coef", "raise it: stay nearer to the initial environment"),
            Remedy("genenv.environment.actor.optim.lr", "lower it"),
            Remedy("genenv.environment.rollout.response_length", "a lower limit ends rambling sooner"),
        ),
    )


def _length_drift(what: str, field: str, lengths: list[float], remedies: tuple[Remedy, ...]) -> Finding | None:
    lengths = [length for length in lengths if length >= 1.0]
    place, jump = largest_jump(lengths)
    trend = early_and_late(lengths)
    if jump > JUMP:
        says = (
            f"{what} explode: {lengths[place]:.0f} tokens on average, {jump:.1f} times the median of the epochs before."
        )
        return Finding(says, {field: lengths[place], "times_the_median": jump}, remedies)
    if trend is None:
        return None
    early, late = trend
    whole = lengths[-1] / lengths[0]
    grows = late / early >= GROWTH or whole >= GROWTH and min(lengths[-LAST:]) >= STEADY * max(lengths[:LAST])
    shrinks = late / early <= SHRINKAGE or whole <= SHRINKAGE and STEADY * max(lengths[-LAST:]) <= min(lengths[:LAST])
    if not grows and not shrinks:
        return None
    return Finding(
        says=f"{what} drift in length: {late:.0f} tokens on average in the last epochs, {early:.0f} in the first "
        f"(from {lengths[0]:.0f} to {lengths[-1]:.0f} in all).",
        figures={f"{field} early": early, f"{field} late": late, f"{field} last": lengths[-1]},
        remedies=remedies,
    )


@rule("responses_at_the_limit")
def responses_at_the_limit(facts: Facts) -> Finding | None:
    """The mean response is nearly as long as a response may be."""
    limit, length = facts.verl_number("data.max_response_length"), recent_mean(facts.series("response_tokens_mean"))
    if not limit or length is None or length < NEAR_LIMIT * limit:
        return None
    return Finding(
        says=f"Responses reach the limit: {length:.0f} tokens on average, and {limit:.0f} are allowed.",
        figures={"response_tokens_mean": length, "data.max_response_length": limit},
        remedies=(Remedy("data.max_response_length", "raise it"),),
    )


@rule("many_unscored")
def many_unscored(facts: Facts) -> Finding | None:
    """Many attempts have no verdict."""
    unscored = sum(number(line, "unscored") or 0.0 for line in facts.recent)
    tasks = sum(attempted_tasks(line) for line in facts.recent)
    attempts = max(unscored, tasks * facts.attempts_per_task)
    if not attempts or unscored / attempts < UNSCORED_SHARE:
        return None
    reasons = facts.tasks.unscored_reasons.most_common(3)
    named = ", ".join(f"{reason} {count}" for reason, count in reasons)
    return Finding(
        says=f"{unscored:.0f} of about {attempts:.0f} attempts of the last {len(facts.recent)} epochs could "
        "not be scored" + (f" (in the last epoch looked at: {named})." if named else "."),
        figures={"unscored": unscored, "attempts": attempts, **dict(reasons)},
        remedies=(
            Remedy("genenv.sandbox.timeout_s", "raise it if checkers run out of time"),
            Remedy("genenv.sandbox.workers", "raise it if checkers wait for each other"),
            Remedy("reward.custom_reward_function.path", "a scorer that fails says why in the attempts' `reason`"),
        ),
    )
