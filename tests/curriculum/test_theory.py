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
import math

import numpy as np
import pytest

from genenv_verl.curriculum.acceptance import is_in_band
from genenv_verl.curriculum.environment_reward import environment_reward
from genenv_verl.curriculum.theory import (
    acceptance_probability,
    attempts_needed,
    group_acceptance_probability,
    misranking_bound,
    misranking_probability,
    mixed_outcomes_probability,
    passing_successes,
    signal_envelope,
    simulated_acceptance,
    success_distribution,
)

# ---------------------------------------------------------------------- the band


@pytest.mark.parametrize(("n", "percent"), [(8, 27.34), (16, 54.55), (32, 78.47), (64, 89.66)])
def test_acceptance_on_target(n, percent):
    # SPEC section 2 says 27, 55, 79 and 90 %: the third is 78.5 %, rounded up.
    assert 100 * acceptance_probability(0.5, n, alpha=0.5, k_min=0.1) == pytest.approx(percent, abs=0.005)


def test_acceptance_by_hand_and_at_the_ends():
    assert acceptance_probability(0.5, 8, 0.5, 0.1) == pytest.approx(70 / 256)
    assert acceptance_probability(0.25, 2, 0.5, 0.1) == pytest.approx(2 * 0.25 * 0.75)
    assert acceptance_probability(0.3, 8, 0.5, 1.0) == pytest.approx(1.0)
    assert acceptance_probability(0.0, 8, 0.5, 0.1) == 0.0
    assert acceptance_probability(1.0, 8, 1.0, 0.0) == 1.0
    assert acceptance_probability(0.5, 5000, 0.5, 0.1) == pytest.approx(1.0)


def test_no_count_of_three_attempts_lies_in_the_papers_band():
    assert list(passing_successes(3, 0.5, 0.1)) == []
    assert acceptance_probability(0.5, 3, 0.5, 0.1) == 0.0


@pytest.mark.parametrize("n", [2, 5, 8, 10, 20, 30, 50, 97, 1000])
@pytest.mark.parametrize(
    ("alpha", "k_min"), [(0.5, 0.1), (0.3, 0.1), (0.7, 0.2), (0.1, 0.05), (1 / 3, 0.1), (0.9, 0.1)]
)
def test_the_band_passes_exactly_what_the_loop_passes(n, alpha, k_min):
    # With n = 10, k = 4 and 6 lie on the edge: 0.6 − 0.5 is not 0.1 in floating point, and belongs to the band.
    assert list(passing_successes(n, alpha, k_min)) == [k for k in range(n + 1) if is_in_band(k / n, alpha, k_min)]


def test_the_edge_counts_are_in():
    assert list(passing_successes(10, 0.5, 0.1)) == [4, 5, 6]
    assert list(passing_successes(10, 0.3, 0.1)) == [2, 3, 4]


def test_a_seed_of_equal_tasks_is_one_binomial():
    for p in (0.0, 0.14, 0.5, 1.0):
        group = group_acceptance_probability([p] * 4, 8, 0.5, 0.1)
        assert group == pytest.approx(acceptance_probability(p, 32, 0.5, 0.1), abs=1e-12)


def test_a_seed_of_solved_and_unsolvable_tasks_always_passes():
    assert group_acceptance_probability([0.0, 0.0, 1.0, 1.0], 8, 0.5, 0.1) == 1.0
    assert group_acceptance_probability([0.0, 1.0, 1.0, 1.0], 8, 0.5, 0.1) == 0.0


def test_a_mixture_draws_each_task_anew():
    # Of four tasks, solved always or never at even odds, two of each: C(4, 2) / 2⁴.
    assert group_acceptance_probability([{0.0: 0.5, 1.0: 0.5}] * 4, 8, 0.5, 0.1) == pytest.approx(6 / 16)
    one = group_acceptance_probability([{0.5: 0.25, 0.1: 0.75}], 8, 0.5, 0.1)
    by_hand = 0.25 * acceptance_probability(0.5, 8, 0.5, 0.1) + 0.75 * acceptance_probability(0.1, 8, 0.5, 0.1)
    assert one == pytest.approx(by_hand)


