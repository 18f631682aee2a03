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
import dataclasses
import json

import pytest

from genenv_verl.curriculum.difficulty import Attempts
from genenv_verl.curriculum.verdicts import judge_epoch, p_hat_histogram
from genenv_verl.curriculum.weights import regression_weights


def task(name, k, n=8, seed=None, unscored=0):
    return Attempts(name, seed or name, 1, k, n, unscored)


def judge(attempts, **overrides):
    settings = {
        "epoch": 3,
        "alpha": 0.5,
        "beta": 2.0,
        "k_min": 0.1,
        "granularity": "task",
        "filter": "band",
        "min_accepted": 0,
        "top_k": 0.5,
        "objective": "rwr",
        "lam": 1.0,
        "weight": "exp",
    }
    return judge_epoch(attempts, **(settings | overrides))


def test_an_ordinary_epoch():
    verdict = judge([task("easy", 8), task("right", 4), task("near", 5, n=9), task("hard", 0)])
    assert [entry.accepted for entry in verdict.tasks] == [False, True, True, False]
    assert [entry.reward for entry in verdict.tasks] == pytest.approx([0.606531, 1.0, 0.993846, 0.606531], abs=1e-6)
    assert sum(entry.weight for entry in verdict.tasks) == pytest.approx(2.0)
    assert verdict.tasks[1].weight > verdict.tasks[2].weight > 0.0
    assert [entry.weight for entry in verdict.tasks if not entry.accepted] == [0.0, 0.0]
    assert (verdict.groups, verdict.accepted_groups, verdict.in_band_groups) == (4, 2, 2)
    assert verdict.acceptance_rate == 0.5
    assert verdict.reward_mean == pytest.approx((0.606531 * 2 + 1.0 + 0.993846) / 4, abs=1e-6)
    assert verdict.zero_variance_share == 0.5
    assert verdict.warnings == []


def test_a_seed_group_shares_one_reward():
    verdict = judge([task("a", 0, seed="s"), task("b", 8, seed="s"), task("c", 1, seed="r")], granularity="seed")
    assert [entry.p_hat for entry in verdict.tasks] == [0.0, 1.0, 0.125]
    assert [entry.group_p_hat for entry in verdict.tasks] == [0.5, 0.5, 0.125]
    assert [entry.accepted for entry in verdict.tasks] == [True, True, False]


def test_the_acceptance_rate_is_the_share_of_the_band_whatever_the_filter():
    epoch = [task("a", 0), task("b", 4), task("c", 8), task("d", 7)]
    for filter, accepted in [("none", 4), ("top_k", 2), ("band", 1)]:
        verdict = judge(epoch, filter=filter)
        assert verdict.acceptance_rate == 0.25
        assert verdict.accepted_groups == accepted
        assert sum(entry.weight for entry in verdict.tasks) == pytest.approx(accepted)


def test_c08_a_cold_start_goes_on_with_the_nearest_groups():
    epoch = [task("a", 0), task("b", 0), task("c", 8), task("d", 0)]
    verdict = judge(epoch, min_accepted=2)
    assert verdict.acceptance_rate == 0.0
    assert verdict.fallback
    assert verdict.accepted_groups == 2
    skipped = judge(epoch, min_accepted=0)
    assert skipped.accepted_groups == 0
    assert {entry.weight for entry in skipped.tasks} == {0.0}


def test_c13_unscored_attempts_leave_the_rate_alone_and_are_counted():
    verdict = judge([task("t", 4, n=6, unscored=2)])
    assert verdict.tasks[0].p_hat == pytest.approx(0.6667, abs=1e-4)
    assert not verdict.tasks[0].accepted
    assert verdict.unscored == 2


def test_c28_an_epoch_without_variance_warns():
    verdict = judge([task("all", 4, n=4), task("none", 0, n=4)])
    assert verdict.zero_variance_share == 1.0
    assert any("rewards of 0 and 1 then teach the agent nothing" in warning for warning in verdict.warnings)
    assert not any("teach" in warning for warning in judge([task("all", 4, n=4), task("some", 1, n=4)]).warnings)


def test_equal_environment_rewards_warn():
    equal = judge([task("a", 3), task("b", 5), task("c", 3)])
    assert any("R_env is 0.9692 for all 3 tasks" in warning for warning in equal.warnings)
    assert judge([task("a", 3), task("b", 4)]).warnings == []


def test_c30_all_solved_and_never_solved_are_outside_the_band():
    verdict = judge([task("all", 8), task("none", 0)])
    assert [entry.p_hat for entry in verdict.tasks] == [1.0, 0.0]
    assert verdict.in_band_groups == 0


