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
"""What the paper's theory and the band promise for a given number of attempts, as numbers (docs/theory.md).

Skill is the true success rate p of the agent at a task, which the loop never sees: it sees p̂ = k / n.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence

import numpy as np

from genenv_verl.curriculum.acceptance import is_in_band
from genenv_verl.curriculum.difficulty import Attempts, Granularity, group_attempts

Skill = float | Mapping[float, float]
"""A task's success rate in [0, 1], or a mixture: what it may be, with the probability of each (they sum to 1)."""

_SUM_TOLERANCE = 1e-9


# ---------------------------------------------------------------------- Proposition 1


def signal_envelope(p: float) -> float:
    """p (1 − p) in [0, ¼]: what Proposition 1 bounds E‖g‖² with from both sides, up to constants.

    It is the variance of the reward, largest at p = ½. That E‖g‖² itself is largest there follows only where the
    score's norm does not depend on p (docs/theory.md).
    """
    return _probability("p", p) * (1.0 - p)


def mixed_outcomes_probability(p: float, n: int) -> float:
    """1 − pⁿ − (1−p)ⁿ: the probability that n attempts do not all end alike.

    GRPO divides by the group's standard deviation, which takes p (1 − p) out of a group's signal again. What is left of
    the preference for p near ½ is this: a group whose attempts all end alike has no advantage at all.

    Args:
        p: True success rate in [0, 1].
        n: Attempts, >= 1.
    """
    _at_least_one("n", n)
    return max(0.0, 1.0 - _probability("p", p) ** n - (1.0 - p) ** n)


# ---------------------------------------------------------------------- Theorem 1


def misranking_bound(delta_1: float, delta_2: float, n: int) -> float:
    """Theorem 1: Pr(R_env(p̂₁) <= R_env(p̂₂)) <= 4 exp(−(2/9) (Δ₂ − Δ₁)² n), cut at 1, where it says nothing.

    Args:
        delta_1: Δ₁ = |p₁ − α| of the better task, in [0, 1].
        delta_2: Δ₂ = |p₂ − α| of the worse one, above Δ₁.
        n: The fewest attempts at either of them, >= 1.

    Raises:
        ValueError: An argument is out of its range; with Δ₁ >= Δ₂ there is no order to get wrong.
    """
    _at_least_one("n", n)
    return min(1.0, 4.0 * math.exp(-2.0 / 9.0 * _gap(delta_1, delta_2) ** 2 * n))


def attempts_needed(delta_1: float, delta_2: float, probability: float) -> int:
    """The fewest attempts for which Theorem 1 promises a mis-ranking probability of at most ``probability``.

    n = ⌈9 ln(4 / probability) / (2 (Δ₂ − Δ₁)²)⌉. It is what the bound needs; :func:`misranking_probability` shows that
    the truth needs far fewer.

    Args:
        delta_1: Δ₁ of the better task, in [0, 1].
        delta_2: Δ₂ of the worse one, above Δ₁.
        probability: Wanted probability in (0, 1).

    Raises:
        ValueError: An argument is out of its range.
    """
    if not 0.0 < probability < 1.0:
        raise ValueError(f"probability must be in (0, 1), got {probability}")
    n = max(1, math.ceil(4.5 * math.log(4.0 / probability) / _gap(delta_1, delta_2) ** 2))
    # Rounding may have carried the quotient over a whole number, either way.
    if n > 1 and misranking_bound(delta_1, delta_2, n - 1) <= probability:
        return n - 1
    return n if misranking_bound(delta_1, delta_2, n) <= probability else n + 1


def misranking_probability(p_1: float, p_2: float, n_1: int, n_2: int, alpha: float) -> float:
    """The exact Pr(|p̂₁ − α| >= |p̂₂ − α|) of two independent tasks: the event of Theorem 1, ties included.

    A tie is no order: the environment earns the same for both.

    Args:
        p_1: True success rate of the first task, in [0, 1].
        p_2: True success rate of the second task, in [0, 1].
        n_1: Attempts at the first task, >= 1.
        n_2: Attempts at the second task, >= 1.
        alpha: Target success rate in [0, 1].

    Raises:
        ValueError: An argument is out of its range.
    """
    distance_1, mass_1 = _distances(p_1, n_1, alpha)
    distance_2, mass_2 = _distances(p_2, n_2, alpha)
    order = np.argsort(distance_2)
    # Pr(distance 2 <= d) for every distance d of the first task; equal distances are equal in spite of rounding.
    nearer = np.concatenate([[0.0], np.cumsum(mass_2[order])])
    places = np.searchsorted(distance_2[order], distance_1 + _SUM_TOLERANCE, side="right")
    return min(1.0, float(mass_1 @ nearer[places]))


def _distances(p: float, n: int, alpha: float) -> tuple[np.ndarray, np.ndarray]:
    """|k/n − α| for k = 0 … n, and the probability of each."""
    _probability("alpha", alpha)
    return np.abs(np.arange(n + 1) / n - alpha), success_distribution(p, n)


# ---------------------------------------------------------------------- the band


def passing_successes(n: int, alpha: float, k_min: float) -> range:
    """The k for which k of n attempts lie in the band, by the very comparison that the loop makes. Often there is none.

    Args:
        n: Attempts, >= 1.
        alpha: Target success rate in [0, 1].
        k_min: Half width of the band in [0, 1].
    """
    _at_least_one("n", n)
    _probability("alpha", alpha)
    _probability("k_min", k_min)
    # The band is an interval; one more on either side for rounding, and the loop's own comparison decides.
    first = max(0, math.floor(n * (alpha - k_min)) - 1)
    last = min(n, math.ceil(n * (alpha + k_min)) + 1)
    passing = [k for k in range(first, last + 1) if is_in_band(k / n, alpha, k_min)]
    return range(passing[0], passing[-1] + 1) if passing else range(0)


