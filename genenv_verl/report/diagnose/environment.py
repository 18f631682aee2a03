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
"""Is the environment learning, and does the band tell it anything?"""

from __future__ import annotations

import math

from genenv_verl.curriculum.environment_reward import environment_reward
from genenv_verl.curriculum.theory import acceptance_probability
from genenv_verl.report.band_plan import Plan
from genenv_verl.report.diagnose.facts import Facts, attempted_tasks
from genenv_verl.report.diagnose.finding import Finding, Remedy, rule
from genenv_verl.report.diagnose.trends import MIN_TREND, WINDOW, recent_mean
from genenv_verl.report.diagnose.written_tasks import frequent_reasons, validity_remedies
from genenv_verl.report.fields import as_number, number

MIN_EPOCHS = 2
"""One epoch without an update, or without an accepted group, may be chance."""
NO_KL = 5e-4
"""Nats per token. Over a task of 200 tokens it adds up to 0.1 nats, and by Pinsker's inequality nearly four of five
tasks are then such as were written at the start. The first update of the miniature world makes 0.015."""
NO_STEP = 1e-6
"""Nats per token of an update. Even if all go one way it takes more than twenty of them to come as far as NO_KL."""
CAPPED_SHARE = 0.25
"""The cap is there for the odd step. When it takes a quarter of them, it sets the learning rate."""
LOTTERY = 0.5
"""A band that refuses most groups that are exactly on target chooses by chance."""
FEW_ON_TARGET = 0.3
"""Acceptance below which p̂ on target is odd: eight attempts of a single task, the fewest usual, give 27 %."""
MOST_SIMULATED, MOST_VARIATIONS = 1024, 64
"""Attempts at a task and tasks of a seed, as far as ``genenv-verl plan`` goes."""
DEFAULT_VARIATIONS = 4
FLAT_WEIGHTS = 2.0
"""Heaviest weight over lightest. Below it every task trains the environment nearly as much as any other."""

SEED_GROUPS = Remedy("genenv.granularity", "seed: p̂ over all variations of a seed")


@rule("environment_not_moving")
def environment_not_moving(facts: Facts) -> Finding | None:
    """No update at all, or updates that leave the environment where it began, or where it is."""
    if not facts.trains_environment:
        return None
    updates = _updates(facts)
    if _none_lately(updates) or _none_lately(facts.series("accepted_groups")):
        return _no_updates(facts)
    lines = [line for line in facts.epochs if isinstance(line.get("env_update"), dict)]
    if len(lines) < MIN_TREND:
        return None
    field, moved = "env_update.kl_initial", facts.series("env_update.kl_initial")[-1:]
    if not moved:  # no reference model (genenv.rwr.kl_coef=0): the steps are all that is known
        field, steps = "env_update.kl_step", facts.series("env_update.kl_step")
        moved = [sum(map(abs, steps))] if steps else []
    if moved and abs(moved[0]) < NO_KL:
        says = (
            f"The environment hardly moves: after {len(lines)} epochs and {sum(updates):.0f} updates it is "
            f"{moved[0]:.2g} nats per token from where it began (below {NO_KL:g}): its tasks are those of the first "
            "epoch."
        )
    else:
        field, steps = "env_update.kl_step", [number(line, "env_update.kl_step") for line in lines[-WINDOW:]]
        moved = [step for step in steps if step is not None]
        if len(moved) < WINDOW or max(map(abs, moved)) >= NO_STEP:
            return None
        says = (
            f"The environment has come to a stop: in each of the last {WINDOW} epochs its update moved it by at most "
            f"{max(map(abs, moved)):.2g} nats per token."
        )
    return Finding(
        says=says,
        figures={field: moved[-1], "updates": sum(updates), **_acceptance(facts)},
        remedies=(
            Remedy("genenv.environment.actor.optim.lr", "raise it"),
            Remedy("genenv.rwr.lam", "lower it (0.2): the best tasks get more of the weight"),
            Remedy("genenv.beta", "raise it (10): rewards of good and bad tasks move apart"),
            Remedy("genenv.steps_per_epoch", "lower it: more updates for the same agent steps"),
        ),
    )


def _updates(facts: Facts) -> list[float]:
    """Steps of each epoch's update; 0 where its line says that there was none."""
    counts = (
        0.0 if line.get("env_update", ...) is None else number(line, "env_update.updates") for line in facts.epochs
    )
    return [count for count in counts if count is not None]


def _none_lately(numbers: list[float]) -> bool:
    """Whether the last of the numbers, enough of them, are all 0."""
    return len(numbers) >= MIN_EPOCHS and not any(numbers[-WINDOW:])


