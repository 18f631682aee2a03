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
from __future__ import annotations

import copy
import json
import random
from importlib.resources import files
from pathlib import Path

import pytest
import yaml
from typer.testing import CliRunner

from genenv_verl.cli import app
from genenv_verl.report.diagnose import RULES, diagnose
from genenv_verl.report.diagnose.trends import early_and_late, fallen, largest_jump
from genenv_verl.report.run_config import flatten
from genenv_verl.report.run_files import read_run

EPOCHS = 8
CONFIG = {
    "data": {"max_response_length": 1000},
    "actor_rollout_ref": {"rollout": {"n": 8}},
    "genenv": {
        "variant": "genenv", "preset": "paper", "granularity": None, "filter": None, "k_min": None, "beta": None,
        "n_variations": 4, "rwr": {"lam": None, "weight": "exp", "max_kl": 0.1},
    },
}  # fmt: skip


def healthy_line(epoch: int) -> dict:
    """An epoch of a run that calibrates: 18 seeds of four tasks, success on its way from 0.14 into the band."""
    rate = [0.14, 0.24, 0.35, 0.42, 0.47, 0.52, 0.55, 0.53][epoch]
    return {
        "epoch": epoch, "global_step": 4 * epoch + 4, "variant": "genenv", "alpha": 0.5, "success_rate": rate,
        "groups": 18, "accepted_groups": 4 + epoch, "acceptance_rate": min(4 + epoch, 11) / 18, "fallback": epoch < 2,
        "env_reward_mean": 0.8, "generated": 72, "valid": 68, "valid_fraction": 68 / 72, "unique_fraction": 0.95,
        "invalid_reasons": {"not_json": 2, "duplicate": 2}, "refilled": 4, "unscored": 1, "zero_variance_groups": 0.4,
        "p_hat_histogram": [12, 6, 6, 6, 6, 8, 6, 6, 6, 6], "response_tokens_mean": 137 + 9 * epoch,
        "d_train_size": 68 * (epoch + 1), "d_env_size": 68 * (epoch + 1), "success_rate_trusted": rate,
        "trust": {"suspected_wrong_gold": 4, "ambiguous": 1, "lucky": 2, "unsolvable_for_now": 9, "quarantined": 4,
                  "trusted": 60, "chance_level_mean": 0.03},
        "coverage": {"families": 3, "families_effective": 2.8, "tools": 12, "tools_effective": 9.5}, "warnings": [],
        "env_update": {"updates": 3, "loss": 0.6, "nll": 0.8, "kl_initial": 0.01 * (epoch + 1), "kl_step": 0.008,
                       "skipped_by_kl_cap": 0, "skipped_non_finite": 0, "grad_norm": 1.1},
        "tokens": {"env_generate": 9000 + 100 * epoch, "env_train": 9000, "agent_generate": 80000, "agent_train": 90},
        "seconds": {"env_generate": 4.0, "agent": 60.0, "env_update": 5.0, "checkpoint": 0.1, "total": 70.0},
    }  # fmt: skip


def healthy() -> list[dict]:
    return [healthy_line(epoch) for epoch in range(EPOCHS)]


