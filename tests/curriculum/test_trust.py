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
import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from genenv_verl.curriculum.trust import Trial, TrustLimits, at_least, chance_level, read_trial, weigh
from genenv_verl.tasks.schema import Task


def tool(name, **properties):
    return {"function": {"name": name, "parameters": {"type": "object", "properties": properties}}}


FLIGHT = [tool("keep_flight"), tool("cancel_flight"), tool("move_flight", day={"type": "string"})]


def call_task(name="move_flight", tools=FLIGHT, goal="Be in Oslo all of 3 May.", **arguments):
    gold = [{"name": name, "arguments": arguments}]
    return Task.model_validate({"task_id": "t", "context": {"goal": goal, "tools": tools}, "gold_action": gold})


def text_task(reference, goal="How many towns are there?"):
    evaluation = {"kind": "reference_answer", "reference": reference}
    return Task.model_validate({"task_id": "t", "context": {"goal": goal}, "evaluation": evaluation})


def said(name, **arguments):
    return f"<tool_call>\n{json.dumps({'name': name, 'arguments': arguments})}\n</tool_call>"


def trials(*answers):
    """``+`` is a success, ``-`` a failure without an answer, anything else a wrong answer."""
    return [Trial(answer == "+", None if answer in "+-" else answer) for answer in answers]


def flags(*answers, task=None, **limits):
    return set(weigh(task or call_task(day="3 May"), trials(*answers), TrustLimits(**limits)).flags)


def test_E12_attempts_that_agree_on_another_answer_doubt_the_gold():
    """A goal that contradicts itself: all take the same way out. The case calls the flag ``suspect_gold``."""
    task = call_task("keep_flight")
    read = [read_trial(task, said("cancel_flight"), False) for _ in range(8)]
    evidence = weigh(task, read)
    assert evidence.flags == ("suspected_wrong_gold",)
    assert (evidence.attempts, evidence.agreement, evidence.distinct_answers) == (8, 1.0, 1)
    assert "cancel_flight" in evidence.consensus


@pytest.mark.parametrize(
    ("answers", "expected"),
    [
        ("aaaaabcd", {"suspected_wrong_gold"}),
        ("aaaaab+c", {"suspected_wrong_gold"}),
        ("aaaabcd+", set()),  # half of them agree: too few
        ("aaaaa+++", set()),  # the gold was met too often
        ("aaa", {"suspected_wrong_gold"}),
        ("aa", set()),  # two attempts prove nothing
        ("aaaa----", {"unsolvable_for_now"}),  # answers that nobody can read agree with nobody
        ("abcdefgh", {"unsolvable_for_now"}),
        ("--------", {"unsolvable_for_now"}),
        ("++++aabb", {"ambiguous"}),
        ("++aabbcc", {"ambiguous"}),
        ("++++abcd", set()),  # mistakes of four kinds: hard, not unclear
        ("+aabbcde", set()),  # hardly ever the gold
        ("++aabb--", {"ambiguous"}),
        ("++++aaaa", set()),  # one mistake is no ambiguity
        ("++++----", set()),
        ("+++++++a", set()),
        ("++++++++", set()),
        ("", set()),
    ],
)
def test_flags_of_eight_attempts(answers, expected):
    assert flags(*answers) == expected


def test_limits_are_settings():
    assert flags(*"aaaabcde", agreement=0.5) == {"suspected_wrong_gold"}
    assert flags(*"aaaaa+++", max_success=0.4) == {"suspected_wrong_gold"}
    assert flags(*"++aabbcc", ambiguous_band=0.1) == set()


def test_answers_agree_by_meaning():
    tools = [tool("pay", n={"type": "number"}, to={"type": "string"}, note={"type": "string", "default": ""})]
    task = call_task("pay", tools, n=1, to="Ada")
    same = [said("pay", n=5, to="Bo"), said("pay", to="Bo", n=5.0), said("pay", n=5, to="Bo", note="")]
    assert len({read_trial(task, response, False).answer for response in same}) == 1
    other = [said("pay", n=5, to="Cy"), said("pay", n="5", to="Bo"), said("send", n=5), "Sorry.", "<tool_call>{"]
    answers = [read_trial(task, response, False).answer for response in other]
    assert answers[0] is not None and answers[1:] == [None] * 4  # broken schemas and no calls are no answers


