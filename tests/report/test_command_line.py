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

import pytest
from typer.testing import CliRunner

from genenv_verl.cli import app
from genenv_verl.curriculum.ledger import Ledger

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


def test_epochs_of_a_run_without_an_environment(tmp_path):
    keys = ("epoch", "variant", "seconds", "tokens")
    (tmp_path / "genenv").mkdir()
    (tmp_path / "genenv" / "epochs.jsonl").write_text(json.dumps({key: LINE[key] for key in keys}) + "\n")
    result = CliRunner().invoke(app, ["epochs", str(tmp_path)])
    assert result.exit_code == 0 and "5678" in result.output


def test_epochs_with_cost_shows_both_players_in_every_phase_and_the_budget(tmp_path):
    ledger = Ledger({"agent": 10, "environment": None})
    ledger.count("agent", "train", 500)
    ledger.count("environment", "generate", 70)
    used = {"agent_steps": 4, "agent_tokens": 12000, "total_tokens": 12345}
    budget = {"used": used, "limits": {}, "reached": "agent_tokens"}
    (tmp_path / "genenv").mkdir()
    lines = [{**LINE, "epoch": epoch, "ledger": ledger.record(), "budget": budget} for epoch in range(2)]
    (tmp_path / "genenv" / "epochs.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    result = CliRunner().invoke(app, ["epochs", "--cost", str(tmp_path)])
    assert result.exit_code == 0
    rows = [[cell.strip() for cell in line.strip("│").split("│")] for line in result.output.splitlines() if "│" in line]
    cells = {(row[0], row[1]): row[2:] for row in rows}
    assert cells["agent", "train"][1:3] == ["1,000", "6e+04"] and cells["agent", "total"][1] == "1,000"
    assert cells["environment", "generate"][1:3] == ["140", "-"] and cells["environment", "total"][2] == "-"
    assert "agent tokens 12,000" in result.output and "genenv.budget.agent_tokens" in result.output


def test_epochs_stand_in_order_and_one_that_is_there_twice_costs_once(tmp_path):
    ledger = Ledger({"agent": 10})
    ledger.count("agent", "train", 500)
    (tmp_path / "genenv").mkdir()
    lines = [{**LINE, "epoch": epoch, "ledger": ledger.record()} for epoch in (12, 11, 12)]
    lines[0] |= {"ledger": {}}  # the later line of an epoch counts
    (tmp_path / "genenv" / "epochs.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    table = CliRunner().invoke(app, ["epochs", str(tmp_path)]).output
    assert [line.split()[1] for line in table.splitlines() if line.startswith("│")] == ["11", "12"]
    cost = CliRunner().invoke(app, ["epochs", "--cost", str(tmp_path)]).output
    assert "1,000" in cost and "1,500" not in cost


def test_cost_of_a_run_from_before_there_was_a_ledger(tmp_path):
    result = CliRunner().invoke(app, ["epochs", "--cost", str(_run(tmp_path / "run"))])
    assert result.exit_code == 0 and "no ledger was kept, no budget was counted" in " ".join(result.output.split())
    assert "0.0" not in result.output, "what was not recorded is not nothing"


def test_epochs_of_a_folder_without_a_run_says_what_to_give(tmp_path):
    result = CliRunner().invoke(app, ["epochs", str(tmp_path)])
    assert result.exit_code != 0
    assert "trainer.default_local_dir" in str(result.exception or result.output)


@pytest.mark.parametrize("command", ["epochs", "diagnose", "report"])
def test_a_folder_that_cannot_be_read_is_one_line(tmp_path, command):
    options = ["--out", str(tmp_path / "out")] if command == "report" else []
    result = CliRunner().invoke(app, [command, str(tmp_path / ("x" * 300)), *options])
    assert isinstance(result.exception, SystemExit) and "File name too long" in str(result.exception)


@pytest.mark.parametrize("command", ["epochs", "diagnose", "report"])
def test_a_run_in_its_first_epoch_is_a_run(tmp_path, command):
    (tmp_path / "genenv").mkdir()
    (tmp_path / "genenv.lock").touch()
    options = ["--out", str(tmp_path / "out")] if command == "report" else []
    result = CliRunner().invoke(app, [command, str(tmp_path), *options])
    assert isinstance(result.exception, SystemExit) and "has not ended an epoch yet" in str(result.exception)


@pytest.mark.parametrize("command", [["check-seeds"], ["tasks", "validate"]])
def test_a_missing_file_is_named_once_and_without_a_number(tmp_path, command):
    missing = str(tmp_path / "none.jsonl")
    result = CliRunner().invoke(app, [*command, missing])
    said = str(result.exception) if result.exception.args[0] != 2 else result.output.strip()
    assert said == f"genenv: {missing}: No such file or directory"


def test_check_seeds_refuses_what_a_run_refuses_for_want_of_tasks(tmp_path):
    empty = tmp_path / "seeds.jsonl"
    empty.touch()
    result = CliRunner().invoke(app, ["check-seeds", str(empty)])
    assert isinstance(result.exception, SystemExit) and "no seed task in it" in str(result.exception)


def test_check_seeds_counts_tasks_and_names_a_broken_row(tmp_path):
    task = {"task_id": "a", "family": "mini", "context": {"goal": "g"}, "gold_action": []}
    good = tmp_path / "seeds.jsonl"
    good.write_text(json.dumps(task) + "\n")
    assert "mini: 1" in CliRunner().invoke(app, ["check-seeds", str(good)]).output
    good.write_text(json.dumps(task) + "\n{broken\n")
    result = CliRunner().invoke(app, ["check-seeds", str(good)])
    assert result.exit_code != 0


def test_check_seeds_names_seeds_whose_variations_would_be_rejected(tmp_path):
    call = {"name": "find_bus", "arguments": {}}
    task = {"context": {"goal": "Find a bus to Rome."}, "gold_action": [call]}
    row = {"prompt": "Find a bus.", "reward_model": {"ground_truth": json.dumps([call])}}
    tools = json.dumps([{"name": "find_bus", "description": "Finds a bus."}])
    seeds = tmp_path / "seeds.jsonl"
    records = [{"task_id": "a", **task}, row, {**row, "extra_info": {"tools": tools, "index": 0}}]
    seeds.write_text("".join(json.dumps(record) + "\n" for record in records))
    output = CliRunner().invoke(app, ["check-seeds", str(seeds)]).output
    assert "undeclared_tool 2." in output and "extra_info.tools" in output
    seeds.write_text(json.dumps(records[-1]) + "\n")
    assert "undeclared_tool" not in CliRunner().invoke(app, ["check-seeds", str(seeds)]).output


def test_epochs_of_a_damaged_file_has_dashes(tmp_path):
    (tmp_path / "genenv").mkdir()
    damaged = {
        **LINE,
        "success_rate": "half",
        "tokens": None,
        "seconds": [],
        "env_update": 3,
        "variant": "[/x]\x1b[2J",
    }
    lines = [json.dumps(damaged), '{"epoch": 1, "succ', "[]", json.dumps({"epoch": 2})]
    (tmp_path / "genenv" / "epochs.jsonl").write_text("\n".join(lines))
    result = CliRunner().invoke(app, ["epochs", str(tmp_path)])
    assert result.exit_code == 0, result.output
    assert "half" not in result.output and "\x1b[2J" not in result.output
    rows = [line.split("│")[1].strip() for line in result.output.splitlines() if line.startswith("│")]
    assert rows == ["0", "2"]
