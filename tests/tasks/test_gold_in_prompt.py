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

from genenv_verl.tasks.schema import Task
from genenv_verl.tasks.validity import Candidate, gold_is_not_in_the_prompt

ARGUMENTS = {"to": "acc-1", "amount": 10, "tags": ["a", "b"], "when": {"day": 3}}


def complaint(goal: str, gold=({"name": "pay", "arguments": ARGUMENTS},), **context) -> str | None:
    task = Task.model_validate({"task_id": "t", "context": {"goal": goal, **context}, "gold_action": list(gold)})
    seed = Task.model_validate({"task_id": "s", "context": {"goal": "Collect."}, "gold_action": []})
    return gold_is_not_in_the_prompt(Candidate(task, seed, limits=None))


REVERSED = dict(reversed(ARGUMENTS.items()))
SPELLED = [
    json.dumps({"name": "pay", "arguments": ARGUMENTS}),
    json.dumps({"parameters": REVERSED, "name": "pay"}, indent=4),
    json.dumps({"type": "function", "function": {"name": "pay", "arguments": json.dumps(REVERSED)}}),
    f"Do [{json.dumps({'name': 'pay', 'arguments': {**REVERSED, 'amount': 10.0}})}] now.",
    'pay(when={"day": 3}, tags=["a", "b"], to="acc-1", amount=10)',
    "First pay(1), then pay( to = 'acc-1', amount = 10, tags = ['a','b'], when = {'day': 3} )",
    str({"name": "pay", "arguments": ARGUMENTS}),
    'pay("acc-1", 10, ["a", "b"], {"day": 3})',
    "pay('acc-1', 10, tags=['a', 'b'], when={'day': 3})",
    json.dumps(json.dumps({"name": "pay", "arguments": ARGUMENTS})),
    str({"name": "pay", "arguments": ARGUMENTS}).replace("'", "’"),
    "pay(“acc-1”, 10, [“a”, “b”], {“day”: 3})",
]


@pytest.mark.parametrize("spelled", SPELLED)
def test_a_serialised_gold_is_found_wherever_the_agent_reads_it(spelled):
    assert "call of pay" in complaint(f"Pay. {spelled}")
    assert "call of pay" in complaint("Pay.", system=spelled)
    assert "call of pay" in complaint("Pay.", constraints=[spelled])
    assert "call of pay" in complaint("Pay.", history=[{"role": "tool", "content": spelled}])


def tool(description: str) -> dict:
    function = {"name": "pay", "description": "Pays.", "parameters": {"type": "object", "properties": {"to": {}}}}
    function["parameters"]["properties"]["to"] = {"type": "string", "description": description}
    return {"type": "function", "function": function}


def test_a_tool_that_the_environment_wrote_must_not_spell_the_gold():
    spelled = 'For example pay(to="acc-1", amount=10, tags=["a", "b"], when={"day": 3}).'
    assert "call of pay" in complaint("Pay.", tools=[tool(spelled)])
    assert complaint("Pay.", tools=[tool("The account.")]) is None
    # what stands in the seed's own specification is the user's
    context = {"goal": "Pay.", "tools": [tool(spelled)]}
    task = Task.model_validate(
        {"task_id": "t", "context": context, "gold_action": [{"name": "pay", "arguments": ARGUMENTS}]}
    )
    assert gold_is_not_in_the_prompt(Candidate(task, task, limits=None)) is None


@pytest.mark.parametrize("spelled", [json.dumps(ARGUMENTS), json.dumps(REVERSED), str(ARGUMENTS)])
def test_bare_arguments_give_the_gold_away_but_in_a_result(spelled):
    assert "arguments of pay" in complaint(f"Pay with {spelled}.")
    assert "arguments of pay" in complaint("Pay.", system=spelled)
    assert "arguments of pay" in complaint("Pay.", constraints=[spelled])
    assert complaint("Pay.", history=[{"role": "tool", "content": spelled}]) is None


@pytest.mark.parametrize(
    "goal",
    [
        "Pay 10 to acc-1 with the tags a and b on day 3.",
        'Call pay with to="acc-1", please (amount 10).',
        json.dumps({"name": "pay", "arguments": {**ARGUMENTS, "amount": 11}}),
        json.dumps({"name": "collect", "arguments": "see below"}),
        'pay(to="acc-1", amount=10)',
        'pay("acc-1", 10)',
        'pay("acc-1", 10, ["a", "b"], {"day": 4})',
        "pay(",
        "{" * 500,
    ],
)
def test_what_only_mentions_the_values_is_fair(goal):
    assert complaint(goal) is None


HOSTILE = ["{" * 100_000, '{"a":' * 20_000, "pay(" * 25_000, "pay(" + ")" * 100_000, '{"name": "pay"} ' * 6_000]


BOOKING = {"name": "book_room", "arguments": {"city": "New York", "nights": 3, "quiet": True}}


