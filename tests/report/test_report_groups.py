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

import math

import pytest

from genenv_verl.report.groups import average, estimate, group_runs
from genenv_verl.report.run_files import read_run

CONFIG = """
genenv: {{variant: {variant}, preset: {preset}, seed: {seed}, environment: {{model: {{path: /w{seed}/env}}}}}}
data: {{train_files: /world{seed}/seeds.parquet, seed: {seed}}}
trainer: {{default_local_dir: /runs/{seed}, experiment_name: e{seed}}}
actor_rollout_ref: {{model: {{path: {model}}}}}
"""


@pytest.fixture
def run(make_run, lines):
    def make(name, variant="genenv", preset="paper", seed=0, model="org/base"):
        config = CONFIG.format(variant=variant, preset=preset, seed=seed, model=model)
        return read_run(make_run(name, epochs=[lines.epoch(0, variant=variant)], config=config), name)

    return make


def test_other_seeds_names_and_folders_are_one_group(run):
    groups = group_runs([run("a", seed=1), run("b", seed=2), run("c", seed=3, variant="random")])
    assert [(group.name, [its.name for its in group.runs]) for group in groups] == [
        ("genenv", ["a", "b"]), ("random", ["c"])]  # fmt: skip


def test_another_setting_or_model_is_another_group_and_names_it(run):
    groups = group_runs([run("a"), run("b", preset="calibrated"), run("c", model="org/large")])
    assert [group.name for group in groups] == [
        "genenv (preset=paper, model.path=org/base)", "genenv (preset=calibrated)", "genenv (model.path=org/large)",
    ]  # fmt: skip


def test_older_and_longer_runs_are_told_by_what_differs(make_run, lines):
    def run(name, block, epochs):
        config = f"genenv: {{variant: genenv{block}}}\ntrainer: {{total_epochs: {epochs}}}\n"
        return read_run(make_run(name, epochs=[lines.epoch(0)], config=config), name)

    # a key that an older version does not know has its default there
    runs = [run("old", "", 6), run("new", ", objective: rwr", 12), run("other", ", objective: grpo", 6)]
    assert [[its.name for its in group.runs] for group in group_runs(runs)] == [["old", "new"], ["other"]]


def test_runs_without_a_configuration_stand_alone(make_run, lines):
    runs = [read_run(make_run(name, epochs=[lines.epoch(0)]), name) for name in ("a", "b")]
    assert [group.name for group in group_runs(runs)] == ["genenv: a", "genenv: b"]


def test_the_interval_is_students():
    its = estimate([0.4, 0.5, 0.6])
    # scipy.stats.t.interval(0.95, 2, 0.5, 0.1 / sqrt(3))
    assert (its.mean, its.half_width) == (pytest.approx(0.5), pytest.approx(0.24841, abs=1e-4))
    assert estimate([0.3]).half_width is None
    assert estimate([1.0] * 50).half_width == 0.0
    with pytest.raises(ValueError, match="no values"):
        estimate([])


def test_an_average_says_how_many_runs_are_behind_each_point():
    points = average([[(0, 0.2), (1, 0.4)], [(0, 0.4)]])
    assert [(x, its.runs, its.mean) for x, its in points] == [(0, 2, pytest.approx(0.3)), (1, 1, 0.4)]
    assert points[0][1].half_width == pytest.approx(12.706 * 0.1 * math.sqrt(2) / math.sqrt(2))
