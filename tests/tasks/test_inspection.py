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

import pytest

from genenv_verl.rewards.solved import is_solved
from genenv_verl.tasks.inspection import inspect_tasks
from genenv_verl.tasks.records import TaskFileError, to_verl_row
from genenv_verl.tasks.sandbox.base import Unavailable
from genenv_verl.tasks.schema import Task

TOOL = {
    "type": "function",
    "function": {
        "name": "find_bus",
        "parameters": {"type": "object", "properties": {"seats": {"type": "integer"}}, "required": ["seats"]},
    },
}


def task(task_id="a", seats=2, **fields):
    context = {"goal": f"Find a bus for {task_id}.", "tools": [TOOL]}
    call = {"name": "find_bus", "arguments": {"seats": seats}}
    return {"task_id": task_id, "context": context, "gold_action": [call], **fields}


def generation(record=None, reason=None, **fields):
    rejection = {"reason": reason, "detail": "why"} if reason else None
    return {"task_id": fields.pop("task_id", "g"), "task": record, "rejection": rejection, "attempts": [], **fields}


def reasons(path, *lines):
    texts = (line if isinstance(line, bytes) else json.dumps(line).encode() for line in lines)
    path.write_bytes(b"\n".join(texts))
    return [(inspected.row, inspected.reason) for inspected in inspect_tasks(path, is_solved)]


def test_each_line_has_its_reason(tmp_path):
    row = to_verl_row(Task.model_validate(task("row")), [{"role": "user", "content": "Go."}])
    found = reasons(
        tmp_path / "tasks.jsonl",
        task("a"),
        row,
        b"",
        b"{broken",
        b'{"a": NaN}',
        b'{"a": 1, "a": 2}',
        b"\xff",
        [],
        {"task_id": "b"},
        {"prompt": "Go."},
        task("a"),
        task("c", version=99),
        task("d", seats="two"),
        {**task("e"), "gold_action": [{"name": "fly"}]},
        task("f"),
    )
    assert found == [
        (1, None),
        (2, None),
        (4, "not_json"),
        (5, "not_a_number"),
        (6, "duplicate_key"),
        (7, "not_utf8"),
        (8, "schema"),
        (9, "schema"),
        (10, "row"),
        (11, "duplicate_id"),
        (12, "schema"),
        (13, "bad_arguments"),
        (14, "undeclared_tool"),
        (15, None),
    ]


def test_the_lines_of_an_epoch_keep_their_rejections(tmp_path):
    path = tmp_path / "epoch_0000.jsonl"
    found = reasons(
        path,
        generation(task("a"), attempts=[{"score": 1.0}], p_hat=1.0),
        generation(reason="not_json", task_id="b", text="I'm sorry"),
        generation(None, None),
        generation({"task_id": "c"}),
    )
    assert found == [(1, None), (2, "not_json"), (3, "schema"), (4, "schema")]
    first, second, *_ = inspect_tasks(path, is_solved)
    assert (first.task_id, first.generation["p_hat"]) == ("a", 1.0)
    assert (second.task_id, second.detail, second.generation["text"]) == ("b", "why", "I'm sorry")


@pytest.mark.parametrize("name", ["missing.jsonl", "missing.parquet", "tasks.txt"])
def test_a_file_that_cannot_be_read_is_named(tmp_path, name):
    with pytest.raises(TaskFileError, match=name):
        list(inspect_tasks(tmp_path / name, is_solved))


def test_checkers_of_seeds_are_tried_those_of_a_run_are_not(tmp_path):
    checked = task("c", evaluation={"kind": "checker", "checker": "def check(response):\n    return True"})
    path = tmp_path / "tasks.jsonl"
    path.write_text("\n".join(map(json.dumps, [checked, generation({**checked, "task_id": "d"})])) + "\n")

    def reasons(checkers):
        return [inspected.reason for inspected in inspect_tasks(path, is_solved, checkers)]

    assert reasons(None) == [None, None]
    assert reasons(Unavailable("no jail here")) == ["checker_unavailable", None]


def test_a_reward_that_a_run_has_tried_is_not_tried_again_with_the_defaults(tmp_path):
    sentence = {"kind": "reference_answer", "reference": "the train leaves at noon", "success_threshold": 0.8}
    lax = {**task("c", evaluation=sentence), "gold_action": None}
    path = tmp_path / "tasks.jsonl"
    path.write_text("\n".join(map(json.dumps, [lax, generation({**lax, "task_id": "d"})])) + "\n")
    reasons = [inspected.reason for inspected in inspect_tasks(path, is_solved)]
    assert reasons == ["reference_undiscriminating", None]
