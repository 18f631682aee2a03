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

import datetime
import json

import pandas
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from genenv_verl.tasks.records import (
    RecordError,
    TaskFileError,
    from_verl_row,
    read_tasks,
    task_of,
    to_verl_row,
    write_tasks,
)
from genenv_verl.tasks.schema import Task
from genenv_verl.tasks.tool_calls import parse_response

TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=12)
VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(10**20), 10**20)
    | st.floats(allow_nan=False, allow_infinity=False)
    | TEXT,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXT, inner, max_size=3),
    max_leaves=6,
)
OBJECTS = st.dictionaries(TEXT, VALUES, max_size=3)
NAMES = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=8)
CALLS = st.fixed_dictionaries({"name": NAMES, "arguments": OBJECTS})
EVALUATIONS = st.sampled_from(
    [
        {"kind": "exact_match"},
        {"kind": "reference_answer", "reference": "Rome, ça va", "success_threshold": 0.7},
        {"kind": "checker", "checker": "def check(x):\n    return x == 1\n", "reference": "1"},
    ]
)
TASKS = st.fixed_dictionaries(
    {
        "task_id": NAMES,
        "seed_id": st.none() | NAMES,
        "epoch": st.none() | st.integers(0, 99),
        "family": TEXT,
        "generator": st.none() | st.fixed_dictionaries({"model": TEXT, "step": st.integers(0, 9), "sampling": OBJECTS}),
        "context": st.fixed_dictionaries(
            {
                "system": TEXT,
                "tools": st.lists(
                    st.fixed_dictionaries({"function": st.fixed_dictionaries({"name": NAMES, "parameters": OBJECTS})}),
                    max_size=2,
                ),
                "constraints": st.lists(TEXT, max_size=2),
                "history": st.lists(
                    st.fixed_dictionaries({"role": st.sampled_from(["user", "assistant", "tool"]), "content": TEXT}),
                    max_size=2,
                ),
                "goal": NAMES,
            }
        ),
        "evaluation": EVALUATIONS,
        "gold_action": st.lists(CALLS, max_size=2),
    }
).map(Task.model_validate)


def make_task(task_id: str = "a", **fields) -> Task:
    return Task.model_validate(
        {"task_id": task_id, "context": {"goal": "Find a bus."}, "gold_action": [{"name": "find_bus"}], **fields}
    )


@settings(max_examples=40, deadline=None)
@given(
    st.lists(TASKS, max_size=3, unique_by=lambda task: task.task_id), st.sampled_from([".jsonl", ".json", ".parquet"])
)
def test_files_lose_nothing(tmp_path_factory, tasks, suffix):
    path = tmp_path_factory.mktemp("tasks") / f"tasks{suffix}"
    write_tasks(path, tasks, prompt=lambda task: [{"role": "user", "content": task.context.goal}])
    assert read_tasks(path) == tasks
    assert [file.name for file in path.parent.iterdir()] == [path.name]


@settings(max_examples=40, deadline=None)
@given(TASKS)
def test_rows_lose_nothing(task):
    assert from_verl_row(to_verl_row(task, [])) == task


def test_a_row_is_what_verl_reads():
    prompt = [{"role": "user", "content": "Find a bus."}]
    row = to_verl_row(make_task(family="travel", seed_id="s"), prompt, split="test", index=4)
    assert row["data_source"] == "genenv/travel"
    assert row["prompt"] == prompt
    assert row["reward_model"]["style"] == "rule"
    assert json.loads(row["reward_model"]["ground_truth"])["gold_action"] == [{"name": "find_bus", "arguments": {}}]
    assert {key: row["extra_info"][key] for key in ("split", "index", "task_id", "seed_id", "family")} == {
        "split": "test",
        "index": 4,
        "task_id": "a",
        "seed_id": "s",
        "family": "travel",
    }


TOOL = {"type": "function", "function": {"name": "find_bus", "description": "Finds.", "parameters": {"type": "object"}}}


