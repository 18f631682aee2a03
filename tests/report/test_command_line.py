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

import json
from pathlib import Path

from typer.testing import CliRunner

from genenv_verl.cli import app

LINE = {
    "epoch": 0, "variant": "genenv", "success_rate": 0.4375, "valid_fraction": 0.9, "unique_fraction": 0.8,
    "acceptance_rate": 0.25, "groups": 24, "accepted_groups": 24, "response_tokens_mean": 18.6, "d_train_size": 88,
    "env_update": {"kl_step": 0.0123, "kl_initial": None}, "seconds": {"total": 12.4},
    "tokens": {"env_generate": 1000, "env_train": 234, "agent_generate": 5000, "agent_train": 678},
}  # fmt: skip


def _run(folder: Path) -> Path:
    (folder / "genenv").mkdir(parents=True)
    second = {**LINE, "epoch": 1, "env_update": None, "success_rate": None}
    (folder / "genenv" / "epochs.jsonl").write_text(json.dumps(LINE) + "\n" + json.dumps(second) + "\n")
    return folder


def test_epochs_shows_a_row_for_each_epoch_and_a_dash_for_what_is_unknown(tmp_path):
    result = CliRunner().invoke(app, ["epochs", str(_run(tmp_path / "run"))])
    assert result.exit_code == 0
    rows = [line for line in result.output.splitlines() if "of 24" in line]
    assert len(rows) == 2
    assert "0.44" in rows[0] and "0.0123" in rows[0] and "1234" in rows[0] and "5678" in rows[0]
    assert "-" in rows[1]


def test_epochs_of_a_folder_without_a_run_says_what_to_give(tmp_path):
    result = CliRunner().invoke(app, ["epochs", str(tmp_path)])
    assert result.exit_code != 0
    assert "trainer.default_local_dir" in str(result.exception or result.output)


def test_check_seeds_counts_tasks_and_names_a_broken_row(tmp_path):
    task = {"task_id": "a", "family": "mini", "context": {"goal": "g"}, "gold_action": []}
    good = tmp_path / "seeds.jsonl"
    good.write_text(json.dumps(task) + "\n")
    assert "mini: 1" in CliRunner().invoke(app, ["check-seeds", str(good)]).output
    good.write_text(json.dumps(task) + "\n{broken\n")
    result = CliRunner().invoke(app, ["check-seeds", str(good)])
    assert result.exit_code != 0
