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
import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from genenv_verl.rewards.matching import match_calls
from genenv_verl.tasks.answer_keys import calls_key, text_key
from genenv_verl.tasks.corruption import corrupt_calls, corrupt_text, generator_of
from genenv_verl.tasks.schema import Task, ToolCall, ToolSpec


def tool(name, required=(), **properties):
    parameters = {"type": "object", "properties": properties, "required": list(required)}
    return ToolSpec.model_validate({"function": {"name": name, "parameters": parameters}})


BOOK = tool(
    "book",
    ["city", "nights"],
    city={"type": "string"},
    nights={"type": "integer"},
    stops={"type": "array", "items": {"type": "string"}},
    tags={"type": "array", "items": {"type": "string"}, "uniqueItems": True},
    board={"type": "string", "enum": ["none", "half", "full"]},
    pets={"type": "boolean", "default": False},
)
CANCEL = tool("cancel", city={"type": "string"})
TOOLS = [BOOK, CANCEL]


def book(**arguments):
    return ToolCall(name="book", arguments=arguments)


def kinds(calls, tools=TOOLS, seed=0):
    found = {}
    for kind, corrupted in corrupt_calls(calls, tools, random.Random(seed)):
        found.setdefault(kind, []).append(corrupted)
    return found


def test_every_kind_of_corruption_comes():
    gold = [book(city="Oslo", nights=3, stops=["a", "b"], board="half"), ToolCall(name="cancel", arguments={})]
    found = kinds(gold)
    assert set(found) == {
        "wrong_tool", "missing_call", "extra_call", "emptied", "missing_argument", "extra_argument",
        "changed_argument", "changed_type", "reordered",
    }  # fmt: skip
    assert len(found["changed_argument"]) == 4  # one for every argument: none can be overlooked
    assert found["reordered"] == [[book(city="Oslo", nights=3, stops=["b", "a"], board="half"), gold[1]]]
    assert {calls[0].name for calls in found["wrong_tool"]} == {"cancel", "book"}
    board = [calls[0].arguments["board"] for calls in found["changed_argument"]]
    assert set(board) & {"none", "full"}  # stays within the enumeration


def test_what_means_the_same_is_no_corruption():
    found = kinds([book(city="Oslo", nights=3, pets=False, tags=["x", "y"])])
    assert all("pets" in calls[0].arguments for calls in found["missing_argument"])  # a spelled-out default
    assert "reordered" not in found  # a set has no order
    assert "missing_argument" not in kinds([book(city="Oslo")])  # it is "emptied"


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
    max_leaves=6,
)
NAMES = st.sampled_from(["city", "nights", "stops", "tags", "board", "pets", "marble", "other"])
CALLS = st.lists(
    st.builds(ToolCall, name=st.sampled_from(["book", "cancel", "unknown"]), arguments=st.dictionaries(NAMES, VALUES)),
    min_size=1,
    max_size=3,
)


@settings(max_examples=60, deadline=None)
@given(CALLS, st.integers(0, 3))
def test_no_corruption_matches_its_gold(gold, seed):
    for kind, calls in corrupt_calls(gold, TOOLS, random.Random(seed)):
        assert match_calls(predicted=calls, gold=gold, tools=TOOLS) == 0.0, kind
        assert calls_key(calls, TOOLS) != calls_key(gold, TOOLS), kind


@settings(max_examples=60, deadline=None)
@given(st.text(max_size=60), st.integers(0, 3))
def test_no_corrupted_text_says_what_the_text_says(text, seed):
    for kind, changed in corrupt_text(text, random.Random(seed)):
        assert changed != text, kind


def test_the_longest_number_that_json_reads_can_be_changed():
    found = kinds([book(city="Oslo", nights=10**4300 - 1)])  # one more would have a digit that Python does not write
    assert all(json.dumps(calls[0].arguments) for calls in found["changed_argument"])


def test_texts_are_corrupted_at_their_numbers_and_words():
    found = dict(corrupt_text("mix 30 g flour -> bake 12 min", random.Random(0)))
    assert set(found) == {"changed_number", "changed_word", "changed_words", "extra", "reordered"}
    assert found["reordered"] == "bake 12 min -> mix 30 g flour"
    assert found["extra"].startswith("mix 30 g flour -> bake 12 min or ")
    numbers = [text for kind, text in corrupt_text("from 10 to 25", random.Random(0)) if kind == "changed_number"]
    assert len(numbers) == 2 and "from 10 to 25" not in numbers


def test_a_tasks_corruptions_depend_on_its_id_alone():
    task = {"context": {"goal": "g", "tools": [t.model_dump() for t in TOOLS]}}
    gold = [{"name": "book", "arguments": {"city": "Oslo", "nights": 3, "board": "half"}}]
    first, again, other = (
        Task.model_validate({**task, "task_id": name, "gold_action": gold}) for name in ("a", "a", "b")
    )
    drawn = [json.dumps(str(corrupt_calls(t.gold_action, TOOLS, generator_of(t)))) for t in (first, again, other)]
    assert drawn[0] == drawn[1] != drawn[2]


@pytest.mark.parametrize(
    ("one", "other", "equal"),
    [
        ([book(nights=3)], [book(nights=3)], True),
        ([book(nights=3)], [book(nights="3")], False),
        ([book(nights=1)], [book(nights=True)], False),
        ([book(city="a", nights=1)], [book(nights=1, city="a")], True),
        ([book(city="a")], [book(city="a", pets=False)], True),
        ([book(city="a")], [book(city="a", pets=True)], False),
        ([book(city="a"), book(city="b")], [book(city="b"), book(city="a")], True),
        ([book(city="a"), book(city="a")], [book(city="a")], False),
    ],
)
def test_keys_of_calls_are_equal_when_the_calls_match(one, other, equal):
    assert (calls_key(one, TOOLS) == calls_key(other, TOOLS)) is equal
    assert (match_calls(predicted=one, gold=other, tools=TOOLS) == 1.0) is equal


def test_numbers_have_one_key_by_value():
    assert calls_key([book(nights=[3.0])]) == calls_key([book(nights=[3])])


@pytest.mark.parametrize(
    ("one", "other", "equal"),
    [
        ("Rome.", " rome", True),
        ("1,200", "1200.0", True),
        ("“Rome”", "rome", True),
        ("12 km", "13 km", False),
        ("-5", "5", False),
        ("", "...", True),
        ("1e9999999", "1e9999999", True),
    ],
)
def test_keys_of_texts(one, other, equal):
    assert (text_key(one) == text_key(other)) is equal
