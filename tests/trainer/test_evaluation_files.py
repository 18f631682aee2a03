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
import json
import logging

import pytest

from genenv_verl.config.settings import read_settings
from genenv_verl.tasks.records import TaskFileError, write_tasks
from genenv_verl.tasks.schema import Task
from genenv_verl.trainer.evaluation_files import evaluation_set, read_evaluation_tasks


def task(name, goal):
    return Task.model_validate({"task_id": name, "context": {"goal": goal}, "gold_action": []})


@pytest.fixture
def files(tmp_path):
    write_tasks(
        tmp_path / "seeds.jsonl", [task("s", "Look for the keys in the drawer."), task("both", "Count the spoons.")]
    )
    write_tasks(tmp_path / "val.parquet", [task("v", "Water the plants."), task("both", "Count the spoons.")])
    write_tasks(tmp_path / "more.jsonl", [task("m", "Close all the windows.")])
    return tmp_path


def settings(files, **novelty):
    return read_settings({"seeds": str(files / "seeds.jsonl"), "novelty": novelty})


def test_validation_and_further_files_are_both_read(files):
    more = settings(files, evaluation_files=[str(files / "more.jsonl")])
    evaluation = evaluation_set(more, str(files / "val.parquet"))
    assert evaluation.overlap(task("new", "water the plants!")) and evaluation.overlap(
        task("new", "Close all the windows.")
    )
    assert evaluation.overlap(task("new", "Look for the keys in the drawer.")) is None


def test_validation_files_can_be_left_out(files):
    assert evaluation_set(settings(files, check_validation_files=False), [str(files / "val.parquet")]) is None
    assert evaluation_set(settings(files), None) is None


def test_seeds_that_are_evaluated_on_are_named(files, caplog):
    with caplog.at_level(logging.WARNING):
        evaluation_set(settings(files), [str(files / "val.parquet")])
    assert "1 of 2 seed tasks (both, …)" in caplog.text


def test_a_file_that_is_not_there_or_holds_no_tasks_is_named_with_the_remedy(files):
    with pytest.raises(TaskFileError, match=r"evaluation_files = '/no/such\.jsonl': no such file"):
        read_evaluation_tasks(settings(files, evaluation_files=["/no/such.jsonl"]), None)
    (files / "val.jsonl").write_text(json.dumps({"prompt": "What is it?"}) + "\n")
    with pytest.raises(TaskFileError, match=r"data\.val_files: (.|\n)*ground_truth(.|\n)*check_validation_files=false"):
        read_evaluation_tasks(settings(files), str(files / "val.jsonl"))
