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
"""The loss of reward-weighted regression against its formula in float64 numpy: values, gradients, splits, masks."""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np
import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("tensordict")

from hypothesis import given, settings  # noqa: E402
from hypothesis import strategies as st  # noqa: E402
from tensordict import NonTensorData, TensorDict  # noqa: E402

from genenv_verl.trainer.rwr_loss import k3, make_rwr_loss, mean_kl  # noqa: E402


@dataclass(frozen=True)
class Row:
    """One generation: prompt length (>= 1), log-probabilities of the response under policy and reference, weight."""

    prompt: int
    log_prob: np.ndarray
    reference: np.ndarray
    weight: float


def random_row(generator: np.random.Generator, prompt: int, response: int, weight: float) -> Row:
    log_prob = -generator.exponential(1.5, response)
    reference = np.minimum(log_prob + generator.normal(0.0, 0.7, response), 0.0)
    # float32 on both sides: the weight is the one input that the loss is handed in single precision
    return Row(prompt, log_prob, reference, float(np.float32(weight)))


def formula(rows: list[Row], kl_coef: float) -> tuple[float, np.ndarray]:
    """The formula of the module's docstring and its derivative by each log-probability, rows joined."""
    tokens = sum(len(row.log_prob) for row in rows)
    loss, gradient = 0.0, []
    for row in rows:
        ratio = np.exp(row.reference - row.log_prob)
        penalty = ratio - (row.reference - row.log_prob) - 1.0
        loss += float(np.sum(-row.weight * row.log_prob + kl_coef * penalty))
        gradient.append(-row.weight + kl_coef * (1.0 - ratio))
    return loss / tokens, np.concatenate(gradient) / tokens


def run(
    rows: list[Row],
    kl_coef: float,
    total_tokens: int,
    dp_size: int = 1,
    masked: float = -3.25,
) -> tuple[float, np.ndarray, np.ndarray, dict[str, float]]:
    """The loss of one micro-batch as verl's engine calls it.

    Returns:
        Loss, gradient at the response tokens, gradient at all other positions, metrics.
    """
    lengths = [row.prompt + len(row.log_prob) for row in rows]
    offsets = torch.tensor([0, *np.cumsum(lengths)])
    scored, reference, mask = [], [], []
    for row in rows:
        before = [masked] * (row.prompt - 1)
        # entry t scores token t + 1: the response is scored one position early, the last entry scores nothing
        scored += [*before, *row.log_prob, masked]
        reference += [*before, *row.reference, masked]
        mask += [0] * row.prompt + [1] * len(row.log_prob)
    leaf = torch.tensor(scored, dtype=torch.float64, requires_grad=True)

    def nested(values: torch.Tensor) -> torch.Tensor:
        return torch.nested.nested_tensor_from_jagged(values, offsets)

    data = TensorDict(
        {
            "input_ids": nested(torch.arange(len(scored))),
            "loss_mask": nested(torch.tensor(mask)),
            "rwr_weight": torch.tensor([row.weight for row in rows], dtype=torch.float32),
            "batch_num_tokens": NonTensorData(total_tokens),
            "dp_size": NonTensorData(dp_size),
        },
        batch_size=len(rows),
    )
    if kl_coef > 0.0:
        data["ref_log_prob"] = nested(torch.tensor(reference, dtype=torch.float64))
    loss, metrics = make_rwr_loss(kl_coef)(model_output={"log_probs": nested(leaf)}, data=data, dp_group=None)
    loss.backward()
    positions = np.roll(np.array(mask, dtype=bool), -1)
    gradient = leaf.grad.numpy()
    return loss.item(), gradient[positions], gradient[~positions], metrics


def tokens_of(rows: list[Row]) -> int:
    return sum(len(row.log_prob) for row in rows)


def split(rows: list[Row], cuts: list[int]) -> list[list[Row]]:
    """The rows cut before each index of ``cuts``; empty parts are left out."""
    edges = [0, *sorted(min(cut, len(rows)) for cut in cuts), len(rows)]
    return [rows[start:end] for start, end in pairwise(edges) if end > start]


@st.composite
def batches(draw: st.DrawFn, min_rows: int = 1) -> list[Row]:
    shapes = draw(
        st.lists(
            st.tuples(st.integers(1, 5), st.integers(0, 6), st.floats(-4.0, 4.0, width=32)),
            min_size=min_rows,
            max_size=7,
        ).filter(lambda shapes: any(response for _, response, _ in shapes))
    )
    generator = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    return [random_row(generator, *shape) for shape in shapes]


COEFFICIENTS = st.sampled_from([0.0, 0.001, 0.1, 2.0])


# ---------------------------------------------------------------------- k3