@pytest.mark.parametrize("granularity", ["task", "seed", "batch"])
def test_the_loops_own_grouping_agrees(granularity):
    skills = [0.5, 0.3, {0.2: 0.5, 0.9: 0.5}, 0.6]
    simulated = simulated_acceptance(skills, 8, granularity, alpha=0.5, k_min=0.1, trials=4000)
    if granularity == "task":
        exact = sum(group_acceptance_probability([skill], 8, 0.5, 0.1) for skill in skills) / 4
    else:
        exact = group_acceptance_probability(skills, 8, 0.5, 0.1)
    assert simulated == pytest.approx(exact, abs=4 * 0.5 / math.sqrt(4000))


def test_shrinking_lies_between_task_and_seed_for_tasks_on_target():
    shrunk = simulated_acceptance([0.5] * 4, 8, "shrunk", alpha=0.5, k_min=0.1, trials=1000)
    assert acceptance_probability(0.5, 8, 0.5, 0.1) < shrunk < acceptance_probability(0.5, 32, 0.5, 0.1)


def test_distributions_sum_to_one():
    for skill in (0.0, 0.37, 1.0, {0.1: 0.3, 0.9: 0.7}):
        assert success_distribution(skill, 25).sum() == pytest.approx(1.0)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: acceptance_probability(1.5, 8, 0.5, 0.1), "p must be"),
        (lambda: acceptance_probability(math.nan, 8, 0.5, 0.1), "p must be"),
        (lambda: acceptance_probability(0.5, 0, 0.5, 0.1), "n must be"),
        (lambda: acceptance_probability(0.5, 8, -0.5, 0.1), "alpha must be"),
        (lambda: acceptance_probability(0.5, 8, 0.5, 1.1), "k_min must be"),
        (lambda: group_acceptance_probability([], 8, 0.5, 0.1), "at least one task"),
        (lambda: success_distribution({0.5: 0.9}, 8), "sum to 1"),
        (lambda: success_distribution({}, 8), "sum to 1"),
        (lambda: misranking_bound(0.2, 0.2, 8), "delta_1 < delta_2"),
        (lambda: misranking_bound(0.3, 0.2, 8), "delta_1 < delta_2"),
        (lambda: attempts_needed(0.0, 0.2, 0.0), "probability must be"),
        (lambda: mixed_outcomes_probability(0.5, 0), "n must be"),
        (lambda: simulated_acceptance([0.5], 8, "task", alpha=0.5, k_min=0.1, trials=0), "trials must be"),
    ],
)
def test_arguments_out_of_range_are_named(call, message):
    with pytest.raises(ValueError, match=message):
        call()


# ---------------------------------------------------------------------- Theorem 1


def simulated_misranking(p_1, p_2, n_1, n_2, alpha, beta=2.0, trials=4000):
    """How often R_env(p̂₁) <= R_env(p̂₂), from rewards as the loop computes them."""
    generator = np.random.default_rng(0)
    first, second = generator.binomial(n_1, p_1, trials), generator.binomial(n_2, p_2, trials)
    reward_1 = np.array([environment_reward(k / n_1, alpha, beta) for k in range(n_1 + 1)])
    reward_2 = np.array([environment_reward(k / n_2, alpha, beta) for k in range(n_2 + 1)])
    # 4/10 and 6/10 are equally far from ½, rounding aside.
    return float(np.mean(reward_1[first] <= reward_2[second] + 1e-12))


CASES = [
    (0.5, 0.9, 40, 40, 0.5),
    (0.5, 0.9, 60, 200, 0.5),
    (0.45, 0.95, 100, 80, 0.5),
    (0.3, 0.8, 60, 60, 0.3),
    (0.7, 0.1, 40, 40, 0.7),
    (0.5, 0.6, 1200, 1200, 0.5),
]


def distances(p_1, p_2, alpha):
    return abs(p_1 - alpha), abs(p_2 - alpha)


@pytest.mark.parametrize("case", CASES)
def test_theorem_1_holds_in_simulation(case):
    p_1, p_2, n_1, n_2, alpha = case
    bound = misranking_bound(*distances(p_1, p_2, alpha), min(n_1, n_2))
    assert bound < 1.0, "a bound of 1 would prove nothing"
    # Rejecting a true bound by chance: below 3e-7 for each case.
    assert simulated_misranking(*case) <= bound + 5 * math.sqrt(bound * (1 - bound) / 4000)