def write(root: Path, lines: list[dict], config: dict | None = CONFIG, tasks: list[dict] | None = None) -> Path:
    folder = root / "genenv"
    (folder / "tasks").mkdir(parents=True)
    (folder / "epochs.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    if config is not None:
        (root / "hydra" / ".hydra").mkdir(parents=True)
        (root / "hydra" / ".hydra" / "config.yaml").write_text(yaml.safe_dump(config))
    if tasks is not None:
        last = folder / "tasks" / f"epoch_{lines[-1]['epoch']:04d}.jsonl"
        last.write_text("".join(json.dumps(record) + "\n" for record in tasks))
    return root


def found(root: Path) -> dict:
    return diagnose(read_run(root, "run")).findings


def plant(lines: list[dict], path: str, values) -> list[dict]:
    """Sets a field of every line: to one value, or to one value a line."""
    *parents, name = path.split(".")
    for place, line in enumerate(lines):
        record = line
        for parent in parents:
            record = record[parent]
        record[name] = copy.deepcopy(
            values[place] if isinstance(values, list) and len(values) == len(lines) else values
        )
    return lines


def configured(**genenv) -> dict:
    config = copy.deepcopy(CONFIG)
    rwr = genenv.pop("rwr", {})
    config["genenv"].update(genenv)
    config["genenv"]["rwr"].update(rwr)
    return config


# ---------------------------------------------------------------------- a healthy run


@pytest.mark.parametrize("preset", ["paper", "calibrated"])
def test_a_healthy_run_has_no_findings(tmp_path, preset):
    lines = healthy()
    if preset == "calibrated":  # per task, and everything trains
        for line in lines:
            line |= {"groups": 68, "accepted_groups": 68, "acceptance_rate": 0.1, "fallback": False}
    assert found(write(tmp_path, lines, configured(preset=preset))) == {}


def test_a_healthy_run_without_configuration_has_no_findings(tmp_path):
    assert found(write(tmp_path, healthy(), config=None)) == {}


@pytest.mark.parametrize("epochs", [0, 1, 2, 3])
def test_the_beginning_of_a_healthy_run_has_no_findings(tmp_path, epochs):
    assert found(write(tmp_path, healthy()[:epochs])) == {}


@pytest.mark.parametrize("variant", ["random", "static", "offline", "grpo"])
def test_where_the_environment_is_not_trained_it_need_not_move(tmp_path, variant):
    lines = plant(plant(healthy(), "env_update", None), "variant", variant)
    assert found(write(tmp_path, lines, configured(variant=variant))) == {}


# ---------------------------------------------------------------------- planted faults

FALLING = [0.95, 0.95, 0.9, 0.8, 0.7, 0.6, 0.55, 0.5]


def evenly(first: float, last: float) -> list[float]:
    return [first + (last - first) * epoch / (EPOCHS - 1) for epoch in range(EPOCHS)]


PLANTED = {
    "environment_not_moving": [
        ("env_update.kl_initial", [1e-9 * epoch for epoch in range(EPOCHS)], "genenv.environment.actor.optim.lr"),
        ("env_update.kl_initial", 0.0, "genenv.rwr.lam"),
        ("env_update.kl_step", [0.008] * 5 + [0.0] * 3, "genenv.environment.actor.optim.lr"),
        ("env_update.updates", 0, "genenv.environment.actor.optim.lr"),
    ],
    "updates_skipped_by_kl_cap": [("env_update.skipped_by_kl_cap", 2, "genenv.rwr.max_kl")],
    "updates_not_finite": [("env_update.skipped_non_finite", [0] * 7 + [1], "genenv.environment.actor.optim.lr")],
    "collapse": [
        ("unique_fraction", FALLING, "genenv.rwr.kl_coef"),
        ("unique_fraction", evenly(1.0, 0.8), "genenv.rwr.kl_coef"),
        ("unique_fraction", 0.3125, "genenv.rwr.kl_coef"),
    ],
    "coverage_shrinking": [("coverage.tools_effective", [10.0, 9, 8, 7, 5, 3, 2, 1.5], "genenv.granularity")],
    "validity_falling": [("valid_fraction", FALLING, "genenv.rwr.kl_coef")],
    "tasks_cut_off": [("invalid_reasons", {"truncated": 20}, "genenv.environment.rollout.response_length")],
    "luck": [
        ("trust.chance_level_mean", 0.5, "genenv.trust.lucky"),
        ("trust.lucky", 30, "genenv.trust.lucky"),
    ],
    "wrong_golds": [("trust.suspected_wrong_gold", 25, "genenv.trust.suspected_wrong_gold")],
    "target_passed": [
        ("success_rate", [0.13, 0.39, 0.43, 0.6, 0.6, 0.66, 0.7, 0.73], "genenv.steps_per_epoch"),
        ("success_rate", evenly(0.52, 0.78), "genenv.steps_per_epoch"),
    ],
    "agent_saturated": [
        ("success_rate", [0.3, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95, 0.97], "genenv.steps_per_epoch"),
        ("success_rate", 0.82, "genenv.environment.actor.optim.lr"),
    ],
    "agent_never_succeeds": [("success_rate", 0.0, "genenv.seeds")],
    "no_contrast": [("zero_variance_groups", 0.9, "genenv.granularity")],
    "response_length_drift": [
        ("response_tokens_mean", [137 * 1.2**epoch for epoch in range(EPOCHS)], "actor_rollout_ref.actor.kl_loss_coef"),
        ("response_tokens_mean", [137 * 0.7**epoch for epoch in range(EPOCHS)], "actor_rollout_ref.actor.kl_loss_coef"),
        ("response_tokens_mean", evenly(137, 280), "actor_rollout_ref.actor.kl_loss_coef"),
        ("response_tokens_mean", evenly(137, 40), "actor_rollout_ref.actor.kl_loss_coef"),
    ],
    "task_length_drift": [("tokens.env_generate", [9e3 * 1.3**epoch for epoch in range(EPOCHS)], "genenv.rwr.kl_coef")],
    "responses_at_the_limit": [("response_tokens_mean", 900, "data.max_response_length")],
    "many_unscored": [("unscored", 100, "genenv.sandbox.timeout_s")],
}  # fmt: skip


@pytest.mark.parametrize(
    ("name", "field", "values", "key"), [(name, *case) for name, cases in PLANTED.items() for case in cases]
)
def test_a_planted_fault_is_found_alone_with_its_figure_and_key(tmp_path, name, field, values, key):
    findings = found(write(tmp_path, plant(healthy(), field, values)))
    assert list(findings) == [name]
    finding = findings[name]
    assert finding.figures and all(value is not None for value in finding.figures.values())
    assert key in [remedy.key for remedy in finding.remedies]


def planted_by_hand() -> dict[str, tuple[list[dict], dict | None]]:
    """Faults that take more than one field."""
    nothing_accepted = healthy()
    for line in nothing_accepted:
        line |= {"accepted_groups": 0, "acceptance_rate": 0.0, "fallback": False, "success_rate": 0.2}
        line["env_update"] |= {"updates": 0, "kl_initial": None, "kl_step": 0.0}
    only_fallback = healthy()
    for line in only_fallback:
        line |= {"accepted_groups": 4, "acceptance_rate": 0.0, "fallback": True, "success_rate": 0.2}
    single_tasks = healthy()
    for line in single_tasks:
        line |= {"groups": 68, "accepted_groups": 17, "acceptance_rate": 0.25, "fallback": False}
    average_only = healthy()
    for line in average_only:
        line |= {"accepted_groups": 2, "acceptance_rate": 2 / 18, "fallback": False, "success_rate": 0.5}
    all_accepted = healthy()
    for line in all_accepted:
        line |= {"accepted_groups": 18, "fallback": False}
    return {
        "environment_not_moving": (nothing_accepted, configured(min_accepted=0)),
        "only_the_fallback_trains": (only_fallback, CONFIG),
        "band_too_narrow": (single_tasks, configured(granularity="task")),
        "on_target_only_on_average": (average_only, CONFIG),
        "weights_nearly_equal": (all_accepted, configured(filter="none")),
    }


@pytest.mark.parametrize("name", planted_by_hand())
def test_a_planted_fault_of_several_fields_is_found_alone(tmp_path, name):
    lines, config = planted_by_hand()[name]
    assert list(found(write(tmp_path, lines, config))) == [name]


def test_every_rule_has_a_planted_fault():
    assert {*PLANTED, *planted_by_hand(), "phase_hung"} == set(RULES)


def test_no_acceptance_and_no_update_name_the_fallback(tmp_path):
    lines, config = planted_by_hand()["environment_not_moving"]
    finding = found(write(tmp_path, lines, config))["environment_not_moving"]
    assert finding.figures["acceptance_rate"] == 0.0
    assert finding.remedies[0].key == "genenv.min_accepted"


def test_nothing_accepted_is_found_where_no_update_is_recorded_either(tmp_path):
    lines, config = planted_by_hand()["environment_not_moving"]
    assert list(found(write(tmp_path, plant(lines, "env_update", None), config))) == ["environment_not_moving"]


def test_a_run_that_trains_no_environment_is_not_told_what_trained_it(tmp_path):
    lines, _ = planted_by_hand()["only_the_fallback_trains"]
    lines = plant(plant(lines, "variant", "random"), "env_update", None)
    assert "only_the_fallback_trains" not in found(write(tmp_path, lines, configured(variant="random")))


def test_without_a_reference_model_the_steps_tell_that_nothing_moves(tmp_path):
    lines = plant(plant(healthy(), "env_update.kl_initial", None), "env_update.kl_step", 1e-8)
    assert list(found(write(tmp_path, lines))) == ["environment_not_moving"]


def test_a_band_too_narrow_is_found_without_any_configuration(tmp_path):
    lines, _ = planted_by_hand()["band_too_narrow"]
    root = write(tmp_path, lines, config=None)
    diagnosis = diagnose(read_run(root, "run"))
    finding = diagnosis.findings["band_too_narrow"]
    assert finding.figures["attempts_in_a_group"] == 8
    assert finding.figures["acceptance_on_target"] == pytest.approx(0.273, abs=1e-3)
    assert diagnosis.assumed == {"genenv.k_min": 0.1, "actor_rollout_ref.rollout.n": 8}


def test_the_attempts_are_counted_in_the_task_file(tmp_path):
    lines, _ = planted_by_hand()["band_too_narrow"]
    tasks = [{"attempts": [{"scored": True, "success": False}] * 64}] * 5
    assert "band_too_narrow" not in found(write(tmp_path, lines, None, tasks)), "64 attempts pass 90 %"


def test_an_update_of_null_is_none(tmp_path):
    """A line of an epoch that the budget cut off has null; one of them is no standstill."""
    cut_off = healthy()
    cut_off[-1]["env_update"] = None
    assert found(write(tmp_path / "cut", cut_off)) == {}
    still = plant(healthy(), "env_update", None)
    finding = found(write(tmp_path / "still", still))["environment_not_moving"]
    assert "there was no update, although" in finding.says


NO_TASK = {  # what a run writes where no task reaches the agent
    "success_rate": None, "groups": 0, "accepted_groups": 0, "acceptance_rate": 0.0, "valid": 0, "valid_fraction": 0.0,
    "unscored": 0, "unique_fraction": None, "zero_variance_groups": 0.0, "p_hat_histogram": [0] * 10,
    "response_tokens_mean": None, "success_rate_trusted": None, "trust": {"chance_level_mean": None},
    "coverage": {"families": 0, "families_effective": 0.0, "tools": 0, "tools_effective": 0.0}, "env_update": None,
}  # fmt: skip


@pytest.mark.parametrize("last", [2, 3])
def test_epochs_without_a_task_say_nothing_of_coverage_and_band(tmp_path, last):
    lines = healthy()
    for line in lines[-last:]:
        line |= copy.deepcopy(NO_TASK) | {"invalid_reasons": {"not_json": 72}}
    findings = found(write(tmp_path, lines))
    assert set(findings) == {"validity_falling"} | ({"environment_not_moving"} if last == 3 else set())


def test_where_nothing_was_written_validity_has_not_fallen(tmp_path):
    lines = healthy()
    for line in lines[-3:]:
        line |= copy.deepcopy(NO_TASK) | {"generated": 0, "invalid_reasons": {}}
    findings = found(write(tmp_path, lines))
    assert set(findings) == {"environment_not_moving"}
    assert "no valid task was written" in findings["environment_not_moving"].says


def test_a_shrunk_rate_passes_a_band_that_is_too_narrow_for_single_tasks(tmp_path):
    lines = plant(plant(healthy(), "groups", 68), "acceptance_rate", 0.6)
    assert found(write(tmp_path / "four", lines, configured(granularity="shrunk"))) == {}
    alone = configured(granularity="shrunk", n_variations=1)  # nothing to be drawn towards
    narrow = found(write(tmp_path / "one", lines, alone))["band_too_narrow"]
    assert narrow.figures["acceptance_on_target"] == pytest.approx(0.273, abs=0.03)
    few = plant(lines, "acceptance_rate", 0.1)
    average = found(write(tmp_path / "average", few, configured(granularity="shrunk")))["on_target_only_on_average"]
    assert average.figures["acceptance_on_target"] == pytest.approx(0.669, abs=0.03)


def test_where_variations_are_compared_neither_lambda_nor_seed_groups_are_remedies(tmp_path):
    grpo = configured(objective="grpo", granularity="task")
    still = found(write(tmp_path / "still", plant(healthy(), "env_update.kl_initial", 0.0), grpo))
    assert "genenv.rwr.lam" not in [remedy.key for remedy in still["environment_not_moving"].remedies]
    lines, _ = planted_by_hand()["band_too_narrow"]
    narrow = found(write(tmp_path / "narrow", lines, grpo))["band_too_narrow"]
    assert narrow.remedies and "genenv.granularity" not in [remedy.key for remedy in narrow.remedies]
    lines, _ = planted_by_hand()["weights_nearly_equal"]
    assert found(write(tmp_path / "equal", lines, configured(filter="none", objective="grpo"))) == {}
    equal = found(write(tmp_path / "rewards", plant(healthy(), "env_update.updates", 0), grpo))
    assert "genenv.objective=grpo" in equal["environment_not_moving"].says


def test_seed_groups_are_no_remedy_for_seed_groups(tmp_path):
    finding = found(write(tmp_path, healthy(), configured(k_min=0.01)))["band_too_narrow"]
    assert "genenv.granularity" not in [remedy.key for remedy in finding.remedies]


def test_e17_an_epoch_of_three_times_the_running_median_is_told(tmp_path):
    lines = plant(healthy()[:4], "response_tokens_mean", [137, 150, 160, 900])
    finding = found(write(tmp_path, lines, config=None))["response_length_drift"]
    assert finding.figures == {"response_tokens_mean": 900, "times_the_median": 6.0}
    lines = plant(healthy()[:4], "tokens.env_generate", [137 * 72, 150 * 72, 160 * 72, 900 * 72])
    assert list(found(write(tmp_path / "tasks", lines))) == ["task_length_drift"]


@pytest.mark.parametrize("usual", [3, 4, 5, 7])
@pytest.mark.parametrize("odd", [45, 60, 280, 390])
@pytest.mark.parametrize("is_first", [True, False])
def test_one_odd_epoch_at_an_end_is_no_drift(tmp_path, usual, odd, is_first):
    lengths = [137, 140, 138, 141, 139, 140, 139][:usual]
    lengths = [odd, *lengths] if is_first else [*lengths, odd]
    lines = plant(healthy()[: len(lengths)], "response_tokens_mean", lengths)
    assert "response_length_drift" not in found(write(tmp_path, lines))


def test_wrong_golds_name_the_success_that_they_hide(tmp_path):
    lines = plant(plant(healthy(), "trust.suspected_wrong_gold", 25), "success_rate_trusted", 0.81)
    finding = found(write(tmp_path, lines))["wrong_golds"]
    assert "without a doubt success is 81%" in finding.says and finding.figures["success_rate_trusted"] == 0.81


@pytest.mark.parametrize("success", [[0.59, 0.62, 0.58, 0.63, 0.6, 0.61, 0.66, 0.65], [0.6, 0.66, 0.66]])
def test_success_that_stays_where_it_began_has_passed_nothing(tmp_path, success):
    assert found(write(tmp_path, plant(healthy()[: len(success)], "success_rate", success))) == {}


def test_a_share_of_three_epochs_may_fall_by_chance(tmp_path):
    assert found(write(tmp_path, plant(healthy()[:3], "valid_fraction", [0.95, 0.93, 0.83]))) == {}


def test_the_environment_has_not_stopped_in_epochs_that_do_not_tell(tmp_path):
    steps = [0.01, 0.01, 0.0, 0.0, 0.0, None, None, None]
    assert found(write(tmp_path, plant(healthy(), "env_update.kl_step", steps))) == {}


def test_e16_tasks_that_are_cut_off_name_the_limit(tmp_path):
    lines = plant(plant(healthy(), "valid_fraction", 0.3), "invalid_reasons", {"truncated": 50})
    findings = found(write(tmp_path, lines))
    assert set(findings) == {"tasks_cut_off", "validity_falling"}
    assert findings["validity_falling"].remedies[0].key == "genenv.environment.rollout.response_length"


def test_repetition_is_collapse_and_not_falling_validity(tmp_path):
    # As runs of old versions record it: the unique share equals the valid one, duplicates are among the reasons.
    lines = healthy()
    for line, share in zip(lines, FALLING, strict=True):
        line |= {"valid_fraction": share, "unique_fraction": share}
        line["invalid_reasons"] = {"duplicate": round(72 * (1 - share))}
    assert list(found(write(tmp_path, lines))) == ["collapse"]


def test_falling_validity_of_an_old_run_is_no_collapse(tmp_path):
    lines = plant(plant(healthy(), "valid_fraction", FALLING), "unique_fraction", FALLING)
    assert list(found(write(tmp_path, lines))) == ["validity_falling"]


def test_nothing_valid_is_found_in_two_epochs(tmp_path):
    lines = healthy()[:2]
    for line in lines:
        line |= {"valid": 0, "valid_fraction": 0.0, "invalid_reasons": {"prompt_too_long": 72}, "unscored": 0}
        line |= {"groups": 0, "accepted_groups": 0, "acceptance_rate": 0.0, "success_rate": None}
        line["p_hat_histogram"] = [0] * 10
        line["env_update"] |= {"updates": 0, "kl_initial": None}
    findings = found(write(tmp_path, lines))
    assert set(findings) == {"environment_not_moving", "validity_falling"}
    assert all(finding.remedies[0].key == "data.max_prompt_length" for finding in findings.values())


def test_luck_is_read_off_the_tasks_where_the_run_does_not_record_it(tmp_path):
    lines = healthy()
    for line in lines:
        del line["trust"]
    task = {
        "task_id": "a", "family": "mini", "context": {"goal": "Is 7 odd?"},
        "evaluation": {"kind": "reference_answer", "reference": "yes"},
    }  # fmt: skip
    record = {"task": task, "attempts": [{"scored": True, "success": True}] * 8}
    finding = found(write(tmp_path, lines, tasks=[record] * 10))["luck"]
    assert finding.figures["chance_level_mean"] == 0.5


def test_unscored_attempts_are_told_with_their_reasons(tmp_path):
    attempts = [{"scored": False, "reason": "timeout"}] * 3 + [{"scored": True, "success": True}] * 5
    root = write(tmp_path, plant(healthy(), "unscored", 200), tasks=[{"attempts": attempts}] * 4)
    finding = found(root)["many_unscored"]
    assert finding.figures["timeout"] == 12
    assert "timeout 12" in finding.says


def test_the_chance_level_of_the_tasks_counts_beside_the_recorded_mean(tmp_path):
    root = write(tmp_path, healthy(), tasks=[{"trust": {"chance_level": 0.5}, "attempts": [{"scored": True}] * 8}])
    assert found(root)["luck"].figures["chance_level_mean"] == 0.5


def test_a_run_that_does_not_name_its_variant_is_judged_by_its_updates(tmp_path):
    lines = plant(healthy(), "env_update.kl_initial", 0.0)
    for line in lines:
        del line["variant"]
    assert list(found(write(tmp_path, lines, config=None))) == ["environment_not_moving"]


def test_without_configuration_a_run_that_accepts_more_than_the_band_holds_has_no_band(tmp_path):
    lines = healthy()
    for line in lines:  # per task, no filter, a few tasks in quarantine
        line |= {"groups": 68, "accepted_groups": 61, "acceptance_rate": 0.1, "fallback": False}
    assert found(write(tmp_path, lines, config=None)) == {}


def test_a_high_target_is_no_saturation(tmp_path):
    lines = plant(plant(healthy(), "success_rate", 0.93), "alpha", 0.9)
    assert "agent_saturated" not in found(write(tmp_path, lines))


def test_the_watchdog_is_told(tmp_path):
    root = write(tmp_path, healthy())
    (root / "genenv" / "watchdog.txt").write_text("weight_sync exceeded 1200 s\n[stack]")
    findings = found(root)
    assert list(findings) == ["phase_hung"]
    assert "weight_sync exceeded 1200 s" in findings["phase_hung"].says


# ---------------------------------------------------------------------- damage


WEIRD = [None, True, -1, 0, 1e299, -1e299, 5e-324, "x", [], {}, [[1]], {"a": "b"}, 10**400, "nan"]


def test_no_value_of_any_field_ends_the_diagnosis(tmp_path):
    generator = random.Random(0)
    fields = [path for path in flatten(healthy_line(0))] + ["env_update", "trust", "tokens", "coverage"]
    for number in range(40):
        lines = healthy()
        for path in generator.sample(fields, 4):
            values = [generator.choice(WEIRD) for _ in lines] if number % 2 else generator.choice(WEIRD)
            try:
                plant(lines, path.split(".0")[0], values)
            except TypeError:
                continue  # the field it lies in is none any more
        config = configured(**{key: generator.choice(WEIRD[:-2]) for key in ("k_min", "beta", "filter", "preset")})
        root = write(tmp_path / str(number), lines, config)
        json.dumps(diagnose(read_run(root, "run")).to_json(), allow_nan=False)


def test_what_is_not_finite_is_in_no_figure(tmp_path):
    lines = plant(plant(healthy(), "accepted_groups", 18), "generated", 5e-324)
    config = configured(filter="none", beta=1e-9, rwr={"lam": float("inf")})
    json.dumps(diagnose(read_run(write(tmp_path, lines, config), "run")).to_json(), allow_nan=False)


def test_a_damaged_run_is_read_as_far_as_it_goes(tmp_path):
    root = write(tmp_path, plant(healthy(), "success_rate", 0.0), tasks=[])
    with open(root / "genenv" / "epochs.jsonl", "ab") as file:
        file.write(b'{"epoch": 8, "success_rate": \n\xff\xfe\x00\n[1]\n{"epoch": "x"}\n{"epoch": 9')
    (root / "genenv" / "tasks" / "epoch_0007.jsonl").write_text('{broken\n[]\n{"attempts": [3, null]}\n{"task": 7}\n')
    diagnosis = diagnose(read_run(root, "run"))
    assert list(diagnosis.findings) == ["agent_never_succeeds"]
    assert any("damaged" in note for note in diagnosis.notes)


# ---------------------------------------------------------------------- the command


def run_command(*arguments):
    return CliRunner().invoke(app, ["diagnose", *map(str, arguments)])


def test_the_command_names_figure_and_key_and_ends_with_status_0(tmp_path):
    result = run_command(write(tmp_path, plant(healthy(), "unique_fraction", FALLING)))
    assert result.exit_code == 0
    assert (
        "collapse" in result.output
        and "unique_fraction late" in result.output
        and "genenv.rwr.kl_coef" in result.output
    )


def test_the_command_says_that_there_is_nothing(tmp_path):
    result = run_command(write(tmp_path, healthy()))
    assert result.exit_code == 0 and "No findings" in result.output


def test_json_holds_nothing_else(tmp_path):
    result = run_command(write(tmp_path, plant(healthy(), "unscored", 100)), "--json")
    assert result.exit_code == 0
    report = json.loads(result.output)
    (finding,) = report["findings"]
    assert finding["name"] == "many_unscored"
    assert finding["figures"]["unscored"] == 300
    assert finding["try"][0]["key"] == "genenv.sandbox.timeout_s"
    assert report["epochs"] == EPOCHS and report["variant"] == "genenv"


def test_without_a_run_the_command_says_what_to_give(tmp_path):
    result = run_command(tmp_path)
    assert result.exit_code != 0
    assert "trainer.default_local_dir" in str(result.exception or result.output)


def test_control_characters_of_a_run_do_not_reach_the_terminal(tmp_path):
    lines = plant(plant(healthy(), "valid_fraction", 0.1), "invalid_reasons", {"\x1b[2J[bold]evil": 60})
    result = run_command(write(tmp_path, plant(lines, "warnings", ["\x1b]0;title\x07"])))
    assert result.exit_code == 0
    assert "\x1b" not in result.output and "\x07" not in result.output
    assert "[bold]evil" in result.output


def test_every_key_that_a_finding_names_exists():
    known = set(flatten(yaml.safe_load(files("genenv_verl.config").joinpath("genenv.yaml").read_text())))
    source = "".join(path.read_text() for path in Path(str(files("genenv_verl.report.diagnose"))).glob("*.py"))
    named = {part.split('"')[0] for part in source.split('Remedy("')[1:]}
    assert len(named) > 20
    unknown = {key for key in named if key not in known and not any(it.startswith(key + ".") for it in known)}
    assert unknown <= {"actor_rollout_ref.actor.entropy_coeff", "genenv.watchdog"}, "only what verl names"


def test_every_rule_stands_in_the_documentation():
    text = (Path(__file__).parents[2] / "docs" / "diagnose.md").read_text(encoding="utf-8")
    assert {line.split("`")[1] for line in text.splitlines() if line.startswith("| `")} == set(RULES)


# ---------------------------------------------------------------------- trends


def test_trends():
    assert early_and_late([1.0, 2.0]) is None
    assert early_and_late([1.0, 5.0, 3.0]) == (1.0, 3.0)
    assert early_and_late([1, 2, 3, 4, 5, 6, 7, 8]) == (2.0, 7.0)
    assert fallen([0.9, 0.9, 0.8], 0.2, 0.5) is None
    assert fallen([0.9, 0.8, 0.6], 0.2, 0.5) == (0.9, 0.6)
    assert fallen([0.4], 0.2, 0.5) == (0.4, 0.4)
    assert fallen([], 0.2, 0.5) is None


def test_the_largest_jump_is_against_the_median_of_all_before():
    assert largest_jump([1.0, 9.0]) == (0, 1.0)
    assert largest_jump([10.0, 20.0, 30.0, 60.0]) == (3, 3.0)
    assert largest_jump([10.0, 20.0, 30.0, 10.0, 60.0]) == (4, 4.0)
    assert largest_jump([0.0, 0.0, 0.0, 5.0]) == (0, 1.0)
