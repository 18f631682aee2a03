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

import base64
import gzip
import json

import pytest

from genenv_verl.report import task_parts
from genenv_verl.report.page import embedded_json
from genenv_verl.report.part_store import PartStore
from genenv_verl.report.run_files import read_run
from genenv_verl.report.seed_tasks import seed_rows
from genenv_verl.report.task_parts import epoch_part, text_limit
from genenv_verl.report.task_rows import task_row
from genenv_verl.tasks.records import write_tasks
from genenv_verl.tasks.schema import Task

TEXTS = ("id", "seed", "family", "reason", "detail", "goal", "gold", "text")


def unpack(part: str):
    return json.loads(gzip.decompress(base64.b64decode(part)))


def test_a_row_shows_the_task_its_worth_and_every_attempt(lines):
    row = task_row(lines.task(5))
    assert (row["id"], row["seed"], row["family"], row["goal"]) == ("seed-2.e0.v5", "seed-2", "family-1", "goal 5")
    assert (row["p"], row["reward"], row["accepted"], row["flags"]) == (5 / 8, 5 / 6, True, ["lucky"])
    assert row["gold"] == '{"name": "ring", "arguments": {"n": "5"}}'
    assert [attempt["outcome"] for attempt in row["attempts"]] == ["failure", "success", "failure", "unscored"]
    assert row["attempts"][1]["score"] == 1.0 and row["trust"] == {"chance_level": "0.25"}


def test_a_rejected_generation_keeps_its_text_and_reason(lines):
    row = task_row(lines.rejected(0, "not_json", "I am sorry"))
    assert (row["reason"], row["text"], row["p"], row["attempts"]) == ("not_json", "I am sorry", None, [])


@pytest.mark.parametrize(
    ("rejection", "reason"),
    [(None, ""), ({}, ""), ({"reason": None, "detail": "x"}, "unnamed"), ("not_json", "not_json"), ([1], "[1]")],
)
def test_a_rejection_of_another_form_is_one_all_the_same(rejection, reason):
    assert task_row({"rejection": rejection})["reason"] == reason


@pytest.mark.parametrize(
    "record",
    [
        {},
        {"task": "text", "attempts": "none", "rejection": 3, "trust": [], "p_hat": "0.5", "reward": float("inf")},
        {"task": {"context": {"goal": {"a": ["\ud800"]}, "tools": 7}, "gold_action": "x", "evaluation": []}},
        {
            "attempts": [None, 3, {"response": ["a"], "score": True, "success": "yes"}],
            "trust": {"flags": [None, 1, {}]},
        },
        {"task_id": ["a"] * 100_000, "text": 10**4000, "family": None, "accepted": "true"},
    ],
)
def test_any_record_becomes_a_row_of_texts_and_numbers(record):
    row = task_row(record)
    json.dumps(row, allow_nan=False).encode()
    assert all(isinstance(row[name], str) and len(row[name]) < 21_000 for name in TEXTS)
    assert row["accepted"] is False and row["reward"] is None
    assert all(attempt["outcome"] == "unscored" for attempt in row["attempts"])


def test_an_epoch_is_packed_with_its_damage_counted(tmp_path, lines):
    path = tmp_path / "epoch_0000.jsonl"
    path.write_text(json.dumps(lines.task(0)) + "\n{broken\n[1]\n" + json.dumps(lines.rejected(1, "empty", "")) + "\n{")
    part = epoch_part(path)
    epoch = unpack(part)
    assert [row["id"] for row in epoch["rows"]] == ["seed-0.e0.v0", "seed-0.e0.r1"]
    assert (epoch["damaged"], epoch["left_out"]) == (3, 0)
    assert not set(part) & set("<>&'\"")
    assert "cannot be read" in unpack(epoch_part(tmp_path / "epoch_0009.jsonl"))["error"]


