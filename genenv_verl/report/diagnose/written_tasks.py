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
"""What the environment writes: is it valid, varied, and scored by more than luck?"""

from __future__ import annotations

from collections import Counter

from genenv_verl.report.diagnose.facts import Facts, attempted_tasks, total_counts
from genenv_verl.report.diagnose.finding import Finding, Remedy, rule
from genenv_verl.report.diagnose.trends import MIN_TREND, early_and_late, fallen, recent_mean
from genenv_verl.report.fields import counts, number

DUPLICATES = ("duplicate", "near_duplicate", "same_template")
FALL, FALL_OF_FEW = 0.11, 0.15
"""A fall of a share that is worth a look, and one between two single epochs. What goes evenly from 1 to 0.8 falls by
0.12 or more between the means at its ends; in the 24 runs of the miniature study these lost 0.083 at most."""
LOW = 0.5
"""Most of what is written is of no use."""
SHRUNK = 0.5
"""Effective number of tools or families, against the start."""
LUCK = 0.25
"""Mean chance level. A quarter is half of the target: every second success may be a guess."""
LUCKY_SHARE = 0.2
WRONG_SHARE = 0.2
"""Of the tasks. Where few golds are wrong, chance and the agent's habits explain up to an eighth (docs/trust.md)."""
CUT_OFF_SHARE = 0.1
FREQUENT = 3


@rule("collapse")
def collapse(facts: Facts) -> Finding | None:
    """The environment writes the same tasks again and again."""
    field, unique = "unique_fraction", facts.series("unique_fraction")
    if unique and unique == facts.series("valid_fraction"):
        # Runs of old versions record the valid share under this name: duplicates are all that can be told.
        field, unique = "share without duplicates", [1.0 - _duplicates(line) for line in facts.epochs]
    trend = _fallen(unique)
    if trend is None:
        return None
    early, late = trend
    return Finding(
        says=f"The environment repeats itself: {late:.0%} of its tasks are new in the last epochs, {early:.0%} were in "
        f"the first ({unique[-1]:.0%} in the last one).",
        figures={f"{field} early": early, f"{field} late": late, f"{field} last": unique[-1]},
        remedies=(
            Remedy("genenv.novelty.lam_dup", "above 0 (0.5): tasks like earlier ones earn less"),
            Remedy("genenv.rwr.kl_coef", "raise it: stay nearer to the initial environment"),
            Remedy("genenv.environment.actor.optim.lr", "lower it"),
            Remedy("genenv.rwr.lam", "raise it: a few texts no longer take all the weight"),
        ),
    )


def _fallen(shares: list[float]) -> tuple[float, float] | None:
    return fallen(shares, FALL if len(shares) > MIN_TREND else FALL_OF_FEW, LOW)


def _duplicates(line: dict) -> float:
    """The share of an epoch's generations that were rejected for saying nothing new."""
    generated, reasons = number(line, "generated"), counts(line, "invalid_reasons")
    return min(1.0, sum(reasons.get(name, 0.0) for name in DUPLICATES) / generated) if generated else 0.0


@rule("coverage_shrinking")
def coverage_shrinking(facts: Facts) -> Finding | None:
    """The tasks concentrate on fewer tools or families."""
    for field, what in (("coverage.tools_effective", "tools"), ("coverage.families_effective", "families")):
        trend = early_and_late(facts.series(field, out_of="valid"))
        if trend and trend[0] >= 2.0 and trend[1] <= SHRUNK * trend[0]:
            return Finding(
                says=f"The tasks spread over fewer {what}: {trend[1]:.1f} in effect, {trend[0]:.1f} at the start.",
                figures={f"{field} early": trend[0], f"{field} late": trend[1]},
                remedies=(
                    Remedy("genenv.granularity", "seed: an easy family no longer wins task by task"),
                    Remedy("genenv.rwr.kl_coef", "raise it"),
                    Remedy("genenv.novelty.lam_dup", "above 0 (0.5): tasks like earlier ones earn less"),
                ),
            )
    return None


@rule("validity_falling")
def validity_falling(facts: Facts) -> Finding | None:
    """Fewer and fewer generations are valid tasks; repeated ones are collapse, not counted here."""
    shares = [
        min(1.0, share + _duplicates(line))
        for line in facts.epochs
        if (share := number(line, "valid_fraction")) is not None and number(line, "generated") != 0
    ]
    trend = _fallen(shares)
    if trend is None:
        return None
    early, late = trend
    frequent = frequent_reasons(facts)
    named = ", ".join(f"{name} {count}" for name, count in frequent)
    return Finding(
        says=f"{late:.0%} of what the environment writes is a valid task, {early:.0%} at the start"
        + (f"; most frequent reasons now: {named}." if named else "."),
        figures={"valid_fraction early": early, "valid_fraction late": late, **dict(frequent)},
        remedies=validity_remedies(frequent),
    )


def frequent_reasons(facts: Facts) -> list[tuple[str, int]]:
    """Why generations of the last epochs were rejected, most frequent first; repetition is another matter."""
    reasons = total_counts(facts.recent, "invalid_reasons")
    return [(name, count) for name, count in reasons.most_common() if name not in DUPLICATES][:FREQUENT]


