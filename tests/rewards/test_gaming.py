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
"""Gaming attempts score 0 whatever the measure and however low the threshold."""

import json
import time

import pytest

from genenv_verl.rewards.agent_reward import Score, Scoring, score_response
from genenv_verl.rewards.gaming import MAX_EXTRA_WORDS, gaming_reason

GOAL = "Which city is the capital of Norway?"
TOOLS = [
    {
        "type": "function",
        "function": {
            "name": name,
            "description": f"Gives the {name} of a place.",
            "parameters": {"type": "object", "properties": {"city": {"type": "string"}}},
        },
    }
    for name in ("weather", "population")
]


def score(response, reference="Oslo", goal=GOAL, text="ratio", threshold=0.3):
    evaluation = {"kind": "reference_answer", "reference": reference, "success_threshold": threshold}
    truth = {"evaluation": evaluation, "gold_action": None, "goal": goal}
    return score_response(response, truth, TOOLS, scoring=Scoring(text=text))


TRICKS = [
    ("Paris or Oslo or Rome", "many_answers"),
    ("Oslo or Bergen", "many_answers"),
    ("either Oslo, or Bergen", "many_answers"),
    ("Oslo/Bergen", "many_answers"),
    ("Oslo | Bergen", "many_answers"),
    ("Bergen; Oslo", "many_answers"),
    ("Bergen, Oslo, Rome", "many_answers"),
    ("Bergen, Oslo and Rome", "many_answers"),
    ("Bergen\nOslo", "many_answers"),
    ("<response>Bergen</response><response>Oslo</response>", "many_answers"),
    ("1. Bergen 2. Oslo 3. Rome", "many_answers"),
    ("- Bergen\n- Oslo\n- Rome", "many_answers"),
    ("It could be Bergen, it could be Oslo, it could be Rome.", "many_answers"),
    ("Oslo " * 40, "answer_too_long"),
    ("Norway is a long country in the north. " * 6 + "Its capital is Oslo", "answer_too_long"),
    (GOAL, "echoes_goal"),
    (GOAL.upper(), "echoes_goal"),
    (f"You asked: {GOAL}", "echoes_goal"),
    (f"{GOAL} Oslo", "echoes_goal"),
    ("the capital of Norway", "echoes_goal"),
    ("weather, population", "lists_tools"),
    ("Tools: weather(city: string), population(city: string)", "lists_tools"),
    ("<think>Oslo</think>", "empty_answer"),
    ("<think>Oslo", "empty_answer"),
    ("Oslo</think>", "empty_answer"),
    ("<thinking>Oslo</thinking>", "empty_answer"),
    ("<think>a<think>b</think>Oslo</think>", "empty_answer"),
    (json.dumps(TOOLS), "malformed:tool_specification"),
    ("```json\n" + json.dumps(TOOLS) + "\n```", "malformed:tool_specification"),
]


@pytest.mark.parametrize("text", ["ratio", "token_f1", "exact"])
@pytest.mark.parametrize(("response", "reason"), TRICKS)
def test_a_trick_scores_0_and_is_named(response, reason, text):
    assert score(response, text=text) == Score(0.0, False, True, reason)


@pytest.mark.parametrize("response", ["<think>Bergen? No.</think>Oslo", "oslo.", "<response>**Oslo**</response>"])
def test_the_answer_itself_is_no_trick(response):
    assert score(response).reason == "correct"


@pytest.mark.parametrize(
    ("response", "reference", "goal"),
    [
        ("Tom and Jerry", "Tom and Jerry", "Who?"),
        ("yes or no", "yes or no", "Complete: ..."),
        ("a / b", "a / b", "a / b"),  # The reference is the goal: a poor task, and no trick of the agent.
        ("red, green, blue", "red, green, blue", "Name the colours"),
    ],
)
def test_an_answer_equal_to_its_reference_is_never_a_trick(response, reference, goal):
    assert score(response, reference, goal).reason == "correct"