def _no_updates(facts: Facts) -> Finding:
    recent = facts.recent
    valid = sum(number(line, "valid") or 0.0 for line in recent)
    accepted = sum(number(line, "accepted_groups") or 0.0 for line in recent)
    groups = sum(number(line, "groups") or 0.0 for line in recent)
    if not valid:
        why = "no valid task was written"
        remedies = validity_remedies(frequent_reasons(facts))
    elif not accepted:
        why = f"none of the {groups:.0f} groups was accepted"
        remedies = (
            Remedy("genenv.min_accepted", "above 0 (16): the nearest groups train it until the band holds enough"),
            Remedy("genenv.filter", "none: weights decide instead of a band"),
            Remedy("genenv.k_min", "widen the band"),
        )
    elif facts.compares_variations:
        why = f"although {accepted:.0f} groups were accepted: genenv.objective=grpo needs R_env to differ within a seed"
        remedies = (
            Remedy("genenv.filter", "none: all variations of a seed are compared"),
            Remedy("genenv.n_variations", "raise it"),
            Remedy("genenv.objective", "rwr: learns from equal rewards, too"),
        )
    else:
        why = f"although {accepted:.0f} groups were accepted"
        remedies = (Remedy("genenv.environment.actor.optim.lr", "lower it if steps are not finite"),)
    return Finding(
        says=f"The environment is not trained: in the last {len(recent)} epochs there was no update, {why}.",
        figures={"accepted_groups": accepted, "valid": valid, **_acceptance(facts)},
        remedies=remedies,
    )


def _acceptance(facts: Facts) -> dict[str, float]:
    acceptance = recent_mean(facts.series("acceptance_rate"))
    return {} if acceptance is None else {"acceptance_rate": acceptance}


@rule("updates_skipped_by_kl_cap")
def updates_skipped_by_kl_cap(facts: Facts) -> Finding | None:
    """The cap on a step's KL leaves out many of the environment's steps."""
    skipped = sum(number(line, "env_update.skipped_by_kl_cap") or 0.0 for line in facts.recent)
    made = sum(number(line, "env_update.updates") or 0.0 for line in facts.recent)
    if skipped < 1 or skipped / (skipped + made) < CAPPED_SHARE:
        return None
    return Finding(
        says=f"The KL cap leaves out {skipped:.0f} of {skipped + made:.0f} steps of the environment in the last "
        f"{len(facts.recent)} epochs ({skipped / (skipped + made):.0%}): their tasks taught it nothing.",
        figures={"skipped_by_kl_cap": skipped, "updates": made, **_named(facts, "rwr.max_kl")},
        remedies=(
            Remedy("genenv.environment.actor.optim.lr", "lower it: smaller steps stay below the cap"),
            Remedy("genenv.rwr.max_kl", "raise it, if validity and novelty hold"),
            Remedy("genenv.rwr.epochs", "1: fewer steps on the same tasks"),
        ),
    )


def _named(facts: Facts, key: str) -> dict[str, float]:
    value = as_number(facts.setting(key))
    return {} if value is None else {f"genenv.{key}": value}


@rule("updates_not_finite")
def updates_not_finite(facts: Facts) -> Finding | None:
    """Steps of the environment whose gradient was not finite."""
    skipped = sum(facts.series("env_update.skipped_non_finite"))
    if skipped < 1:
        return None
    return Finding(
        says=f"{skipped:.0f} steps of the environment had a gradient that is not finite and were left out.",
        figures={"skipped_non_finite": skipped},
        remedies=(
            Remedy("genenv.environment.actor.optim.lr", "lower it"),
            Remedy("genenv.rwr.max_kl", "lower it: no step from a policy that is far away already"),
        ),
    )


@rule("band_too_narrow")
def band_too_narrow(facts: Facts) -> Finding | None:
    """With so few attempts a group that is exactly on target mostly misses the band."""
    figures = _band_figures(facts)
    if figures is None or figures["acceptance_on_target"] >= LOTTERY:
        return None
    return Finding(
        says=f"The band is too narrow for its attempts: with {figures['attempts_in_a_group']} in a group, one that is "
        f"exactly on target passes {facts.alpha:g} ± {facts.k_min:g} {figures['acceptance_on_target']:.0%} of the "
        f"time; {figures['acceptance_rate']:.0%} of the groups passed.",
        figures=figures,
        remedies=(
            *([] if facts.setting("granularity") == "seed" else [SEED_GROUPS]),
            Remedy("actor_rollout_ref.rollout.n", "more attempts; `genenv-verl plan` says how many"),
            Remedy("genenv.filter", "none (with genenv.preset=calibrated): weights decide instead of a band"),
            Remedy("genenv.k_min", "widen the band"),
        ),
    )


