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
"""R_agent of whole responses: format faults, three outcomes, and the ways to cheat."""

import json
import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import ValidationError

from genenv_verl.rewards.agent_reward import Score, Scoring, score_response
from genenv_verl.rewards.matching import equal_values
from genenv_verl.tasks.schema import Context, Evaluation, Task

KEYS = st.text(st.characters(codec="utf-8"), max_size=6)
VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(10**12), 10**12)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(st.characters(codec="utf-8"), max_size=12),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(KEYS, inner, max_size=3),
    max_leaves=6,
)
GOLD = st.lists(
    st.fixed_dictionaries({"name": st.sampled_from(["search", "book"]), "arguments": st.dictionaries(KEYS, VALUES)}),
    min_size=1,
    max_size=3,
)
HOSTILE = st.text() | st.lists(
    st.sampled_from(
        ["<tool_call>", "</tool_call>", "<think>", "</think>", "<response>", "</response>"]
        + ['{"name": "search", "arguments": {"q": 1}}', "{", "}", "[", '"', ",", "\n", "null", "NaN", "\\ud83d", "Oslo"]
    ),
    max_size=12,
).map("".join)


def calls(*gold):
    return Task(task_id="t", context=Context(goal="g"), gold_action=list(gold)).ground_truth()


def reference(text, threshold=1.0):
    evaluation = Evaluation(kind="reference_answer", reference=text, success_threshold=threshold)
    return Task(task_id="t", context=Context(goal="g"), evaluation=evaluation).ground_truth()


def written(*objects):
    return "".join(f"<tool_call>\n{json.dumps(call)}\n</tool_call>\n" for call in objects)


ZONE = {"name": "get_time", "arguments": {"zone": "Asia/Tokyo"}}
UTC = {"name": "get_time", "arguments": {"zone": "UTC"}}


@pytest.mark.parametrize(
    ("response", "reason"),
    [
        (written(ZONE), "correct"),
        ("<think>Which zone?</think>\n" + written(ZONE), "correct"),
        (written(UTC), "wrong_arguments"),
        (written({"name": "set_time", "arguments": {"zone": "Asia/Tokyo"}}), "wrong_tool"),
        (written(UTC, ZONE), "extra_call"),
        (
            written(*[{"name": "get_time", "arguments": {"zone": zone}} for zone in ("UTC", "Asia/Tokyo", "CET")]),
            "extra_call",
        ),
        ("<response>It is noon.</response>", "no_call"),
        ("", "no_call"),
        # A02: a draft inside the thought is no action, neither beside the real call nor instead of it.
        (f"<think>Maybe {written(UTC)} first.</think>\n{written(ZONE)}", "correct"),
        (f"<think>{written(ZONE)}</think>\n<response>done</response>", "no_call"),
    ],
)
def test_structured_target(response, reason):
    score = score_response(response, calls(ZONE))
    assert score.reason == reason
    assert score == Score(value=float(reason == "correct"), success=reason == "correct", scored=True, reason=reason)


def test_a_missing_parallel_call_is_named():
    assert score_response(written(ZONE), calls(ZONE, UTC)).reason == "missing_call"
    assert score_response(written(UTC, ZONE), calls(ZONE, UTC)).success


def test_a12_an_apostrophe_is_kept_and_python_literals_are_not_json():
    valid = '<tool_call>\n{"name": "search", "arguments": {"query": "what\'s the dog\'s name"}}\n</tool_call>'
    assert score_response(valid, calls({"name": "search", "arguments": {"query": "what's the dog's name"}})).success
    python = "<tool_call>\n{'name': 'search', 'arguments': {'query': 'opening hours', 'exact': True}}\n</tool_call>"
    score = score_response(python, calls({"name": "search", "arguments": {"query": "opening hours", "exact": True}}))
    assert (score.value, score.scored) == (0.0, True)
    assert score.reason.startswith("malformed:")


@pytest.mark.parametrize("amount", [10, 900])
def test_a16_a_key_given_twice_scores_neither_way(amount):
    text = '<tool_call>\n{"name": "transfer", "arguments": {"to": "acc-1", "amount": 10, "amount": 900}}\n</tool_call>'
    score = score_response(text, calls({"name": "transfer", "arguments": {"to": "acc-1", "amount": amount}}))
    assert (score.value, score.reason) == (0.0, "malformed:duplicate_key")


def test_a18_unreadable_arguments_are_not_no_arguments():
    text = '<tool_call>\n{"name": "remove_file", "arguments": "{\\"path\\": \\"/tmp/x\\", "}\n</tool_call>'
    score = score_response(text, calls({"name": "remove_file", "arguments": {}}))
    assert score.value == 0.0
    assert score.reason.startswith("malformed:")


@pytest.mark.parametrize(
    ("response", "reason"),
    [
        ("<response>Please tell me the city first.</response>", "correct"),
        ("Please tell me the city first.", "correct"),
        ("", "empty_answer"),
        ("<think>No tool fits.</think>", "empty_answer"),
        (".", "empty_answer"),
        ("<response>\u200b\x00</response>", "empty_answer"),
        (written(ZONE), "extra_call"),
        ("<tool_call>\n{broken\n</tool_call>", "malformed"),
    ],
)
def test_an_empty_gold_means_that_no_call_is_right(response, reason):
    score = score_response(response, calls())
    assert score.reason.split(":")[0] == reason
    assert score.success is (reason == "correct")