@pytest.mark.parametrize(
    ("answer", "reference"),
    [
        ("Oslo, in Norway", "Oslo"),
        ("The capital is Oslo.", "Oslo"),
        ("The capital of that country is:\nOslo", "Oslo"),
        ("blue, green and red", "red, green and blue"),
        ("the weather is fine", "the weather is good"),
    ],
)
def test_another_wording_is_no_trick(answer, reference):
    assert gaming_reason(answer=answer, reference=reference, goal="Say it.", tools=()) is None
    assert 0.0 < score(answer, reference, "Say it.").value < 1.0


def test_a_list_that_contains_the_list_of_the_reference():
    assert score("red, green, blue, yellow", "red, green, blue").reason == "many_answers"
    assert score("Tom or Jerry or Max", "Tom or Jerry").reason == "many_answers"


def test_the_length_limit_grows_with_the_reference():
    reference = "one two three four"
    for words, trick in ((12 + MAX_EXTRA_WORDS, None), (13 + MAX_EXTRA_WORDS, "answer_too_long")):
        assert gaming_reason(answer="so " * words, reference=reference, goal="", tools=()) == trick


@pytest.mark.parametrize(
    ("response", "reason"),
    [
        ("I cannot book flights: I only have weather and population.", "correct"),
        (GOAL, "echoes_goal"),
        ("weather, population", "lists_tools"),
        (json.dumps(TOOLS), "malformed:tool_specification"),
        ("[weather(city='Oslo')]", "extra_call"),
        ("```python\nweather(city='Oslo')\n```", "extra_call"),
        ("<response>weather(city='Oslo'), population(city='Oslo')</response>", "extra_call"),
        ('<|python_tag|>{"name": "weather", "parameters": {"city": "Oslo"}}', "extra_call"),
        ('Sure! {"name": "weather", "arguments": {"city": "Oslo"}}', "extra_call"),
        ('<response>{"name": "weather", "arguments": {"city": "Oslo"}}</response>', "extra_call"),
        ('{"tool_calls": [{"function": {"name": "weather", "arguments": "{}"}}]}', "extra_call"),
        ("I could call weather(city), but that books no flight.", "correct"),
        ('No tool books flights. Your order as JSON: {"name": "Ada", "arguments": {"to": "Oslo"}}', "correct"),
    ],
)
def test_where_any_words_are_right_a_repetition_of_the_task_is_not(response, reason):
    truth = {"evaluation": {"kind": "exact_match"}, "gold_action": [], "goal": GOAL}
    assert score_response(response, truth, TOOLS).reason == reason


@pytest.mark.parametrize("mode", ["strict", "subset", "soft"])
def test_tricks_with_calls(mode):
    call = {"name": "weather", "arguments": {"city": "Oslo"}}
    truth = {"evaluation": {"kind": "exact_match"}, "gold_action": [call], "goal": GOAL}
    listed = [{"name": "weather", "arguments": {"city": city}} for city in ("Bergen", "Oslo", "Rome", "Paris")]

    def value(response):
        return score_response(response, truth, TOOLS, scoring=Scoring(match=mode)).value

    block = "<tool_call>\n{}\n</tool_call>"
    assert value(block.format(json.dumps(call))) == 1.0
    for trick in (
        block.format("\n".join(map(json.dumps, listed))),
        "".join(block.format(json.dumps(one)) for one in listed),
        json.dumps(listed),
        block.format(json.dumps(TOOLS)),
        block.format(json.dumps(TOOLS[0]["function"])),
        json.dumps(TOOLS),
        GOAL,
        f"<think>{block.format(json.dumps(call))}</think>",
        f"<thinking>{block.format(json.dumps(call))}</thinking>",
        f"<think>{block.format(json.dumps(call))}",
        f"{block.format(json.dumps(call))}</think>",
    ):
        assert value(trick) == 0.0, trick


@pytest.mark.parametrize("unit", ["or ", "1. ", "a, ", "/", "\n", "Oslo ", "Which ", "weather population ", "\u0301"])
def test_hostile_answers_cost_little(unit):
    start = time.process_time()
    score(unit * (16_000 // len(unit)), goal="Which city or country " * 700)
    assert time.process_time() - start < 1.0