def test_a_task_without_scored_attempts_has_no_reward_at_all():
    verdict = judge([task("broken", 0, n=0, unscored=8), task("fine", 4)], filter="none")
    broken = verdict.tasks[0]
    assert (broken.p_hat, broken.group_p_hat, broken.reward, broken.weight) == (None, None, None, 0.0)
    assert not broken.accepted
    assert verdict.ungrouped_tasks == 1
    assert verdict.zero_variance_share == 0.0


@pytest.mark.parametrize("granularity", ["task", "seed", "batch", "shrunk"])
@pytest.mark.parametrize("filter", ["band", "top_k", "none"])
def test_an_empty_epoch_is_judged(granularity, filter):
    verdict = judge([], granularity=granularity, filter=filter, min_accepted=4)
    assert verdict.tasks == []
    assert verdict.reward_mean is None
    assert verdict.acceptance_rate == 0.0
    assert any("no group" in warning for warning in verdict.warnings)


def test_a_verdict_is_safe_for_json():
    verdict = judge([task("a", 3), task("b", 0, n=0)])
    assert json.loads(json.dumps(dataclasses.asdict(verdict)))["epoch"] == 3


def test_the_histogram_bins_by_whole_numbers():
    epoch = [task(f"{k}", k, n=10) for k in range(11)]
    assert p_hat_histogram(epoch) == [1] * 9 + [2]


def test_a_quarantined_task_counts_in_its_group_and_is_neither_rewarded_nor_accepted():
    epoch = [task("wrong", 0, seed="s"), task("easy", 8, seed="s"), task("alone", 4)]
    verdict = judge(epoch, granularity="seed", quarantined={"wrong"})
    assert [entry.group_p_hat for entry in verdict.tasks] == [0.5, 0.5, 0.5]
    assert [entry.accepted for entry in verdict.tasks] == [False, True, True]
    assert (verdict.tasks[0].reward, verdict.tasks[0].weight, verdict.tasks[0].p_hat) == (None, 0.0, 0.0)
    assert sum(entry.weight for entry in verdict.tasks) == pytest.approx(2.0)
    assert verdict.p_hat_histogram == judge(epoch, granularity="seed").p_hat_histogram
    assert verdict.acceptance_rate == 1.0


def test_a_group_that_is_quarantined_as_a_whole_takes_no_place_in_the_update():
    epoch = [task("a", 4), task("b", 3), task("c", 0)]
    verdict = judge(epoch, filter="top_k", top_k=0.3, quarantined={"a"})
    assert [entry.accepted for entry in verdict.tasks] == [False, True, False]
    assert (verdict.groups, verdict.in_band_groups) == (3, 1)
    nothing = judge(epoch, filter="none", quarantined={"a", "b", "c"})
    assert nothing.accepted_groups == 0 and nothing.reward_mean is None


def test_reward_factors_scale_the_reward_of_a_task():
    verdict = judge([task("a", 4), task("b", 4)], reward_factors={"a": 0.25}, lam=0.5)
    assert [entry.reward for entry in verdict.tasks] == [0.25, 1.0]
    assert verdict.tasks[0].weight < verdict.tasks[1].weight


def test_grpo_weighs_accepted_tasks_against_their_seeds_others():
    """Seed s: R_env of p̂ = 0.25, 0.5 and, outside the band, 1. Only the first two are compared: ±1/√2."""
    epoch = [task("a", 2, seed="s"), task("b", 4, seed="s"), task("out", 8, seed="s"), task("alone", 5, seed="t")]
    verdict = judge(epoch, objective="grpo", k_min=0.25)
    assert [entry.weight for entry in verdict.tasks] == pytest.approx([-(0.5**0.5), 0.5**0.5, 0.0, 0.0], abs=1e-4)
    assert [entry.accepted for entry in verdict.tasks] == [True, True, False, True]
    everything = judge(epoch, objective="grpo", filter="none")
    assert everything.tasks[2].weight < 0.0 < everything.tasks[0].weight < everything.tasks[1].weight


def test_the_objective_changes_weights_only():
    epoch = [task("a", 2, seed="s"), task("b", 4, seed="s"), task("c", 8, seed="t")]
    regression, grpo = (judge(epoch, objective=objective, filter="none") for objective in ("rwr", "grpo"))
    by_hand = regression_weights([entry.reward for entry in regression.tasks], lam=1.0, kind="exp")
    assert [entry.weight for entry in regression.tasks] == by_hand.tolist()
    unweighted = [[dataclasses.replace(entry, weight=0.0) for entry in verdict.tasks] for verdict in (regression, grpo)]
    assert unweighted[0] == unweighted[1]
    assert dataclasses.replace(regression, tasks=[]) == dataclasses.replace(grpo, tasks=[])
