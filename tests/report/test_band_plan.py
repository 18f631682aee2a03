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
import pytest
from typer.testing import CliRunner

from genenv_verl.cli import app
from genenv_verl.report.band_plan import Plan, plan_warnings, ranking_rows, skill_rows

PAPER = Plan(alpha=0.5, k_min=0.1, n=8, variations=4, batch_tasks=32)


def warning_about(plan, word):
    return [warning for warning in plan_warnings(plan) if word in warning]


def test_acceptance_of_the_papers_band_by_granularity():
    on_target = next(row for row in skill_rows(PAPER) if row.p == 0.5).acceptance
    assert on_target["task"] == pytest.approx(0.273, abs=1e-3)
    assert on_target["seed"] == pytest.approx(0.785, abs=1e-3)
    assert on_target["batch"] > 0.99
    assert on_target["task"] < on_target["shrunk"] < on_target["seed"]


def test_alpha_is_among_the_skills_and_they_ascend():
    levels = [row.p for row in skill_rows(Plan(0.37, 0.1, 8, 4, 32), [0.9, 0.1])]
    assert levels == [0.1, 0.37, 0.9]


def test_the_bound_lies_above_the_truth_and_says_nothing_at_eight_attempts():
    for row in ranking_rows(PAPER):
        assert row.exact <= row.bound == 1.0
        assert row.seed_exact <= row.seed_bound
    assert [row.needed for row in ranking_rows(PAPER)] == [1972, 493, 220]


def test_a_target_near_one_is_compared_with_easier_and_never_with_impossible_rates():
    assert all(0.0 <= row.exact <= 1.0 for row in ranking_rows(Plan(0.95, 0.04, 8, 4, 32)))


def test_a_single_task_is_warned_of_and_the_seed_is_named_as_remedy():
    (warning,) = warning_about(PAPER, "granularity task")
    assert "n=8" in warning and "27%" in warning and "genenv.granularity=seed passes 78%" in warning


def test_no_warning_where_a_task_has_enough_attempts():
    assert not warning_about(Plan(0.5, 0.1, 64, 4, 32), "granularity task")


def test_a_band_that_no_count_hits_is_warned_of():
    (warning,) = warning_about(Plan(0.5, 0.1, 3, 4, 32), "granularity task")
    assert "no k of 3 attempts" in warning


def test_a_narrow_seed_band_is_warned_of_without_recommending_itself():
    (warning,) = warning_about(Plan(0.5, 0.02, 8, 2, 32), "granularity seed: a seed with n=16")
    assert "granularity=seed passes" not in warning


def test_solved_and_unsolvable_tasks_of_one_seed_are_warned_of():
    (warning,) = warning_about(PAPER, "always solved")
    assert "2 of its 4 variations always solved and 2 never" in warning
    assert not warning_about(Plan(0.5, 0.1, 8, 3, 32), "always solved"), "1/3 and 2/3 lie outside of the band"
    assert not warning_about(Plan(0.5, 0.1, 8, 1, 32), "always solved")


def test_the_cold_start_is_warned_of_unless_the_target_is_that_low():
    assert warning_about(PAPER, "cold start")
    assert not warning_about(Plan(0.14, 0.1, 8, 4, 32), "cold start")


def test_a_band_that_holds_everything_is_warned_of():
    assert warning_about(Plan(0.5, 0.5, 8, 4, 32), "genenv.filter=none under another name")


def test_the_command_prints_tables_and_warnings():
    result = CliRunner().invoke(app, "plan --alpha 0.5 --k-min 0.1 --n 8 --variations 4".split())
    assert result.exit_code == 0, result.output
    row = next(line for line in result.output.splitlines() if "= α" in line)
    assert "27.3%" in row and "78.5%" in row
    assert "493" in result.output and "27% of the time" in result.output.replace("\n", " ")


def test_the_command_looks_at_given_skills():
    result = CliRunner().invoke(app, "plan --skill 0 --skill 1".split())
    assert result.exit_code == 0, result.output
    assert "0.86" not in result.output


@pytest.mark.parametrize(
    "arguments", ["--alpha 0", "--alpha 1", "--alpha nan", "--k-min 0", "--n 1", "--variations 0", "--skill 1.5"]
)
def test_the_command_refuses_what_the_configuration_refuses(arguments):
    result = CliRunner().invoke(app, ["plan", *arguments.split()])
    assert result.exit_code == 2