@pytest.mark.parametrize("tools", [[TOOL], json.dumps([TOOL]), [TOOL["function"]], json.dumps([TOOL["function"]])])
@pytest.mark.parametrize("inside", [True, False])
def test_a_foreign_row_names_its_tools(tools, inside):
    row = {"prompt": "Find a bus.", "reward_model": {"ground_truth": '[{"name": "find_bus"}]'}}
    row |= {"extra_info": {"tools": tools}} if inside else {"tools": tools}
    assert [tool.model_dump() for tool in from_verl_row(row).context.tools] == [TOOL]


@pytest.mark.parametrize("tools", [None, "", "  ", []])
def test_a_foreign_row_without_tools(tools):
    row = {"prompt": "?", "reward_model": {"ground_truth": "7"}, "extra_info": {"tools": tools}}
    assert from_verl_row(row).context.tools == []


@pytest.mark.parametrize("tools", [7, {"name": "f"}, "[", '{"name": "f"}', ["f"], [7], [{"nome": "f"}]])
def test_tools_of_a_foreign_row_that_are_none(tools):
    row = {"prompt": "?", "reward_model": {"ground_truth": "7"}, "extra_info": {"tools": tools}}
    with pytest.raises(RecordError):
        task_of(row)


def test_earlier_calls_of_a_foreign_row_stay_in_its_history():
    call = {"name": "f", "arguments": {"city": "Oslo"}}
    messages = [
        {"role": "user", "content": "How warm is Oslo?"},
        {"role": "assistant", "content": None, "tool_calls": [{"type": "function", "function": call}]},
        {"role": "tool", "content": "7 °C"},
        {"role": "user", "content": "And Bergen?"},
    ]
    row = {"prompt": messages, "reward_model": {"ground_truth": "9 °C"}}
    history = task_of(row).context.history
    assert [turn.role for turn in history] == ["user", "assistant", "tool"]
    assert parse_response(history[1].content).calls[0].model_dump() == call
    messages[1]["tool_calls"] = [{"function": {"arguments": "{}"}}]
    with pytest.raises(RecordError, match="tool_calls: no_name"):
        task_of(row)


def test_a_foreign_row_as_pandas_gives_it(tmp_path):
    call = {"name": "f", "arguments": {"city": "Oslo"}}
    rows = [
        {"prompt": [{"role": "user", "content": "?"}], "reward_model": {"ground_truth": [call]}, "tools": [TOOL, TOOL]},
        {"prompt": [{"role": "user", "content": "?"}], "reward_model": {"ground_truth": [call]}, "tools": []},
    ]
    pandas.DataFrame(rows).to_parquet(tmp_path / "rows.parquet")
    records = pandas.read_parquet(tmp_path / "rows.parquet").to_dict("records")
    read = [task_of(record) for record in records]
    assert read == read_tasks(tmp_path / "rows.parquet")
    assert [len(task.context.tools) for task in read] == [2, 0]
    assert [task.gold_action[0].model_dump() for task in read] == [call, call]


@pytest.mark.parametrize("truth", [b"7", datetime.date(2026, 5, 11), [b"7"]])
def test_a_ground_truth_that_json_cannot_carry(truth, tmp_path):
    row = {"prompt": "?", "reward_model": {"ground_truth": truth}}
    pandas.DataFrame([row]).to_parquet(tmp_path / "rows.parquet")
    with pytest.raises(TaskFileError, match="row 1: .*ground_truth"):
        read_tasks(tmp_path / "rows.parquet")


@pytest.mark.parametrize("target", ["Paris", ["Paris"]])
def test_a_ground_truth_with_one_target_is_a_reference(target):
    row = {"prompt": "The capital of France?", "reward_model": {"ground_truth": {"target": target}}}
    assert from_verl_row(row).evaluation.reference == "Paris"


@pytest.mark.parametrize("targets", [[], ["Paris", "Paris, France"]])
def test_several_targets_are_refused_and_not_compared_as_a_list(targets):
    row = {"prompt": "The capital of France?", "reward_model": {"ground_truth": {"target": targets}}}
    with pytest.raises(RecordError, match=f"has {len(targets)} targets, a task has one reference answer"):
        task_of(row)