def validity_remedies(frequent: list[tuple[str, int]]) -> tuple[Remedy, ...]:
    """Keys to try against the most frequent reason."""
    reason = frequent[0][0] if frequent else ""
    keys = {
        "truncated": Remedy("genenv.environment.rollout.response_length", "raise it: tasks are cut off"),
        "prompt_too_long": Remedy("data.max_prompt_length", "raise it: the agent's prompts do not fit"),
        "gold_too_long": Remedy("data.max_response_length", "raise it: the golds do not fit"),
        "seed_prompt_too_long": Remedy("genenv.environment.rollout.prompt_length", "raise it: seeds do not fit"),
        "language_mismatch": Remedy("genenv.environment_template", "name the language of the tasks"),
    }
    if reason.startswith("checker_"):
        first = Remedy("genenv.sandbox.backend", "`genenv-verl tasks validate` says what is wrong with the checkers")
    else:
        first = keys.get(reason, Remedy("genenv.environment_template", "show the environment what a task looks like"))
    return (
        first,
        Remedy("genenv.rwr.kl_coef", "raise it: stay nearer to the initial environment"),
        Remedy("genenv.environment.actor.optim.lr", "lower it"),
    )


@rule("tasks_cut_off")
def tasks_cut_off(facts: Facts) -> Finding | None:
    """Generations that end at the token limit, whatever they would have become."""
    cut = total_counts(facts.recent, "invalid_reasons")["truncated"]
    generated = sum(number(line, "generated") or 0.0 for line in facts.recent)
    if not generated or cut / generated < CUT_OFF_SHARE:
        return None
    limit = facts.setting("environment.rollout.response_length")
    return Finding(
        says=f"{cut} of {generated:.0f} tasks of the last {len(facts.recent)} epochs were cut off at the token limit.",
        figures={"truncated": cut, "generated": generated, **({"limit": limit} if isinstance(limit, int) else {})},
        remedies=(Remedy("genenv.environment.rollout.response_length", "raise it"),),
    )


@rule("luck")
def luck(facts: Facts) -> Finding | None:
    """Guessing explains much of the success."""
    levels = (recent_mean(facts.series("trust.chance_level_mean")), facts.tasks.chance_level)
    chance = max((level for level in levels if level is not None), default=None)
    tasks = sum(attempted_tasks(line) for line in facts.recent)
    lucky = total_counts(facts.recent, "trust")["lucky"]
    share = lucky / tasks if tasks else 0.0
    if (chance is None or chance < LUCK) and share < LUCKY_SHARE:
        return None
    success = recent_mean(facts.series("success_rate"))
    figures = {"chance_level_mean": chance, "lucky": lucky, "tasks": tasks, "success_rate": success}
    guessed = "" if chance is None else f"a guess solves {chance:.0%} of the tasks on average"
    flagged = f"at {lucky} of {tasks:.0f} tasks success is no more than guessing gives" if lucky else ""
    compared = "" if success is None else f", and the agent solves {success:.0%}"
    return Finding(
        says=f"Much of the success may be luck: {' and '.join(filter(None, (guessed, flagged)))}{compared}.",
        figures={name: value for name, value in figures.items() if value is not None},
        remedies=(
            Remedy("genenv.trust.lucky", "scale or quarantine: such tasks earn the environment less, or nothing"),
            Remedy("genenv.alpha.start", "raise it: between the chance level and 1, not between 0 and 1"),
            Remedy("genenv.environment_template", "ask for answers that cannot be guessed"),
        ),
    )


@rule("wrong_golds")
def wrong_golds(facts: Facts) -> Finding | None:
    """At many tasks the attempts agree on another answer than the gold."""
    flags: Counter[str] = total_counts(facts.recent, "trust")
    tasks = sum(attempted_tasks(line) for line in facts.recent)
    suspected = flags["suspected_wrong_gold"]
    if not tasks or suspected / tasks < WRONG_SHARE:
        return None
    success, trusted = (
        recent_mean([value for line in facts.recent if (value := number(line, field)) is not None])
        for field in ("success_rate", "success_rate_trusted")
    )
    compared = {} if success is None or trusted is None else {"success_rate": success, "success_rate_trusted": trusted}
    return Finding(
        says=f"At {suspected} of {tasks:.0f} tasks of the last {len(facts.recent)} epochs the attempts agree on "
        "another answer than the gold: the environment writes wrong golds, or the agent makes one mistake everywhere."
        + (f" At the tasks without a doubt success is {trusted:.0%}, at all {success:.0%}." if compared else ""),
        figures={"suspected_wrong_gold": suspected, "quarantined": flags["quarantined"], "tasks": tasks} | compared,
        remedies=(
            Remedy("genenv.trust.suspected_wrong_gold", "quarantine, or report if it is the agent (read the tasks)"),
            Remedy("genenv.environment.actor.optim.lr", "lower it: the environment forgets how to solve its tasks"),
            Remedy("genenv.environment_template", "ask for the answer's derivation before the gold"),
        ),
    )
