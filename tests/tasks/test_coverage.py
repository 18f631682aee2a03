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

from genenv_verl.tasks.coverage import coverage, effective_number, novelty_summary
from genenv_verl.tasks.near_duplicates import Novelty
from genenv_verl.tasks.schema import Task


@pytest.mark.parametrize(
    ("counts", "number"), [([], 0.0), ([5], 1.0), ([3, 3, 3, 3], 4.0), ([0, 2, 2], 2.0), ([97, 1, 1, 1], 1.183)]
)
def test_the_effective_number_is_that_of_equally_frequent_kinds(counts, number):
    assert effective_number(counts) == pytest.approx(number, abs=1e-3)


def task(family, *tools):
    gold = [{"name": tool} for tool in tools]
    return Task.model_validate({"task_id": "t", "family": family, "context": {"goal": "g"}, "gold_action": gold})


def test_coverage_counts_a_tool_once_a_task():
    spread = coverage([task("a", "x", "x"), task("a", "y"), task("b")])
    assert (spread["families"], spread["tools"]) == (2, 2)
    assert spread["tools_effective"] == pytest.approx(2.0)
    assert 1.0 < spread["families_effective"] < 2.0
    assert coverage([]) == {"families": 0, "families_effective": 0.0, "tools": 0, "tools_effective": 0.0}


def test_the_summary_of_an_epoch():
    novelties = [Novelty(0.5, "n", 0.2 * place, None, place % 2, place == 4) for place in range(5)]
    summary = novelty_summary(novelties)
    assert (summary["parsed"], summary["repeated"], summary["same_template"]) == (5, 1, 2)
    assert summary["similarity_mean"] == 0.5
    assert summary["seed_distance"] == pytest.approx({"mean": 0.6, "q10": 0.28, "median": 0.6, "q90": 0.92})


def test_the_summary_of_nothing():
    summary = novelty_summary([])
    assert summary["parsed"] == 0 and summary["similarity_mean"] is None
    assert set(summary["seed_distance"].values()) == {None}