def test_texts_agree_in_other_words_but_never_in_other_numbers():
    task = text_task("12")
    wordings = [
        "There are 14 towns in the county.",
        "there are 14 towns in this county",
        "There are 14 towns in county!",
    ]
    read = [read_trial(task, f"<think>12?</think><response>{text}</response>", False) for text in wordings]
    assert weigh(task, read).flags == ("suspected_wrong_gold",)
    read[0] = read_trial(task, "There are 15 towns in the county.", False)
    assert weigh(task, read).flags == ("unsolvable_for_now",)


def test_calls_may_contradict_a_gold_of_no_call():
    task = call_task("keep_flight").model_copy(update={"gold_action": []})
    read = [read_trial(task, said("keep_flight"), False) for _ in range(4)]
    assert weigh(task, read).flags == ("suspected_wrong_gold",)


SWITCH = tool("switch", light={"enum": ["red", "green", "blue"]}, on={"type": "boolean"})


@pytest.mark.parametrize(
    ("task", "chance"),
    [
        (text_task("Yes", "Is Oslo larger than Bergen?"), 1 / 2),
        (text_task("false.", "Is it true?"), 1 / 2),
        (text_task("B", "Which one?\nA) Oslo\nB) Bergen\nC) Hamar\nD) Moss"), 1 / 4),
        (text_task("Bergen", "Which one? (A) Oslo (B) Bergen (C) Hamar"), 1 / 3),
        (text_task("tea", "Does Ada drink tea or coffee?"), 1 / 2),
        (text_task("Oslo", "Which town is the capital?"), 0),
        (text_task("12"), 0),
        (call_task("keep_flight"), 1 / 3),
        (call_task("keep_flight", FLIGHT[:1]), 1),
        (call_task("move_flight", day="3 May"), 0),
        (call_task("switch", [SWITCH], light="red"), 1 / 3),
        (call_task("switch", [SWITCH, *FLIGHT], light="red", on=True), 1 / 24),
        (call_task().model_copy(update={"gold_action": []}), 1 / 2),
        (call_task("unknown"), 0),
    ],
)
def test_the_chance_level_is_read_off_the_answer_space(task, chance):
    assert chance_level(task) == pytest.approx(chance)
    assert weigh(task, []).chance_level == pytest.approx(chance)


@pytest.mark.parametrize(
    ("answers", "expected"),
    [("++++aaaa", {"lucky"}), ("+++++++a", set()), ("aaaaaaa+", {"suspected_wrong_gold", "lucky"})],
)
def test_a_success_that_guessing_explains_is_luck(answers, expected):
    assert flags(*answers, task=text_task("yes", "Is it?")) == expected


def test_the_binomial_tail():
    assert at_least(0, 8, 0.5) == 1.0
    assert at_least(8, 8, 0.5) == pytest.approx(2**-8)
    assert at_least(3, 4, 0.25) == pytest.approx(13 / 256)
    assert at_least(2, 5, 0.2) == pytest.approx(1.0 - 0.8**5 - 5 * 0.2 * 0.8**4)


@settings(max_examples=200, deadline=None)
@given(st.text() | st.binary().map(lambda raw: raw.decode("latin-1")), st.sampled_from(["call", "text", "none"]))
def test_no_response_raises(response, kind):
    task = {"call": call_task(day="x"), "text": text_task("x")}.get(kind) or call_task().model_copy(
        update={"gold_action": []}
    )
    weigh(task, [read_trial(task, response, False)] * 4)


def test_hostile_texts_cost_bounded_time():
    begun = time.process_time()
    goal = "-a" * 40_000 + " or " * 10_000 + "?"
    chance_level(text_task("x", goal))
    task = text_task("x")
    long = [read_trial(task, "ab c" * 10_000 + str(place), False) for place in range(16)]
    weigh(task, long)
    calls = "<tool_call>" + json.dumps({"name": "move_flight", "arguments": {"day": "x"}}) * 1_000
    for _ in range(8):
        read_trial(call_task(day="x"), calls, False)
    assert time.process_time() - begun < 3.0
