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
from hypothesis import given, settings
from hypothesis import strategies as st

from genenv_verl.tasks.generation import MAX_DETAIL_CHARS, Rejection, count_rejections, read_generation
from genenv_verl.tasks.json_reader import MAX_JSON_CHARS
from genenv_verl.tasks.schema import Generator, Task

FIND_BUS = {
    "type": "function",
    "function": {
        "name": "find_bus",
        "parameters": {"type": "object", "properties": {"passengers": {"type": "integer"}}, "required": ["passengers"]},
    },
}
SEED = Task.model_validate(
    {
        "task_id": "seed-1",
        "family": "travel",
        "context": {
            "system": "You book journeys.",
            "tools": [FIND_BUS],
            "constraints": ["Only direct buses."],
            "history": [{"role": "user", "content": "Hello"}, {"role": "assistant", "content": "Hello!"}],
            "goal": "Find a bus for three people.",
        },
        "evaluation": {"kind": "exact_match", "success_threshold": 0.9},
        "gold_action": [{"name": "find_bus", "arguments": {"passengers": 3}}],
    }
)
WRITER = Generator(model="environment", step=7, sampling={"temperature": 1.0})
CALL = {"name": "find_bus", "arguments": {"passengers": 2}}


def read(written, *, truncated: bool = False, success_threshold: float | None = None) -> Task | Rejection:
    text = written if isinstance(written, str) else json.dumps(written, ensure_ascii=False)
    return read_generation(
        text,
        seed=SEED,
        task_id="e3-0001",
        epoch=3,
        generator=WRITER,
        truncated=truncated,
        success_threshold=success_threshold,
    )


def rejection(written, **options) -> str:
    outcome = read(written, **options)
    assert isinstance(outcome, Rejection), outcome
    return outcome.reason


def test_what_is_left_out_is_the_seeds():
    task = read({"goal": "Find a bus for two people.", "calls": [CALL]})
    assert (task.task_id, task.seed_id, task.epoch, task.family) == ("e3-0001", "seed-1", 3, "travel")
    assert task.generator == WRITER
    assert task.context == SEED.context.model_copy(update={"goal": "Find a bus for two people."})
    assert [call.model_dump() for call in task.gold_action] == [CALL]
    assert task.evaluation.kind == "exact_match"


def test_what_is_written_replaces_the_seeds():
    tool = {"name": "find_train", "parameters": {"type": "object", "properties": {}}}
    written = {
        "goal": "Find a train.",
        "system": "You know trains.",
        "tools": [tool],
        "constraints": [],
        "history": [],
        "calls": {"name": "find_train"},
    }
    task = read(written)
    assert task.context.model_dump(include={"system", "constraints", "history"}) == {
        "system": "You know trains.",
        "constraints": [],
        "history": [],
    }
    assert [tool.name for tool in task.context.tools] == ["find_train"]
    assert task.gold_action[0].arguments == {}


@pytest.mark.parametrize(
    "text",
    [
        'Here it is:\n```json\n{"goal": "G", "calls": []}\n```\nGood luck!',
        '<think>Maybe {"goal": "draft", "calls": []}?</think>{"goal": "G", "calls": []}',
        '<thinking>Maybe {"goal": "draft", "calls": []}?</thinking>{"goal": "G", "calls": []}',
        'Maybe {"goal": "draft", "calls": []}?</think>\n{"goal": "G", "calls": []}',
        '{"note": 1} {"goal": "G", "calls": []} {"goal": "later", "calls": []}',
        '{"goal": "G", "gold_action": []}',
        '{"context": {"goal": "G"}, "evaluation": {"kind": "exact_match"}, "gold_action": []}',
    ],
)
def test_forms_of_a_generation(text):
    task = read(text)
    assert (task.context.goal, task.gold_action) == ("G", [])


def test_kinds_of_evaluation():
    answer = read({"goal": "Which city?", "answer": "Rome"})
    assert (answer.evaluation.kind, answer.evaluation.reference, answer.gold_action) == (
        "reference_answer",
        "Rome",
        None,
    )
    assert read({"goal": "How many?", "answer": 4}).evaluation.reference == "4"
    nested = read({"goal": "Which city?", "evaluation": {"kind": "reference_answer", "reference": "Rome"}})
    assert nested.evaluation == answer.evaluation
    checker = read({"goal": "Sort.", "checker": "def check(x): return True", "answer": "1 2", "calls": [CALL]})
    assert (checker.evaluation.kind, checker.evaluation.reference) == ("checker", "1 2")
    assert checker.gold_action is not None