@pytest.mark.parametrize("case", [(0.5, 0.6, 150, 150, 0.5), (0.5, 0.7, 40, 40, 0.5), (0.3, 0.45, 80, 80, 0.3)])
def test_negative_control_a_wrong_bound_is_violated(case):
    # Nine times the exponent, 2 (Δ₂ − Δ₁)² n: what comes out if δ is taken as the whole gap instead of a third of it.
    p_1, p_2, n_1, n_2, alpha = case
    delta_1, delta_2 = distances(p_1, p_2, alpha)
    wrong = math.exp(-2.0 * (delta_2 - delta_1) ** 2 * min(n_1, n_2))
    simulated = simulated_misranking(*case)
    assert simulated - 5 * math.sqrt(simulated * (1 - simulated) / 4000) > wrong
    assert misranking_probability(*case) > wrong


def test_theorem_1_holds_exactly_on_a_grid():
    rates = np.linspace(0.0, 1.0, 11)
    for alpha in (0.5, 0.35):
        for p_1 in rates:
            for p_2 in rates:
                delta_1, delta_2 = distances(p_1, p_2, alpha)
                if delta_1 < delta_2 - 1e-9:
                    for n_1, n_2 in ((8, 8), (32, 50), (80, 64)):
                        exact = misranking_probability(p_1, p_2, n_1, n_2, alpha)
                        assert exact <= misranking_bound(delta_1, delta_2, min(n_1, n_2)) + 1e-12


def test_the_exact_probability_is_what_is_simulated():
    for case in CASES[:3] + [(0.5, 0.7, 8, 8, 0.5), (0.3, 0.2, 10, 10, 0.3)]:
        exact = misranking_probability(*case)
        assert simulated_misranking(*case) == pytest.approx(exact, abs=5 * math.sqrt(exact * (1 - exact) / 4000) + 1e-3)


def test_ties_are_counted_as_misranked():
    # One attempt each, α = ½: both distances are always ½.
    assert misranking_probability(0.5, 0.9, 1, 1, 0.5) == pytest.approx(1.0)
    assert misranking_probability(1.0, 0.0, 10, 10, 0.5) == pytest.approx(1.0)


def test_ties_are_ties_in_spite_of_rounding():
    # α = 0.3: 2/10 and 4/10 are equally far, though not in floating point. Whole numbers decide: |10 k − 3 n|.
    def binomial(k, p):
        return math.comb(10, k) * p**k * (1 - p) ** (10 - k)

    by_hand = sum(binomial(i, 0.2) * binomial(j, 0.4) for i in range(11) for j in range(11) if abs(i - 3) >= abs(j - 3))
    assert misranking_probability(0.2, 0.4, 10, 10, 0.3) == pytest.approx(by_hand, abs=1e-12)


@pytest.mark.parametrize("probability", [0.5, 0.05, 0.01, 1e-6])
@pytest.mark.parametrize("gap", [0.05, 0.1, 0.2, 0.5])
def test_attempts_needed_is_the_smallest_number(gap, probability):
    n = attempts_needed(0.0, gap, probability)
    assert misranking_bound(0.0, gap, n) <= probability < misranking_bound(0.0, gap, n - 1)


def test_attempts_needed_by_hand():
    assert attempts_needed(0.0, 0.2, 0.05) == math.ceil(4.5 * math.log(80) / 0.04) == 493


# ---------------------------------------------------------------------- Proposition 1


def test_envelope_and_mixed_outcomes():
    assert signal_envelope(0.5) == 0.25 and signal_envelope(0.0) == signal_envelope(1.0) == 0.0
    assert mixed_outcomes_probability(0.5, 2) == pytest.approx(0.5)
    assert mixed_outcomes_probability(0.0, 8) == mixed_outcomes_probability(1.0, 8) == 0.0
    assert mixed_outcomes_probability(0.5, 1) == pytest.approx(0.0)


