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

import pytest
from pydantic import ValidationError

from genenv_verl.tasks import schema
from genenv_verl.tasks.records import TaskFileError, read_tasks, write_tasks
from genenv_verl.tasks.schema import Task, first_problem

RECORD = {"task_id": "a", "context": {"goal": "Find a bus."}, "gold_action": [{"name": "find_bus", "arguments": {}}]}


def problem(record) -> str:
    with pytest.raises(ValidationError) as caught:
        Task.model_validate(record)
    return first_problem(caught.value)


def test_a_record_without_a_version_is_of_the_present_one():
    assert Task.model_validate(RECORD).version == schema.SCHEMA_VERSION


def test_an_older_record_is_upgraded_step_by_step(monkeypatch):
    monkeypatch.setattr(schema, "SCHEMA_VERSION", 3)
    rename = {1: ("name", "id"), 2: ("id", "task_id")}
    for version, (old, new) in rename.items():
        step = lambda record, old=old, new=new: {**{k: v for k, v in record.items() if k != old}, new: record[old]}  # noqa: E731
        monkeypatch.setitem(schema.UPGRADES, version, step)
    old = {"version": 1, "name": "a", "context": RECORD["context"], "gold_action": []}
    task = Task.model_validate(old)
    assert (task.version, task.task_id) == (3, "a")
    assert old == {"version": 1, "name": "a", "context": RECORD["context"], "gold_action": []}
    assert (
        Task.model_validate_json('{"version": 2, "id": "b", "context": {"goal": "g"}, "gold_action": []}').task_id
        == "b"
    )


def test_a_file_of_an_older_version_is_read_and_written_in_the_present_one(tmp_path, monkeypatch):
    """A made-up version 0, in which the goal stood outside of the context and calls had ``parameters``."""

    def upgrade(record):
        calls = [{"name": call["name"], "arguments": call["parameters"]} for call in record["gold_action"]]
        kept = {key: value for key, value in record.items() if key != "goal"}
        return {**kept, "context": {"goal": record["goal"]}, "gold_action": calls}

    old = {"version": 0, "task_id": "a", "goal": "Go.", "gold_action": [{"name": "go", "parameters": {"to": "Oslo"}}]}
    path = tmp_path / "tasks.jsonl"
    path.write_text(json.dumps(old) + "\n")
    with pytest.raises(TaskFileError, match="row 1: .*version 0 is unknown"):
        read_tasks(path)
    monkeypatch.setitem(schema.UPGRADES, 0, upgrade)
    (task,) = read_tasks(path)
    assert (task.version, task.context.goal, task.gold_action[0].arguments) == (1, "Go.", {"to": "Oslo"})
    for suffix in (".jsonl", ".parquet"):
        write_tasks(tmp_path / f"new{suffix}", [task])
        assert read_tasks(tmp_path / f"new{suffix}") == [task]


def test_newer_and_unknown_versions_are_refused():
    assert "version 99 is newer than 1" in problem({**RECORD, "version": 99})
    assert "version 0 is unknown" in problem({**RECORD, "version": 0})
    assert problem({**RECORD, "version": "one"}).startswith("version: ")


@pytest.mark.parametrize(
    ("change", "place"),
    [
        ({"gaol": 1}, "gaol"),
        ({"context": {"goal": ""}}, "context.goal"),
        ({"gold_action": None}, "record"),
        ({"evaluation": {"kind": "reference_answer"}}, "evaluation"),
        ({"evaluation": {"kind": "checker", "checker": ""}}, "evaluation"),
        ({"evaluation": {"success_threshold": 0.0}}, "evaluation.success_threshold"),
        ({"gold_action": [{"name": "f", "arguments": {"x": float("inf")}}]}, "gold_action.0.arguments"),
    ],
)
def test_a_broken_record_is_refused_and_the_place_named(change, place):
    assert problem({**RECORD, **change}).startswith(f"{place}: ")


def test_the_ground_truth_holds_what_the_reward_needs():
    tool = {"type": "function", "function": {"name": "find_bus"}}
    task = Task.model_validate({**RECORD, "context": {"goal": "Find a bus.", "tools": [tool]}})
    truth = task.ground_truth()
    assert truth["evaluation"] == {"kind": "exact_match", "success_threshold": 1.0}
    assert truth["gold_action"] == RECORD["gold_action"]
    assert truth["tools"][0]["function"]["name"] == "find_bus"