def test_the_threshold_is_never_the_environments():
    written = {
        "goal": "Which city?",
        "answer": "Rome",
        "evaluation": {"success_threshold": 0.01},
        "success_threshold": 0.01,
    }
    assert read(written).evaluation.success_threshold == 0.9
    assert read(written, success_threshold=0.7).evaluation.success_threshold == 0.7


@pytest.mark.parametrize(
    ("written", "reason"),
    [
        ("", "empty"),
        (" \n", "empty"),
        ("<think>still thinking", "empty"),
        ("I'm sorry, I can't help with that.", "refusal"),
        ("As an AI, I do not write tasks.", "refusal"),
        ("Find a bus for two people.", "not_json"),
        ("{'goal': 'x', 'calls': []}", "not_json"),
        ('{"goal": "x", "calls": [', "not_json"),
        ('{"goal": "x", "calls": [NaN]}', "not_json"),
        ("x" * (MAX_JSON_CHARS + 1), "too_long"),
        ('{"goal": ' + "[" * 1000, "too_deep"),
        ('{"goal": "x", "goal": "y", "calls": []}', "duplicate_key"),
        ({"calls": []}, "missing_goal"),
        ({"goal": "  ", "calls": []}, "missing_goal"),
        ({"goal": "x"}, "missing_evaluation"),
        ({"goal": "x", "answer": ""}, "missing_evaluation"),
        ({"goal": "x", "answer": "y", "calls": []}, "ambiguous_evaluation"),
        ({"goal": "x", "calls": [], "gold_action": [CALL]}, "ambiguous_evaluation"),
        ({"goal": 3, "calls": []}, "schema"),
        ({"goal": "x", "calls": [{"arguments": {}}]}, "schema"),
        ({"goal": "x", "calls": "find_bus()"}, "schema"),
        ({"goal": "x", "answer": ["y"]}, "schema"),
        ({"goal": "x", "calls": [], "tools": {"find_bus": {}}}, "schema"),
        ({"goal": "x", "calls": [], "tools": [{"name": "f", "parameters": []}]}, "schema"),
        ({"goal": "x", "calls": [], "history": [{"role": "boss", "content": ""}]}, "schema"),
    ],
)
def test_every_rejection_has_its_reason(written, reason):
    assert rejection(written) == reason


def test_E16_a_cut_generation_is_named_truncated():
    text = '{"goal": "Find a train", "tools": [{"name": "find_tr'
    assert rejection(text, truncated=True) == "truncated"
    assert rejection(text) == "not_json"
    assert rejection("", truncated=True) == "truncated"
    whole = '{"goal": "G", "calls": []} and so on'
    assert isinstance(read(whole, truncated=True), Task)


def test_a_detail_is_short():
    assert len(Rejection("schema", "x" * 1000).detail) == MAX_DETAIL_CHARS


def test_E13_every_generation_is_accounted_for():
    valid = [read({"goal": f"Find bus {number}.", "calls": [CALL]}) for number in range(11)]
    rejected = [Rejection(reason) for reason in ["not_json"] * 4 + ["schema"] * 3 + ["duplicate"] * 2]
    account = count_rejections([*rejected, *valid])
    assert account == {
        "generated": 20,
        "valid": 11,
        "valid_fraction": 0.55,
        "invalid_reasons": {"duplicate": 2, "not_json": 4, "schema": 3},
    }
    assert account["generated"] == account["valid"] + sum(account["invalid_reasons"].values())
    assert count_rejections([])["valid_fraction"] == 0.0


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5) | st.sampled_from([CALL, FIND_BUS]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(["name", "arguments", "role"]), inner),
    max_leaves=5,
)
KEYS = ["goal", "system", "tools", "constraints", "history", "calls", "gold_action", "answer", "checker"]
WRITTEN = st.dictionaries(
    st.sampled_from([*KEYS, "context", "evaluation"]), JSON | st.dictionaries(st.sampled_from(KEYS), JSON)
)


@settings(max_examples=100, deadline=None)
@given(WRITTEN.map(lambda value: json.dumps({"goal": "g", **value})) | st.text(max_size=40), st.booleans())
def test_no_generation_raises(text, truncated):
    outcome = read(text, truncated=truncated)
    if isinstance(outcome, Task):
        outcome.model_dump_json().encode()