def squared_gradients(logits, correct, policy_gradient_weight):
    """E over answers a ~ π of ‖w(r) ∇ log π(a)‖², exactly: every answer in turn, differentiated by autograd."""
    torch = pytest.importorskip("torch")
    total = 0.0
    for answer in range(len(logits)):
        parameters = torch.tensor(logits, dtype=torch.float64, requires_grad=True)
        log_pi = torch.log_softmax(parameters, dim=0)[answer]
        weight = policy_gradient_weight(1.0 if answer in correct else 0.0)
        (gradient,) = torch.autograd.grad(weight * log_pi, parameters)
        total += math.exp(log_pi.item()) * gradient.square().sum().item()
    return total


def rate(logits, correct):
    weights = np.exp(logits)
    return float(sum(weights[answer] for answer in correct) / weights.sum())


def test_proposition_1_is_exact_where_the_score_has_one_length():
    # A policy that has no preference yet: all scores have the same length, tasks differ in how many answers are right.
    answers = 12
    for right in range(answers + 1):
        p = right / answers
        signal = squared_gradients([0.0] * answers, set(range(right)), lambda r, p=p: r - p)
        assert signal == pytest.approx((1 - 1 / answers) * signal_envelope(p), abs=1e-12)


def test_proposition_1_holds_between_the_paper_assumptions_constants():
    torch = pytest.importorskip("torch")
    generator = torch.Generator().manual_seed(0)
    for _ in range(20):
        logits = (2.0 * torch.randn(6, generator=generator, dtype=torch.float64)).tolist()
        correct = set(
            torch.randperm(6, generator=generator)[: int(torch.randint(1, 6, (1,), generator=generator))].tolist()
        )
        p = rate(logits, correct)
        # Assumption 1: E[‖∇ log π‖² | r], for r = 1 and r = 0.
        constants = [
            squared_gradients(logits, correct, lambda r: r) / p,
            squared_gradients(logits, correct, lambda r: 1.0 - r) / (1.0 - p),
        ]
        signal = squared_gradients(logits, correct, lambda r, p=p: r - p)
        assert min(constants) * signal_envelope(p) <= signal * (1 + 1e-9)
        assert signal <= max(constants) * signal_envelope(p) * (1 + 1e-9)
        # The middle of the proof: the constants are weighted crosswise.
        assert signal == pytest.approx(signal_envelope(p) * ((1 - p) * constants[0] + p * constants[1]))


def test_proposition_1_does_not_put_the_peak_at_one_half():
    # Two answers, one right: as p grows the score of the right one shrinks, E‖g‖² = 2 p(1−p) (1 − 3 p(1−p)).
    def signal(p):
        return squared_gradients([math.log(p), math.log(1 - p)], {0}, lambda r: r - p)

    for p in (0.1, 0.211, 0.5, 0.789):
        assert signal(p) == pytest.approx(2 * signal_envelope(p) * (1 - 3 * signal_envelope(p)))
    assert signal(0.211) > 1.3 * signal(0.5)


def test_grpos_normalisation_takes_the_envelope_out_again():
    # Advantages (r − mean) / std of n attempts (verl: Bessel's std): for a group with both outcomes their mean square
    # is (n − 1) / n whatever p is; for one without it is 0. What is left of p is the chance that both outcomes occur.
    n, answers = 8, 5
    length = 1 - 1 / answers
    for right in range(1, answers):
        p = right / answers
        signal = 0.0
        for k, mass in enumerate(success_distribution(p, n)[1:-1], start=1):
            deviation = math.sqrt(k * (n - k) / (n * (n - 1)))
            # An attempt of a group with k successes is right with k / n, not with p: hence the root of k / (n p).
            among = {1.0: math.sqrt(k / n / p), 0.0: math.sqrt((1 - k / n) / (1 - p))}
            signal += mass * squared_gradients(
                [0.0] * answers, set(range(right)), lambda r, k=k, d=deviation, a=among: (r - k / n) / d * a[r]
            )
        assert signal == pytest.approx((n - 1) / n * length * mixed_outcomes_probability(p, n))
    # Hence nearly flat where the envelope has lost half of its height.
    assert mixed_outcomes_probability(0.15, n) > 0.7 and signal_envelope(0.15) / 0.25 < 0.52
