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
"""What a band will accept, before any training: acceptance by skill and granularity, ranking, and what to beware of."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from genenv_verl.curriculum.theory import (
    acceptance_probability,
    attempts_needed,
    misranking_bound,
    misranking_probability,
    mixed_outcomes_probability,
    passing_successes,
    simulated_acceptance,
)

SKILLS = (0.02, 0.14, 0.25, 0.4, 0.5, 0.6, 0.75, 0.86, 0.98)
"""Success rates from hopeless to mastered; 0.14 is where the paper's agent starts (its Fig. 7)."""
COLD_START = 0.14
GAPS = (0.1, 0.2, 0.3)
WANTED_MISRANKING = 0.05
SIMULATED_TASKS = 4000
"""For ``shrunk``, which has no closed form: tasks that are attempted, a standard error of about 2 %."""
HALF = 0.5
"""A filter that leaves out more of the tasks on target than it takes is a lottery."""
NEXT_TO_NOTHING = 0.05


@dataclass(frozen=True)
class Plan:
    """A band and the attempts that p̂ is taken from.

    Attributes:
        alpha: Target success rate in (0, 1).
        k_min: Half width of the band in (0, 1).
        n: Attempts at each task, >= 2.
        variations: Tasks of a seed, >= 1.
        batch_tasks: Fresh tasks of one agent step, >= 1.
    """

    alpha: float
    k_min: float
    n: int
    variations: int
    batch_tasks: int

    @property
    def attempts(self) -> dict[str, int]:
        """Attempts behind one p̂, for the granularities whose p̂ is a plain k / n."""
        return {"task": self.n, "seed": self.n * self.variations, "batch": self.n * self.batch_tasks}

    def acceptance(self, p: float, granularity: str) -> float:
        """The probability that a group passes, all of whose tasks the agent solves at rate ``p``."""
        if granularity == "shrunk":
            skills, trials = [p] * self.variations, math.ceil(SIMULATED_TASKS / self.variations)
            return simulated_acceptance(skills, self.n, "shrunk", alpha=self.alpha, k_min=self.k_min, trials=trials)
        return acceptance_probability(p, self.attempts[granularity], self.alpha, self.k_min)


@dataclass(frozen=True)
class SkillRow:
    """One skill level: the chance that a task's attempts differ (GRPO learns from it), acceptance by granularity."""

    p: float
    mixed_outcomes: float
    acceptance: dict[str, float]


@dataclass(frozen=True)
class RankingRow:
    """A task on target against one that is ``gap`` away from it: how often R_env puts them in the wrong order.

    ``bound`` and ``exact`` are for single tasks and, with ``seed_…``, for seed groups; ``needed`` attempts make the
    bound :data:`WANTED_MISRANKING`.
    """

    gap: float
    bound: float
    exact: float
    seed_bound: float
    seed_exact: float
    needed: int


def percent(share: float) -> str:
    """A share in [0, 1] with one digit; what is there but would round to nothing is not called nothing."""
    return "<0.1%" if 0.0 < share < 0.0005 else f"{share:.1%}"


def skill_rows(plan: Plan, skills: Sequence[float] = SKILLS) -> list[SkillRow]:
    """Acceptance at several skill levels, and at α itself, in ascending order."""
    return [
        SkillRow(
            p=p,
            mixed_outcomes=mixed_outcomes_probability(p, plan.n),
            acceptance={name: plan.acceptance(p, name) for name in (*plan.attempts, "shrunk")},
        )
        for p in sorted({*skills, plan.alpha})
    ]


def ranking_rows(plan: Plan) -> list[RankingRow]:
    """Theorem 1 beside the truth, for tasks away from α towards the farther end of [0, 1]."""
    sign = 1.0 if plan.alpha <= HALF else -1.0
    n, seed_n = plan.n, plan.attempts["seed"]
    return [
        RankingRow(
            gap=gap,
            bound=misranking_bound(0.0, gap, n),
            exact=misranking_probability(plan.alpha, plan.alpha + sign * gap, n, n, plan.alpha),
            seed_bound=misranking_bound(0.0, gap, seed_n),
            seed_exact=misranking_probability(plan.alpha, plan.alpha + sign * gap, seed_n, seed_n, plan.alpha),
            needed=attempts_needed(0.0, gap, WANTED_MISRANKING),
        )
        for gap in GAPS
    ]


def plan_warnings(plan: Plan) -> list[str]:
    """What a person should know before training with this band."""
    return [*_acceptance_warnings(plan), *_blind_group_warnings(plan), *_cold_start_warnings(plan)]


def _acceptance_warnings(plan: Plan) -> list[str]:
    warnings = []
    band = f"{plan.alpha:g} ± {plan.k_min:g}"
    if plan.k_min >= max(plan.alpha, 1.0 - plan.alpha):
        warnings.append(f"every success rate lies in {band}: this is genenv.filter=none under another name")
    for granularity in ("task", "seed"):
        n = plan.attempts[granularity]
        on_target = plan.acceptance(plan.alpha, granularity)
        if not passing_successes(n, plan.alpha, plan.k_min):
            warnings.append(
                f"granularity {granularity}: no k of {n} attempts gives a p̂ in {band}, so that nothing is ever "
                "accepted; change the attempts (actor_rollout_ref.rollout.n) or widen genenv.k_min"
            )
        elif on_target < HALF:
            warnings.append(
                f"granularity {granularity}: a {granularity} with n={n} that is exactly on target passes "
                f"{on_target:.0%} of the time, the others are lost to chance; {_remedy(plan, granularity)}"
            )
    return warnings


def _remedy(plan: Plan, granularity: str) -> str:
    seed = plan.acceptance(plan.alpha, "seed")
    if granularity == "task" and seed >= HALF:
        return f"genenv.granularity=seed passes {seed:.0%}, genenv.filter=none lets the weights decide"
    return "raise actor_rollout_ref.rollout.n or genenv.k_min, or let the weights decide (genenv.filter=none)"


def _blind_group_warnings(plan: Plan) -> list[str]:
    m = plan.variations
    solved = next((k // plan.n for k in passing_successes(plan.n * m, plan.alpha, plan.k_min) if k % plan.n == 0), None)
    if solved is None or m == 1:
        return []
    return [
        f"granularity seed: a seed with {solved} of its {m} variations always solved and {m - solved} never "
        "solved (mislabelled, say) passes every time, and no attempt at it teaches the agent anything; watch "
        "zero_variance_groups and success_rate_trusted in the epoch's line"
    ]


def _cold_start_warnings(plan: Plan) -> list[str]:
    if plan.alpha <= COLD_START or (accepted := plan.acceptance(COLD_START, "seed")) >= NEXT_TO_NOTHING:
        return []
    return [
        f"cold start: where the agent solves {COLD_START:.0%}, {percent(accepted)} of the seed groups pass; the "
        "fallback of genenv.min_accepted (the nearest groups) decides what trains the environment, and without it "
        "(genenv.min_accepted=0) nothing does"
    ]