@rule("on_target_only_on_average")
def on_target_only_on_average(facts: Facts) -> Finding | None:
    """The band is wide enough and the mean success rate lies in it, but the groups do not."""
    figures, success = _band_figures(facts), recent_mean(facts.series("success_rate"))
    if figures is None or success is None or abs(success - facts.alpha) > facts.k_min:
        return None
    acceptance, on_target = figures["acceptance_rate"], figures["acceptance_on_target"]
    if on_target < LOTTERY or acceptance >= FEW_ON_TARGET:
        return None
    return Finding(
        says=f"The mean success rate, {success:.2f}, is on target, but only {acceptance:.0%} of the groups are "
        f"({on_target:.0%} would be if all tasks were): the others are too easy or too hard.",
        figures={"success_rate": success, **figures},
        remedies=(
            Remedy("genenv.granularity", "task or shrunk: credit goes to the single task"),
            Remedy("genenv.beta", "raise it (10): rewards of good and bad tasks move apart"),
        ),
    )


def _band_figures(facts: Facts) -> dict[str, float] | None:
    """What the band does and could do; ``None`` where no band chooses, or too little is recorded."""
    acceptance = recent_mean(facts.series("acceptance_rate", out_of="groups"))
    attempts = _attempts_per_group(facts)
    if not facts.trains_environment or facts.filter != "band" or not attempts or acceptance is None:
        return None
    return {
        "acceptance_rate": acceptance,
        "attempts_in_a_group": attempts,
        "k_min": facts.k_min,
        "alpha": facts.alpha,
        "acceptance_on_target": _acceptance_on_target(facts, attempts),
    }


def _acceptance_on_target(facts: Facts, attempts: int) -> float:
    """The chance of a group that is exactly on target. A ``shrunk`` p̂ is no k / n: its chance is simulated."""
    if facts.setting("granularity") != "shrunk":
        return acceptance_probability(facts.alpha, attempts, facts.alpha, facts.k_min)
    n, variations = min(attempts, MOST_SIMULATED), facts.number_setting("n_variations", DEFAULT_VARIATIONS)
    plan = Plan(facts.alpha, facts.k_min, n, int(max(1, min(MOST_VARIATIONS, variations))), batch_tasks=1)
    return plan.acceptance(facts.alpha, "shrunk")


def _attempts_per_group(facts: Facts) -> int | None:
    """Scored attempts behind one p̂ of the last epochs that have groups."""
    for line in reversed(facts.epochs):
        groups, tasks = number(line, "groups"), attempted_tasks(line)
        if groups and groups > 0 and tasks:
            return round(max(1.0, min(100_000.0, facts.attempts_per_task * tasks / groups)))
    return None


@rule("only_the_fallback_trains")
def only_the_fallback_trains(facts: Facts) -> Finding | None:
    """The band has accepted nothing for epochs; what trains the environment are the groups nearest to it."""
    accepted = sum(number(line, "accepted_groups") or 0.0 for line in facts.recent)
    groups = sum(number(line, "groups") or 0.0 for line in facts.recent)
    if not facts.trains_environment or facts.filter != "band":
        return None
    if not _none_lately(facts.series("acceptance_rate")) or not accepted:
        return None
    success = recent_mean(facts.series("success_rate"))
    return Finding(
        says=f"The band has accepted none of {groups:.0f} groups in the last {len(facts.recent)} epochs; the "
        f"{accepted:.0f} that trained the environment are the fallback's, the nearest to {facts.alpha:g}"
        + ("." if success is None else f" (mean success rate {success:.2f})."),
        figures={"acceptance_rate": 0.0, "groups": groups, "accepted_groups": accepted}
        | ({} if success is None else {"success_rate": success}),
        remedies=(
            Remedy("genenv.preset", "calibrated: no band, steep weights; moves from any distance"),
            Remedy("genenv.alpha.schedule", "linear, from a start near the present success rate"),
            Remedy("genenv.k_min", "widen the band"),
        ),
    )


@rule("weights_nearly_equal")
def weights_nearly_equal(facts: Facts) -> Finding | None:
    """Without a filter only the weights steer, and with these β and λ they hardly differ."""
    beta, lam = as_number(facts.setting("beta")), as_number(facts.setting("rwr.lam"))
    if not facts.trains_environment or facts.filter != "none" or facts.compares_variations:
        return None
    if not beta or not lam or beta < 0 or lam < 0:
        return None
    worst = environment_reward(0.0 if facts.alpha >= 0.5 else 1.0, facts.alpha, beta)
    linear = facts.setting("rwr.weight") == "linear"
    ratio = 1.0 / max(worst, 1e-300) if linear else math.exp(min(700.0, (1.0 - worst) / lam))
    if ratio >= FLAT_WEIGHTS:
        return None
    return Finding(
        says=f"All tasks weigh nearly the same: with β = {beta:g}, λ = {lam:g} and no filter, a task on target counts "
        f"{ratio:.2g} times as much as one that nobody or everybody solves.",
        figures={"heaviest_over_lightest": ratio, "genenv.beta": beta, "genenv.rwr.lam": lam},
        remedies=(
            Remedy("genenv.preset", "calibrated (β = 10, λ = 0.2)"),
            Remedy("genenv.rwr.lam", "lower it"),
            Remedy("genenv.filter", "band or top_k"),
        ),
    )
