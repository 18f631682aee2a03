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
"""verl's entry point: the same row form for everything, and no fault that stops a batch."""

import json
import logging
import subprocess
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from genenv_verl.rewards import compute_score as module
from genenv_verl.rewards.compute_score import compute_score
from genenv_verl.tasks.schema import Context, Task, ToolCall

CALL = {"name": "find", "arguments": {"city": "Oslo"}}
RESPONSE = f"<tool_call>\n{json.dumps(CALL)}\n</tool_call>"
TASK = Task(task_id="t", context=Context(goal="g"), gold_action=[ToolCall(**CALL)])


@pytest.fixture(autouse=True)
def _forget_logged_faults():
    module._warn_once.cache_clear()


def row(ground_truth, response=RESPONSE, **kwargs):
    result = compute_score("genenv/default", response, ground_truth, {"index": 3}, **kwargs)
    assert {key: type(value) for key, value in result.items()} == {
        "score": float,
        "success": float,
        "scored": float,
        "reason": str,
    }
    return result


def test_a_task_row_is_scored():
    assert row(json.dumps(TASK.ground_truth())) == {"score": 1.0, "success": 1.0, "scored": 1.0, "reason": "correct"}
    assert row(TASK.ground_truth(), response="no") == {"score": 0.0, "success": 0.0, "scored": 1.0, "reason": "no_call"}


def test_a_number_of_more_digits_than_python_reads_is_a_reference():
    digits = "7" * 5_000
    assert row(digits, response=digits)["success"] == 1.0
    assert row(digits, response="7")["success"] == 0.0


def test_tools_in_the_ground_truth_are_used():
    properties = {"city": {"type": "string", "default": "Oslo"}}
    function = {"name": "find", "parameters": {"type": "object", "properties": properties}}
    truth = {**TASK.ground_truth(), "tools": [{"type": "function", "function": function}]}
    response = '<tool_call>{"name": "find", "arguments": {}}</tool_call>'
    assert row(json.dumps(truth), response=response)["success"] == 1.0
    assert row(json.dumps(TASK.ground_truth()), response=response)["success"] == 0.0


@pytest.mark.parametrize("ground_truth", [[CALL], json.dumps([CALL])])
def test_a_foreign_list_of_calls_is_matched_as_calls(ground_truth):
    assert row(ground_truth)["success"] == 1.0
    assert row(ground_truth, response="<response>find Oslo</response>")["reason"] == "no_call"


@pytest.mark.parametrize(
    ("ground_truth", "response"),
    [("Oslo", "oslo."), ("42", "42"), (42, "42"), ('["Oslo"]', '["Oslo"]'), ('"Oslo"', "Oslo")],
)
def test_any_other_text_is_a_reference_answer(ground_truth, response):
    assert row(ground_truth, response=response)["success"] == 1.0
    assert row(ground_truth, response="something else")["success"] == 0.0


def test_a_ground_truth_in_the_agents_format_is_what_it_says():
    truth = f"<think>Look it up.</think>\n{RESPONSE}"
    assert row(truth)["success"] == 1.0
    assert row(truth, response=truth.replace("Oslo", "Rome"))["reason"] == "wrong_arguments"
    assert row("<think>Easy.</think><response>Oslo</response>", response="Oslo.")["success"] == 1.0


def test_keyword_call_as_verl_makes_it():
    result = compute_score(
        data_source="x", solution_str="42", ground_truth="42", extra_info={}, reward_router_address="h:1"
    )
    assert result["success"] == 1.0


@pytest.mark.parametrize(
    ("ground_truth", "reason"),
    [
        (None, "scorer_error:TypeError"),
        ({"target": ["Oslo"]}, "scorer_error:TypeError"),
        ({"evaluation": {"kind": "unheard_of"}}, "scorer_error:ValidationError"),
        ("", "scorer_error:ValidationError"),
        ("[" * 100_000, "scorer_error:RecursionError"),
    ],
)
def test_a_broken_row_is_unscored(ground_truth, reason):
    assert row(ground_truth) == {"score": 0.0, "success": 0.0, "scored": 0.0, "reason": reason}


def test_b05_a_broken_scorer_is_no_failure_of_the_agent(monkeypatch, caplog):
    def broken(*args, **kwargs):
        raise KeyError("missing")

    good = [row(TASK.ground_truth()) for _ in range(7)]
    monkeypatch.setattr(module, "score_target", broken)
    with caplog.at_level(logging.WARNING):
        bad = [row(TASK.ground_truth()) for _ in range(3)]
    assert [result["reason"] for result in bad] == ["scorer_error:KeyError"] * 3
    rows = good + bad
    assert (sum(result["success"] for result in rows), sum(result["scored"] for result in rows)) == (7.0, 7.0)
    assert len(caplog.records) == 1, "a fault that hits every row is logged once"
    assert "KeyError: 'missing'" in caplog.text


def test_an_unknown_match_mode_is_an_error_of_the_configuration():
    with pytest.raises(ValueError, match="genenv.reward.match"):
        row(TASK.ground_truth(), match="loose")
    half = '<tool_call>{"name": "find", "arguments": {"city": "Oslo", "day": 1}}</tool_call>'
    assert row(TASK.ground_truth(), response=half, match="soft")["score"] == 0.5


def test_the_file_loads_by_path_and_pulls_in_no_trainer():
    load = (
        "import importlib.util, sys\n"
        f"spec = importlib.util.spec_from_file_location('custom_module', {module.__file__!r})\n"
        "loaded = importlib.util.module_from_spec(spec)\n"
        "spec.loader.exec_module(loaded)\n"
        "print(loaded.compute_score('x', '42', '42')['success'])\n"
        "print(sorted({'torch', 'ray', 'verl', 'transformers', 'scipy'} & set(sys.modules)))\n"
    )
    done = subprocess.run([sys.executable, "-c", load], capture_output=True, text=True, timeout=60, check=True)
    assert done.stdout.split("\n")[:2] == ["1.0", "[]"]


@given(st.text(), st.text() | st.integers() | st.none() | st.lists(st.text()) | st.just([CALL]))
def test_no_input_raises_or_leaves_the_range(response, ground_truth):
    result = row(ground_truth, response=response)
    assert 0.0 <= result["score"] <= 1.0
    assert result["success"] in (0.0, 1.0) and result["scored"] in (0.0, 1.0)
    assert result["success"] <= result["scored"]
