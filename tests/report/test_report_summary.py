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

import pytest

from genenv_verl.report.run_files import read_run
from genenv_verl.report.summary import cost_table, epoch_rows, headline, warnings


def test_the_headline_tells_first_last_and_sums(make_run, lines):
    run = read_run(make_run(epochs=[lines.epoch(0), lines.epoch(1)]), "run")
    facts = dict(headline(run))
    assert facts["epochs"] == "2" and facts["p̂, first → last"] == "0.10 → 0.20"
    assert facts["tokens, both players"] == "5,600" and facts["the environment's share"] == "10.7%"
    assert epoch_rows(run)[1][:2] == ["1", "0.20"]


def test_cost_is_summed_by_phase(make_run, lines):
    run = read_run(make_run(epochs=[lines.epoch(0), lines.epoch(1)]), "run")
    rows = dict(cost_table(run)["rows"])
    assert rows["environment writes"] == ["200", "2"] and rows["agent, both"] == ["5,000", "40"]


@pytest.mark.parametrize("ledger", [{}, {"agent": {}}, {"agent": {"phases": {}}}, {"agent": {"phases": {"train": 3}}}])
def test_a_ledger_without_a_phase_leaves_tokens_and_seconds(make_run, lines, ledger):
    run = read_run(make_run(epochs=[lines.epoch(0, ledger=ledger)]), "run")
    assert dict(cost_table(run)["rows"])["agent, both"] == ["2,500", "20"]


@pytest.mark.parametrize("change", [{"tokens": None}, {"seconds": None}, {"tokens": {"env_generate": 0}}])
def test_a_run_without_tokens_or_seconds_has_gaps(make_run, lines, change):
    run = read_run(make_run(epochs=[lines.epoch(0, **change)]), "run")
    assert cost_table(run) is not None and headline(run)
    assert cost_table(read_run(make_run("none", epochs=[{"epoch": 0}]), "none")) is None


def test_warnings_are_few_and_short(make_run, lines):
    run = read_run(make_run(epochs=[lines.epoch(n, warnings=["x" * 5000] * 50 + [3]) for n in range(9)]), "run")
    assert len(warnings(run)) == 100 and max(map(len, warnings(run))) < 700