def test_E06_the_gold_stands_in_the_ground_truth_alone(tmp_path):
    task = make_task(
        gold_action=[{"name": "canaryword", "arguments": {"canaryword": "canaryword"}}],
        evaluation={"kind": "checker", "checker": "canaryword", "reference": "canaryword"},
    )
    path = tmp_path / "tasks.parquet"
    write_tasks(path, [task])
    row = pandas.read_parquet(path).iloc[0].to_dict()
    assert "canaryword" in row["reward_model"]["ground_truth"]
    assert "canaryword" not in str({key: value for key, value in row.items() if key != "reward_model"})
    assert "Find a bus." in row["prompt"][0]["content"] + row["prompt"][-1]["content"]
    assert from_verl_row(row) == task  # As pandas hands it over: lists are arrays.


def test_A21_lone_surrogates_are_replaced_on_reading_and_refused_in_a_task(tmp_path):
    gold = r'[{"name": "f", "arguments": {"t": "\ud83d"}}]'
    line = r'{"task_id": "a", "context": {"goal": "say \ud83d"}, "gold_action": ' + gold + "}"
    path = tmp_path / "tasks.jsonl"
    path.write_text(line)
    (task,) = read_tasks(path)
    assert (task.context.goal, task.gold_action[0].arguments) == ("say �", {"t": "�"})
    for suffix in (".jsonl", ".json", ".parquet"):
        write_tasks(tmp_path / f"again{suffix}", [task])
        assert read_tasks(tmp_path / f"again{suffix}") == [task]
    for arguments in ({"t": "\ud83d"}, {"\ud83d": 1}, {"t": [float("nan")]}):
        with pytest.raises(ValueError):
            make_task(gold_action=[{"name": "f", "arguments": arguments}])
    foreign = {"prompt": "say \ud83d", "reward_model": {"ground_truth": "x \ud83d"}, "extra_info": {"index": 0}}
    from_verl_row(foreign).model_dump_json().encode()


def test_broken_rows_are_listed_with_their_numbers(tmp_path):
    good = make_task().model_dump_json()
    lines = [
        good,
        '{"task_id": "b"',
        "",
        good,
        "[]",
        '{"task_id": "c", "context": {"gaol": ""}}',
        '{"a": NaN}',
        "\x00",
        "{}",
    ]
    path = tmp_path / "tasks.jsonl"
    path.write_text("\n".join(lines))
    with pytest.raises(TaskFileError) as caught:
        read_tasks(path)
    message = str(caught.value)
    assert message.startswith(str(path))
    for expected in ("row 2: ", "row 4: task_id 'a' is row 1's already", "row 5: ", "row 6: context.goal", "row 7: "):
        assert expected in message
    assert "row 8" not in message  # Five are enough.


def test_broken_bytes_and_rows_of_parquet_are_named(tmp_path):
    path = tmp_path / "tasks.jsonl"
    path.write_bytes(make_task().model_dump_json().encode() + b"\n\xff\xfe\n")
    with pytest.raises(TaskFileError, match="row 2: "):
        read_tasks(path)
    path = tmp_path / "tasks.parquet"
    pandas.DataFrame([{"prompt": [], "reward_model": {"ground_truth": "x"}, "extra_info": {"index": 0}}]).to_parquet(
        path
    )
    with pytest.raises(TaskFileError, match="row 1: prompt has no user message"):
        read_tasks(path)


@pytest.mark.parametrize("name", ["missing.jsonl", "missing.json", "missing.parquet", "tasks.csv"])
def test_a_file_that_cannot_be_read_is_named(tmp_path, name):
    with pytest.raises(TaskFileError, match=name):
        read_tasks(tmp_path / name)


def test_a_file_of_another_kind_is_named(tmp_path):
    for name in ("tasks.json", "tasks.parquet"):
        (tmp_path / name).write_text('{"not": "a list"}')
        with pytest.raises(TaskFileError, match=name):
            read_tasks(tmp_path / name)