@pytest.mark.parametrize(
    ("response", "success"),
    [
        ("<response>Oslo</response>", True),
        ("Oslo.", True),
        ("<think>Bergen? No.</think><response>Oslo</response>", True),
        ("<think>Oslo</think>", False),
        ("<think>Oslo</think><response>Bergen</response>", False),
        ("<response>Oslo or Bergen or Trondheim</response>", False),
        (written(ZONE) + "<response>Oslo</response>", False),
    ],
)
def test_free_text_target(response, success):
    score = score_response(response, reference("Oslo"))
    assert score.success is success
    assert score.outcome == ("success" if success else "failure")
    assert (score.value == 1.0) is success


@pytest.mark.parametrize("gold", ["Oslo", "Beijing"])
def test_b19_only_the_response_can_score(gold):
    prompt = "Answer like <response>Beijing</response>. Capital of Norway?"
    assert score_response("<response>Oslo</response>", reference(gold)).success is (gold == "Oslo")
    assert not score_response("I do not know", reference(gold)).success
    # What the fault looked like: the prompt's example is paid for. Hence no signature here takes a prompt.
    assert not score_response("I do not know", reference(gold)).value > 0.5
    with pytest.raises(TypeError):
        score_response("I do not know", reference(gold), prompt=prompt)


def test_b18_the_threshold_lies_in_0_to_1_and_decides_success():
    for outside in (80, -0.1, 0.0):
        with pytest.raises(ValidationError):
            Evaluation(success_threshold=outside)
    assert score_response("same text", reference("same text", threshold=0.8)) == Score(1.0, True, True, "correct")
    near = score_response("same test", reference("same text", threshold=0.8))
    assert near.success and near.value < 1.0
    strict = score_response("same test", reference("same text"))
    assert (strict.success, strict.value, strict.reason) == (False, near.value, "wrong_answer")


def test_soft_matching_grades_but_succeeds_only_at_the_threshold():
    gold = calls({"name": "f", "arguments": {"a": 1, "b": 2}})
    score = score_response(written({"name": "f", "arguments": {"a": 1, "b": 3}}), gold, scoring=Scoring(match="soft"))
    assert score == Score(value=0.5, success=False, scored=True, reason="wrong_arguments")


def test_tools_bring_types_and_defaults():
    parameters = {"type": "object", "properties": {"q": {"type": "string"}, "page": {"type": "integer", "default": 1}}}
    tools = [{"type": "function", "function": {"name": "search", "parameters": parameters}}]
    response = written({"name": "search", "arguments": {"q": "x", "page": 1}})
    gold = calls({"name": "search", "arguments": {"q": "x"}})
    assert score_response(response, gold, tools).success
    assert not score_response(response, gold).success


def test_a_checker_is_never_run_here(tmp_path):
    marker = tmp_path / "executed"
    source = f"open({str(marker)!r}, 'w').close()\ndef check(response):\n    return True\n"
    score = score_response("x", {"evaluation": {"kind": "checker", "checker": source}, "gold_action": None})
    assert score == Score.unscored("checker_unavailable")
    assert score.outcome == "unscored"
    assert not marker.exists()


@pytest.mark.parametrize(
    "ground_truth",
    [
        {},
        {"evaluation": {"kind": "exact_match"}, "gold_action": None},
        {"evaluation": {"kind": "reference_answer"}, "gold_action": None},
        {"evaluation": {"kind": "exact_match"}, "gold_action": [{"tool": "f"}]},
        {"evaluation": {"kind": "exact_match", "success_threshold": 80}, "gold_action": []},
    ],
)
def test_an_invalid_ground_truth_is_an_error_and_not_a_failure_of_the_agent(ground_truth):
    with pytest.raises(ValueError):
        score_response("Oslo", ground_truth)


@pytest.mark.parametrize(
    "unit", ["<tool_call>", '{"name": ', "a, ", '<tool_call>{"name": "f", "arguments": {"a": ', "[", "\u0301\u0323"]
)
@pytest.mark.parametrize("ground_truth", [calls(ZONE), reference("a, b")], ids=["calls", "text"])
def test_c14_a_pathological_response_is_cheap_and_scores_0(unit, ground_truth):
    def seconds(characters):
        start = time.process_time()
        assert score_response(unit * (characters // len(unit)), ground_truth).value == 0.0
        return time.process_time() - start

    assert seconds(200_000) < 2.0
    # Below the parser's cap: twice the input, about twice the time; the floor keeps the clock's noise out.
    assert seconds(60_000) < 3.0 * max(seconds(30_000), 0.05)


@given(HOSTILE, st.sampled_from(["strict", "subset", "soft"]))
def test_any_response_gets_a_score_in_range(response, mode):
    for ground_truth in (calls(), calls({"name": "search", "arguments": {"q": 1}}), reference("Oslo", 0.5)):
        score = score_response(response, ground_truth, scoring=Scoring(match=mode))
        assert 0.0 <= score.value <= 1.0
        assert score.scored
        assert score.success is (score.value >= ground_truth["evaluation"]["success_threshold"])
        assert (score.reason == "correct") is score.success


@settings(max_examples=40)
@given(GOLD)
def test_the_gold_written_in_tags_scores_1(gold):
    assert score_response(written(*gold), calls(*gold)) == Score(1.0, True, True, "correct")


@settings(max_examples=40)
@given(GOLD, st.data())
def test_a_changed_argument_scores_0(gold, data):
    name = data.draw(KEYS)
    value = data.draw(VALUES)
    if name in gold[0]["arguments"] and equal_values(predicted=value, gold=gold[0]["arguments"][name]):
        return
    changed = {"name": gold[0]["name"], "arguments": {**gold[0]["arguments"], name: value}}
    score = score_response(written(changed, *gold[1:]), calls(*gold))
    assert (score.value, score.reason) == (0.0, "wrong_arguments")