def acceptance_probability(p: float, n: int, alpha: float, k_min: float) -> float:
    """The exact probability that n attempts of true success rate ``p`` pass the band |p̂ − α| <= k_min.

    Σ C(n, k) pᵏ (1−p)ⁿ⁻ᵏ over the k that pass. It shows what the band can mean at all: at p = α = ½ and k_min = 0.1 it
    is 27.3 % for n = 8 and 89.7 % for n = 64 (SPEC section 2). The attempts may belong to one task, or to several of
    the same p; for others see :func:`group_acceptance_probability`.

    Args:
        p: True success rate in [0, 1].
        n: Scored attempts, >= 1.
        alpha: Target success rate in [0, 1].
        k_min: Half width of the band in [0, 1].

    Raises:
        ValueError: An argument is out of its range.
    """
    passing = passing_successes(n, alpha, k_min)
    return min(1.0, math.fsum(_binomial(k, n, p) for k in passing))


def group_acceptance_probability(skills: Sequence[Skill], n: int, alpha: float, k_min: float) -> float:
    """The exact probability that a group passes the band: the tasks of a seed, each attempted n times.

    Args:
        skills: One entry a task. A mixture says that the task's own p is drawn first, independently of the others.
        n: Scored attempts at each task, >= 1.
        alpha: Target success rate in [0, 1].
        k_min: Half width of the band in [0, 1].

    Raises:
        ValueError: An argument is out of its range, or there is no task.
    """
    if not skills:
        raise ValueError("a group has at least one task, got none")
    successes = np.ones(1)
    for skill in skills:
        successes = np.convolve(successes, success_distribution(skill, n))
    passing = passing_successes(n * len(skills), alpha, k_min)
    return min(1.0, math.fsum(successes[passing.start : passing.stop]))


def success_distribution(skill: Skill, n: int) -> np.ndarray:
    """The probability of k = 0 … n successes in n attempts at one task, shape ``[n + 1]``.

    Raises:
        ValueError: A rate is out of [0, 1], n is below 1, or the probabilities of a mixture do not sum to 1.
    """
    _at_least_one("n", n)
    mixture = skill if isinstance(skill, Mapping) else {skill: 1.0}
    if min(mixture.values(), default=-1.0) < 0.0 or abs(math.fsum(mixture.values()) - 1.0) > _SUM_TOLERANCE:
        raise ValueError(f"the probabilities of a mixture must be >= 0 and sum to 1, got {dict(mixture)}")
    return sum(share * np.array([_binomial(k, n, p) for k in range(n + 1)]) for p, share in mixture.items())


def simulated_acceptance(
    skills: Sequence[Skill], n: int, granularity: Granularity, *, alpha: float, k_min: float, trials: int, seed: int = 0
) -> float:
    """The share of groups inside the band when a seed's tasks are attempted, by the loop's own grouping.

    For ``shrunk``, which has no closed form; for the others it is an independent check of the exact probabilities.

    Args:
        skills: One entry a task of the seed.
        n: Scored attempts at each task, >= 1.
        granularity: The group that p̂ is taken over. The tasks make one seed and one batch.
        alpha: Target success rate in [0, 1].
        k_min: Half width of the band in [0, 1].
        trials: How often the seed is attempted, >= 1. The standard error is at most 0.5 / √trials.
        seed: Of the random numbers.
    """
    _at_least_one("trials", trials)
    generator = np.random.default_rng(seed)
    distributions = [success_distribution(skill, n) for skill in skills]
    draws = [generator.choice(n + 1, size=trials, p=mass / mass.sum()) for mass in distributions]
    accepted = groups = 0
    # The order of a seed's tasks changes nothing, so that few outcomes are left to be grouped.
    for successes, times in Counter(tuple(sorted(row)) for row in np.transpose(draws).tolist()).items():
        attempts = [Attempts(f"task {place}", "seed", 1, k, n) for place, k in enumerate(successes)]
        found = group_attempts(attempts, granularity)
        groups += times * len(found)
        accepted += times * sum(is_in_band(group.p_hat, alpha, k_min) for group in found)
    return accepted / groups if groups else 0.0


def _binomial(k: int, n: int, p: float) -> float:
    _probability("p", p)
    if p in (0.0, 1.0):
        return float(k == p * n)
    log_choose = math.lgamma(n + 1) - math.lgamma(k + 1) - math.lgamma(n - k + 1)
    return math.exp(log_choose + k * math.log(p) + (n - k) * math.log1p(-p))


def _probability(name: str, value: float) -> float:
    if not 0.0 <= value <= 1.0:
        raise ValueError(f"{name} must be in [0, 1], got {value}")
    return value


def _at_least_one(name: str, value: int) -> None:
    if value < 1:
        raise ValueError(f"{name} must be >= 1, got {value}")


def _gap(delta_1: float, delta_2: float) -> float:
    if not 0.0 <= delta_1 < delta_2 <= 1.0:
        raise ValueError(f"Theorem 1 speaks of 0 <= delta_1 < delta_2 <= 1, got {delta_1} and {delta_2}")
    return delta_2 - delta_1