def test_k3_values_c19():
    """Case C19: the plain difference is negative on this sample, k3 is not, and a cap of 0.05 triggers."""
    log_prob, reference = torch.tensor([-1.5, -0.7]), torch.tensor([-1.0, -1.0])
    values = k3(log_prob, reference)
    assert (log_prob - reference).mean().item() == pytest.approx(-0.1, abs=1e-6)
    assert values.tolist() == pytest.approx([0.148721, 0.040818], abs=1e-6)
    assert values.mean().item() == pytest.approx(0.09477, abs=1e-5)
    assert values.mean().item() > 0.05


@settings(deadline=None, max_examples=40)
@given(
    st.lists(st.floats(-1e4, 0.0), min_size=1),
    st.lists(st.floats(-1e4, 0.0), min_size=1),
)
def test_k3_is_finite_and_never_negative(policy, reference):
    size = min(len(policy), len(reference))
    values = k3(torch.tensor(policy[:size]), torch.tensor(reference[:size]))
    assert torch.isfinite(values).all()
    # float32 rounds exp(r) - r - 1 at ratios near 0, where the true value is r²/2
    assert (values >= -1e-6).all()


def test_k3_of_impossible_tokens_is_finite():
    infinite = float("-inf")
    values = k3(torch.tensor([infinite, -1.0]), torch.tensor([-1.0, infinite]))
    assert values.tolist() == pytest.approx([np.exp(20.0) - 21.0, np.exp(-20.0) + 19.0])


def test_the_mean_over_tokens_of_the_first_policy_is_its_divergence_from_the_second():
    """The exact expectation over 10,000 tokens that follow the first policy; the other way round it is another one."""
    sampler, moved = torch.tensor([0.05, 0.25, 0.7]), torch.tensor([0.3, 0.3, 0.4])
    tokens = torch.repeat_interleave(torch.arange(3), torch.tensor([500, 2500, 7000]))
    generations = tokens.split(1000)
    before, after = ([policy.log()[part] for part in generations] for policy in (sampler, moved))
    divergence = (sampler * (sampler / moved).log()).sum().item()
    assert mean_kl(before, after) == pytest.approx(divergence, rel=1e-5)
    assert mean_kl(after, before) < 0.75 * divergence
    assert np.isnan(mean_kl([torch.tensor([float("nan")])], [torch.tensor([0.0])]))


# ---------------------------------------------------------------------- the formula


@settings(deadline=None, max_examples=40)
@given(batches(), COEFFICIENTS)
def test_loss_and_gradient_are_those_of_the_formula(rows, kl_coef):
    loss, gradient, elsewhere, metrics = run(rows, kl_coef, tokens_of(rows))
    expected_loss, expected_gradient = formula(rows, kl_coef)
    assert loss == pytest.approx(expected_loss, rel=1e-12, abs=1e-12)
    np.testing.assert_allclose(gradient, expected_gradient, rtol=1e-12, atol=1e-15)
    assert not elsewhere.any()
    log_prob = np.concatenate([row.log_prob for row in rows])
    weighted = sum(row.weight * row.log_prob.sum() for row in rows)
    assert metrics["nll_sum"] == pytest.approx(-log_prob.sum(), rel=1e-12)
    assert metrics["weighted_nll_sum"] == pytest.approx(-weighted, rel=1e-12, abs=1e-12)
    penalties = formula([replace(row, weight=0.0) for row in rows], 1.0)[0] * tokens_of(rows)
    assert metrics["kl_initial_sum"] == pytest.approx(penalties if kl_coef else 0.0, rel=1e-9, abs=1e-12)


@settings(deadline=None, max_examples=40)
@given(batches(), COEFFICIENTS, st.lists(st.integers(0, 7), max_size=5))
def test_any_split_into_micro_batches_sums_to_the_same_update(rows, kl_coef, cuts):
    parts = [run(part, kl_coef, tokens_of(rows)) for part in split(rows, cuts)]
    expected_loss, expected_gradient = formula(rows, kl_coef)
    assert sum(part[0] for part in parts) == pytest.approx(expected_loss, rel=1e-12, abs=1e-12)
    np.testing.assert_allclose(
        np.concatenate([part[1] for part in parts]),
        expected_gradient,
        rtol=1e-12,
        atol=1e-15,
    )


@settings(deadline=None, max_examples=40)
@given(
    batches(min_rows=2),
    COEFFICIENTS,
    st.integers(1, 6),
    st.lists(st.integers(0, 7), max_size=3),
)
def test_any_split_over_two_ranks_averages_to_the_same_update(rows, kl_coef, cut, cuts):
    """FSDP averages gradients over ranks and verl averages the loss: half of each rank's share is its part of L."""
    cut = min(cut, len(rows) - 1)
    parts = [
        run(part, kl_coef, tokens_of(rows), dp_size=2)
        for rank in (rows[:cut], rows[cut:])
        for part in split(rank, cuts)
    ]
    expected_loss, expected_gradient = formula(rows, kl_coef)
    assert sum(part[0] for part in parts) / 2 == pytest.approx(expected_loss, rel=1e-12, abs=1e-12)
    gradient = np.concatenate([part[1] for part in parts]) / 2
    np.testing.assert_allclose(gradient, expected_gradient, rtol=1e-12, atol=1e-15)