@pytest.mark.parametrize(
    "goal",
    [
        "<function=book_room><parameter=city>New York</parameter><parameter=nights>3</parameter>"
        "<parameter=quiet>true</parameter></function>",
        "name: book_room\narguments:\n  city: New York\n  nights: 3\n  quiet: true",
        'Use book_room with nights = 3, city = "New York" and quiet = True.',
        "Call `book_room` (city → New York; nights → 3; quiet → true).",
    ],
)
def test_a_tool_named_with_every_argument_beside_its_value_is_found_in_any_notation(goal):
    assert "call of book_room" in complaint(goal, [BOOKING])
    assert "call of book_room" in complaint("Do it.", [BOOKING], system=goal)
    assert complaint(goal.replace("book_room", "a tool"), [BOOKING]) is None
    assert complaint(goal.replace("3", "30"), [BOOKING]) is None
    assert complaint(goal.replace("city", "place"), [BOOKING]) is None


def test_a_tool_named_by_an_ordinary_word_may_stand_beside_values():
    goal = "Book a room and tell me the price. City: Oslo, nights: 3."
    assert complaint(goal, [{"name": "book", "arguments": {"city": "Oslo", "nights": 3}}]) is None


def test_the_seeds_own_system_text_and_constraints_may_describe_the_tool():
    context = {"goal": "Warm it up.", "system": "set_mode (mode: eco | sport).", "constraints": ["set_mode, mode eco"]}
    call = [{"name": "set_mode", "arguments": {"mode": "eco"}}]
    task = Task.model_validate({"task_id": "t", "context": context, "gold_action": call})
    assert gold_is_not_in_the_prompt(Candidate(task, task, limits=None)) is None
    assert "call of set_mode" in complaint(**context, gold=call)


def test_many_values_beside_their_names_cost_little():
    calls = [{"name": "pay_it", "arguments": {f"k{n}_{m}": n for n in range(100)}} for m in range(20)]
    told = " ".join(f"k{n}_{m} {n}" for m in range(20) for n in range(99))
    started = time.process_time()
    assert complaint(f"pay_it {'k ' * 40_000} {told}", calls) is None
    assert time.process_time() - started < 2.0


def test_many_calls_with_many_arguments_cost_little():
    arguments = {f"{'k' * 40}{n}": "v" * 34 + str(n) for n in range(60)}
    key = "k" * 40
    for hostile in ("pay(" * 1_000 + ")" * 4_000, "pay()" * 20_000, f"pay({key}" * 2_000):
        started = time.process_time()
        assert complaint(hostile, gold("pay", **arguments)) is None
        assert complaint("Pay.", gold("pay", **arguments), constraints=[hostile[:160]] * 500) is None
        assert time.process_time() - started < 2.0


@pytest.mark.parametrize("hostile", HOSTILE)
def test_hostile_texts_cost_little(hostile):
    started = time.process_time()
    assert complaint(hostile) is None
    assert time.process_time() - started < 3.0


def gold(name: str, **arguments) -> list[dict]:
    return [{"name": name, "arguments": arguments}]


@pytest.mark.parametrize(
    ("goal", "calls"),
    [
        ("Not add(12, 3).", gold("add", a=1, b=12)),
        ("What is sqrt(16)?", gold("sqrt", x=16)),
        ("gcd(12, 18) is 6. What of 12 and 12?", gold("gcd", a=12, b=12)),
        ("Go to move('b', 'a') first.", gold("move", start="a", end="b")),
        ("arcsin(x=1)", gold("sin", x=1)),
        ("book('a', 'b')", gold("book", first="b", second="b")),
        ('Reply with {"on": true} or {"on": false}.', gold("light", on=True)),
        ("Write light(on=True) or light(on=False).", gold("light", on=True)),
    ],
)
def test_calls_that_are_like_the_gold_are_fair(goal, calls):
    assert complaint(goal, calls) is None
    assert complaint("Go.", calls, constraints=[goal]) is None


@pytest.mark.parametrize(
    ("goal", "calls"),
    [
        ("pay(user_id=7, id=3)", gold("pay", id=3, user_id=7)),
        ('pay(data="x", a=2)', gold("pay", a=2, data="x")),
        ('find(q="id=5", id=3)', gold("find", id=3, q="id=5")),
        ("now()", gold("now")),
        ("Call check_None(a=1).", gold("check_None", a=1)),
        ("go( 'New  York' , days = 2 )", gold("go", city="New York", days=2)),
    ],
)
def test_a_spelled_gold_is_found_whatever_its_keys_are(goal, calls):
    assert complaint(goal, calls) is not None


def test_python_words_are_those_of_json():
    gold = [{"name": "w", "arguments": {"city": "Trondheim", "days": 5, "wind": True}}]
    assert complaint("Weather: w('Trondheim', 5, True)", gold) is not None
    assert complaint("Weather: w('Trondheim', 5, False)", gold) is None