def test_an_epoch_that_is_too_large_for_a_browser_is_cut_and_says_so(tmp_path, lines, monkeypatch):
    path = tmp_path / "epoch_0000.jsonl"
    path.write_text("".join(json.dumps(lines.task(place, text="x" * 5000)) + "\n" for place in range(20)))
    monkeypatch.setattr(task_parts, "MAX_ROWS", 15)
    assert unpack(epoch_part(path))["left_out"] == 5
    monkeypatch.setattr(task_parts, "FULL_TEXT_BYTES", 20_000)
    assert 2000 < text_limit(path) < 5000
    assert len(unpack(epoch_part(path))["rows"][0]["text"]) < 5000


def test_seeds_are_read_from_the_configured_file_or_the_given_one(make_run, lines, tmp_path):
    task = {"task_id": "seed-0", "context": {"goal": "old goal"}, "gold_action": [{"name": "ring", "arguments": {}}]}
    write_tasks(tmp_path / "seeds.jsonl", [Task.model_validate(task)])
    run = read_run(make_run(epochs=[lines.epoch(0)], config="genenv: {seeds: '${data.train_files}'}\n"
                            f"data: {{train_files: {tmp_path}/seeds.jsonl}}"), "run")  # fmt: skip
    notes: list[str] = []
    assert seed_rows(run, None, notes)["seed-0"]["goal"] == "old goal" and not notes
    elsewhere = read_run(make_run("other", epochs=[lines.epoch(0)]), "other")
    assert seed_rows(elsewhere, None, notes) == {} and "--seeds" in notes[0]
    assert seed_rows(elsewhere, tmp_path / "seeds.jsonl", [])["seed-0"]["gold"] == '{"name": "ring", "arguments": {}}'
    (tmp_path / "broken.jsonl").write_text("{")
    assert seed_rows(elsewhere, tmp_path / "broken.jsonl", notes) == {} and "cannot be shown" in notes[1]


@pytest.mark.parametrize("path", ["x" * 1000, "~nobody-of-this-name/seeds.jsonl", "seeds\\0.jsonl"])
def test_a_seeds_file_of_an_impossible_name_is_not_there(make_run, lines, path):
    run = read_run(make_run(epochs=[lines.epoch(0)], config=f'genenv: {{seeds: "{path}"}}'), "run")
    notes: list[str] = []
    assert seed_rows(run, None, notes) == {} and "not on this machine" in notes[0]


def test_parts_spill_into_files_and_unchanged_ones_are_not_made_again(tmp_path):
    store = PartStore(tmp_path / "tasks", limit=10)
    store.begin()
    store.add("r0-e0", 1, lambda: "a" * 6)
    assert store.embedded == {"r0-e0": "aaaaaa"}
    store.add("r0-e1", 1, lambda: "b" * 6)
    store.finish()
    assert store.embedded is None and store.files == {"r0-e0.js", "r0-e1.js"}
    assert (tmp_path / "tasks" / "r0-e0.js").read_text() == 'genenvPart("r0-e0","aaaaaa");\n'

    live = PartStore(tmp_path / "tasks", limit=0)
    made: list[str] = []
    for state in (1, 1, 2):
        live.begin()
        live.add("r0-e0", state, lambda: made.append("again") or "x")
        live.finish()
    assert len(made) == 2
    assert [path.name for path in (tmp_path / "tasks").iterdir()] == ["r0-e0.js"]


def test_files_of_others_in_the_folder_stay(tmp_path):
    (tmp_path / "tasks").mkdir()
    (tmp_path / "tasks" / "epoch_0000.jsonl").write_text("mine")
    store = PartStore(tmp_path / "tasks")
    store.begin()
    store.finish()
    assert (tmp_path / "tasks" / "epoch_0000.jsonl").exists()


def test_embedded_json_cannot_end_its_element():
    value = {"</script>": "<!-- & \u2028 ]]>"}
    text = embedded_json(value)
    assert not set(text) & set("<>&\u2028") and json.loads(text) == value
    with pytest.raises(ValueError, match="Out of range"):
        embedded_json(float("nan"))