@pytest.mark.parametrize("kl_coef", [0.0, 0.1])
@pytest.mark.parametrize("masked", [float("nan"), float("-inf"), float("inf")])
def test_what_stands_at_masked_positions_does_not_matter(masked, kl_coef):
    generator = np.random.default_rng(3)
    rows = [
        random_row(generator, 3, 4, 0.7),
        random_row(generator, 1, 2, 1.3),
        random_row(generator, 5, 0, 1.0),
    ]
    loss, gradient, elsewhere, metrics = run(rows, kl_coef, tokens_of(rows), masked=masked)
    expected_loss, expected_gradient = formula(rows, kl_coef)
    assert loss == pytest.approx(expected_loss, rel=1e-12)
    np.testing.assert_allclose(gradient, expected_gradient, rtol=1e-12)
    assert not elsewhere.any()
    assert np.isfinite(list(metrics.values())).all()


def test_a_step_moves_the_log_probability_of_a_generation_with_the_sign_of_its_weight():
    """Two generations of three tokens each, weights of −1 and 1 as an advantage gives them; plain gradient descent."""
    rows = [Row(2, np.full(3, -1.0), np.full(3, -1.0), weight) for weight in (-1.0, 1.0)]
    _, gradient, elsewhere, _ = run(rows, 0.0, tokens_of(rows))
    worse, better = np.split(-gradient, 2)
    assert (worse < 0.0).all() and (better > 0.0).all()
    np.testing.assert_allclose(worse, -better)
    assert not elsewhere.any()


def test_half_precision_log_probs_do_not_round_weights():
    """bfloat16 has 8 bits: a weight of 1.003 would become 1, and a sum would lose its third digit."""
    offsets = torch.tensor([0, 9])
    leaf = torch.linspace(-2.0, -1.0, 9).to(torch.bfloat16).requires_grad_()
    data = TensorDict(
        {
            "input_ids": torch.nested.nested_tensor_from_jagged(torch.arange(9), offsets),
            "loss_mask": torch.nested.nested_tensor_from_jagged(torch.tensor([0] + [1] * 8), offsets),
            "rwr_weight": torch.tensor([1.003]),
            "batch_num_tokens": NonTensorData(8),
            "dp_size": NonTensorData(1),
        },
        batch_size=1,
    )
    output = {"log_probs": torch.nested.nested_tensor_from_jagged(leaf, offsets)}
    loss, _ = make_rwr_loss(0.0)(output, data, None)
    assert loss.item() == pytest.approx(-1.003 * leaf.detach()[:8].double().mean().item(), rel=1e-6)


# ---------------------------------------------------------------------- zero weights and empty rows (case C16)


@pytest.mark.parametrize("kl_coef", [0.0, 0.1])
def test_micro_batch_of_zero_weights_c16(kl_coef):
    """Case C16: weights [0, 0, 1, 1], two rows a micro-batch: the first adds nothing to the regression, and no NaN."""
    generator = np.random.default_rng(16)
    shapes = zip([3, 5, 2, 4], [0.0, 0.0, 1.0, 1.0], strict=True)
    rows = [random_row(generator, 2, length, weight) for length, weight in shapes]
    first, second = (run(part, kl_coef, tokens_of(rows)) for part in (rows[:2], rows[2:]))
    expected_loss, expected_gradient = formula(rows, kl_coef)
    assert first[0] + second[0] == pytest.approx(expected_loss, rel=1e-12)
    np.testing.assert_allclose(np.concatenate([first[1], second[1]]), expected_gradient, rtol=1e-12, atol=1e-15)
    if kl_coef == 0.0:
        assert first[0] == 0.0
        assert not first[1].any()
        np.testing.assert_allclose(second[1], -1.0 / tokens_of(rows), rtol=1e-12)


def test_all_weights_zero_c16():
    """Case C16, all weights zero: finite, and no gradient at all."""
    generator = np.random.default_rng(17)
    loss, gradient, elsewhere, _ = run([random_row(generator, 2, 3, 0.0) for _ in range(4)], 0.0, 12)
    assert loss == 0.0
    assert not gradient.any() and not elsewhere.any()


def test_row_without_response_tokens_c16():
    """Case C16, one row without response tokens: the gradient is that of the other row."""
    generator = np.random.default_rng(18)
    empty, full = random_row(generator, 4, 0, 1.0), random_row(generator, 2, 3, 1.0)
    alone, together = run([full], 0.1, 3), run([empty, full], 0.1, 3)
    assert together[0] == alone[0]
    np.testing.assert_array_equal(together[1], alone[1])


def test_batch_without_response_tokens_is_no_division_by_zero():
    loss, gradient, elsewhere, _ = run([random_row(np.random.default_rng(19), 4, 0, 1.0)], 0.1, 0)
    assert loss == 0.0
    assert not gradient.any() and not elsewhere.any()