def test_tasks_that_share_an_id_are_not_written(tmp_path):
    with pytest.raises(TaskFileError, match="2 tasks share 1 task ids"):
        write_tasks(tmp_path / "tasks.jsonl", [make_task(), make_task()])
    with pytest.raises(TaskFileError, match="csv"):
        write_tasks(tmp_path / "tasks.csv", [])


def test_foreign_rows_become_tasks():
    prompt = [
        {"role": "system", "content": "Be brief."},
        {"role": "user", "content": "Hello"},
        {"role": "assistant", "content": "Hello!"},
        {"role": "user", "content": "2 + 2?"},
    ]
    row = {
        "data_source": "arithmetic",
        "prompt": prompt,
        "reward_model": {"style": "rule", "ground_truth": "4"},
        "extra_info": {"index": 7, "split": "train"},
    }
    task = from_verl_row(row)
    assert (task.task_id, task.family) == ("arithmetic/train/7", "arithmetic")
    assert (task.context.system, task.context.goal) == ("Be brief.", "2 + 2?")
    assert [message.content for message in task.context.history] == ["Hello", "Hello!"]
    assert (task.evaluation.kind, task.evaluation.reference) == ("reference_answer", "4")
    frame = pandas.DataFrame([row])
    assert from_verl_row(frame.iloc[0].to_dict()) == task
    nameless = {**row, "extra_info": None}
    assert from_verl_row(nameless).task_id == from_verl_row(dict(nameless)).task_id
    assert from_verl_row(nameless).task_id != from_verl_row({**nameless, "prompt": "3 + 3?"}).task_id


@pytest.mark.parametrize(
    ("truth", "kind", "gold"),
    [
        ('[{"name": "f", "arguments": {"a": 1}}]', "exact_match", [{"name": "f", "arguments": {"a": 1}}]),
        ('{"name": "f", "parameters": {"a": 1}}', "exact_match", [{"name": "f", "arguments": {"a": 1}}]),
        ([{"name": "f", "arguments": "{}"}], "exact_match", [{"name": "f", "arguments": {}}]),
        ('{"evaluation": {"kind": "exact_match"}, "gold_action": []}', "exact_match", []),
        ("[1, 2]", "reference_answer", None),
        (
            '<think>x</think><tool_call>{"name": "f", "parameters": {}}</tool_call>',
            "exact_match",
            [{"name": "f", "arguments": {}}],
        ),
        ("<think>x</think><response>Rome</response>", "reference_answer", None),
        ('{"city": "Rome"}', "reference_answer", None),
        ("{broken", "reference_answer", None),
        (42, "reference_answer", None),
    ],
)
def test_foreign_ground_truths(truth, kind, gold):
    task = from_verl_row({"prompt": "Go.", "data_source": "x", "reward_model": {"ground_truth": truth}})
    assert task.evaluation.kind == kind
    assert (None if task.gold_action is None else [call.model_dump() for call in task.gold_action]) == gold


@pytest.mark.parametrize(
    "row",
    [
        {"prompt": "Go.", "reward_model": {"ground_truth": " "}},
        {"prompt": "Go."},
        {"prompt": None, "reward_model": {"ground_truth": "x"}},
        {"prompt": [{"role": "boss", "content": "Go."}], "reward_model": {"ground_truth": "x"}},
        {"prompt": "", "reward_model": {"ground_truth": "x"}},
        {"prompt": [], "extra_info": {"task": "{}"}},
        {"prompt": [], "extra_info": {"task": "{}"}, "reward_model": {"ground_truth": "[]"}},
        {"prompt": ["Go."], "reward_model": {"ground_truth": "x"}},
        {"prompt": [{"role": "user", "content": [{"type": "image"}]}], "reward_model": {"ground_truth": "x"}},
        {"prompt": "Go.", "reward_model": "x"},
        {"prompt": [{"role": "user"}], "reward_model": {"ground_truth": "x"}},
    ],
)
def test_rows_that_lack_something_are_refused(row):
    with pytest.raises(ValueError):
        from_verl_row(row)
