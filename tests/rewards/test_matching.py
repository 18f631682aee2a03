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
"""Structured half of R_agent: equality of JSON values and matching of calls."""

import itertools

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from genenv_verl.rewards.assignment import best_assignment
from genenv_verl.rewards.matching import (
    MAX_CALLS,
    MAX_DEPTH,
    equal_values,
    match_calls,
    mismatch_reason,
)
from genenv_verl.tasks.schema import ToolCall, ToolSpec

SCALARS = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text()
VALUES = st.recursive(
    SCALARS, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3), max_leaves=8
)
ARGUMENTS = st.dictionaries(st.text(max_size=5), VALUES, max_size=4)
CALLS = st.lists(st.builds(ToolCall, name=st.sampled_from(["search", "book"]), arguments=ARGUMENTS), max_size=4)


def call(name, **arguments):
    return ToolCall(name=name, arguments=arguments)


def tool(name, properties, required=()):
    parameters = {"type": "object", "properties": properties, "required": list(required)}
    return ToolSpec.model_validate({"type": "function", "function": {"name": name, "parameters": parameters}})


@pytest.mark.parametrize(
    ("predicted", "gold", "equal"),
    [
        (5, 5.0, True),
        (5.0, 5, True),
        (1, "1", False),
        ("1", 1, False),
        (True, 1, False),
        (1, True, False),
        (False, 0.0, False),
        (True, True, True),
        (None, None, True),
        (None, "", False),
        (None, False, False),
        ("Oslo", "oslo", False),
        (float("nan"), float("nan"), False),
        (9007199254740993, 9007199254740992.0, False),
        ([1, 2], [2, 1], False),
        ([1, 2], [1, 2.0], True),
        ([], {}, False),
        ({"a": 1, "b": [True]}, {"b": [True], "a": 1.0}, True),
        ({"a": 1}, {"a": 1, "b": None}, False),
        ({"a": [1]}, {"a": [True]}, False),
    ],
)
def test_values_are_compared_by_json_value(predicted, gold, equal):
    assert equal_values(predicted=predicted, gold=gold) is equal


def test_b01_int_for_number_but_not_float_for_integer():
    tools = [tool("scale", {"ratio": {"type": "number"}, "count": {"type": "integer"}, "on": {"type": "boolean"}})]
    gold = [call("scale", ratio=5.0, count=5, on=True)]
    predictions = [
        {"ratio": 5, "count": 5, "on": True},
        {"ratio": 5.0, "count": 5.0, "on": True},
        {"ratio": 5.0, "count": 5, "on": 1},
        {"ratio": "5.0", "count": 5, "on": True},
    ]
    verdicts = [match_calls(predicted=[call("scale", **p)], gold=gold, tools=tools) for p in predictions]
    assert verdicts == [1.0, 0.0, 0.0, 0.0]


def test_declared_integers_are_found_in_nested_schemas():
    schema = {
        "type": "object",
        "properties": {"ids": {"type": "array", "items": {"type": ["integer", "null"]}}, "x": {"type": "number"}},
    }
    gold = {"ids": [1, 2], "x": 1}
    assert equal_values(predicted={"ids": [1, 2], "x": 1.0}, gold=gold, schema=schema)
    assert not equal_values(predicted={"ids": [1, 2.0], "x": 1}, gold=gold, schema=schema)


@pytest.mark.parametrize(
    "schema", [[], "integer", {"type": {}}, {"properties": []}, {"items": 3}, {"properties": {"a": 1}}]
)
def test_a_malformed_schema_is_no_schema(schema):
    assert equal_values(predicted={"a": [1.0]}, gold={"a": [1]}, schema=schema)
    assert equal_values(predicted=[1.0], gold=[1], schema=schema)


def test_depth_is_bounded():
    def nested(depth):
        value = 1
        for _ in range(depth):
            value = [value]
        return value

    assert equal_values(predicted=nested(MAX_DEPTH), gold=nested(MAX_DEPTH))
    assert not equal_values(predicted=nested(MAX_DEPTH + 1), gold=nested(MAX_DEPTH + 1))
    assert not equal_values(predicted=nested(100_000), gold=nested(100_000))


@pytest.mark.parametrize("function", [equal_values, match_calls, mismatch_reason])
def test_b15_the_two_sides_go_by_keyword(function):
    with pytest.raises(TypeError):
        function([], [])
    function(predicted=[], gold=[])


def test_parallel_calls_are_a_multiset():
    a, b = call("lock", door="front"), call("lock", door="garage")
    assert match_calls(predicted=[b, a], gold=[a, b]) == 1.0
    assert match_calls(predicted=[a, a], gold=[a, b]) == 0.0
    assert match_calls(predicted=[a, a], gold=[a, a]) == 1.0
    assert match_calls(predicted=[a], gold=[a, a]) == 0.0


@pytest.mark.parametrize("mode", ["strict", "subset"])
def test_listing_many_calls_scores_nothing(mode):
    gold = [call("pick", card="7")]
    listed = [call("pick", card=str(number)) for number in range(10)]
    assert match_calls(predicted=listed, gold=gold, mode=mode) == 0.0


def test_extra_arguments_by_mode():
    gold, generous = [call("find", city="Oslo")], [call("find", city="Oslo", country="NO")]
    for mode in ("strict", "subset"):
        assert match_calls(predicted=generous, gold=gold, mode=mode) == 0.0
        assert match_calls(predicted=gold, gold=generous, mode=mode) == 0.0
    assert match_calls(predicted=generous, gold=gold, mode="soft") == 0.5


def test_subset_forgives_calls_of_other_tools_and_no_second_guess():
    gold = [call("book", city="Oslo"), call("pay", amount=5)]
    look_up, other_look_up = call("search", city="Oslo"), call("read", page=1)

    def subset(*predicted):
        return match_calls(predicted=predicted, gold=gold, mode="subset")

    assert subset(look_up, gold[1], gold[0]) == 1.0
    assert subset(look_up, gold[1], other_look_up, gold[0]) == 1.0
    assert subset(look_up, *gold, look_up, look_up) == 0.0  # More of them than the gold has.
    assert subset(*gold, call("book", city="Bergen")) == 0.0
    assert subset(*gold, gold[0]) == 0.0
    assert subset(look_up, gold[0]) == 0.0
    assert match_calls(predicted=[look_up, *gold], gold=gold) == 0.0


def test_soft_is_the_mean_share_lowered_by_every_extra_call():
    gold = [call("f", a=1, b=2), call("g", c=3)]
    half_right = [call("g", c=3), call("f", a=1, b=0)]
    assert match_calls(predicted=half_right, gold=gold, mode="soft") == pytest.approx((0.5 + 1.0) / 2)
    with_extra = [*half_right, call("f", a=1, b=2)]
    assert match_calls(predicted=with_extra, gold=gold, mode="soft") == pytest.approx((1.0 + 1.0) / 3)
    assert match_calls(predicted=[*half_right, *half_right], gold=gold, mode="soft") == pytest.approx(1.5 / 4)
    listed = [call("f", a=1, b=number) for number in range(5)]
    assert match_calls(predicted=listed, gold=gold, mode="soft") == 0.0
    assert match_calls(predicted=[call("h", a=1)], gold=gold, mode="soft") == 0.0
    assert match_calls(predicted=[], gold=gold, mode="soft") == 0.0
    assert match_calls(predicted=[call("f")], gold=[call("f")], mode="soft") == 1.0


def test_declared_defaults_may_be_given_or_left_out():
    tools = [tool("search", {"q": {"type": "string"}, "page": {"type": "integer", "default": 1}}, required=["q"])]
    short, long = [call("search", q="x")], [call("search", q="x", page=1)]
    assert match_calls(predicted=long, gold=short, tools=tools) == 1.0
    assert match_calls(predicted=short, gold=long, tools=tools) == 1.0
    assert match_calls(predicted=long, gold=short) == 0.0
    assert match_calls(predicted=[call("search", q="x", page=2)], gold=short, tools=tools) == 0.0
    assert match_calls(predicted=[call("search", q="x", page=1.0)], gold=short, tools=tools) == 0.0
    assert match_calls(predicted=[call("search", q="x", page=True)], gold=short, tools=tools) == 0.0
    assert match_calls(predicted=short, gold=[call("search", q="x", page=2)], tools=tools) == 0.0
    assert match_calls(predicted=long, gold=short, tools=tools, mode="soft") == 1.0
    # A default spelt out on both sides earns nothing.
    assert match_calls(predicted=[call("search", q="y", page=1)], gold=long, tools=tools, mode="soft") == 0.0


def test_a_default_of_a_required_argument_excuses_nothing():
    tools = [tool("search", {"page": {"type": "integer", "default": 1}}, required=["page"])]
    assert match_calls(predicted=[call("search")], gold=[call("search", page=1)], tools=tools) == 0.0


def test_no_call_is_right_where_the_gold_is_empty():
    assert match_calls(predicted=[], gold=[]) == 1.0
    for mode in ("strict", "subset", "soft"):
        assert match_calls(predicted=[call("f")], gold=[], mode=mode) == 0.0


def test_too_many_calls_score_nothing():
    many = [call("f", a=number) for number in range(MAX_CALLS + 1)]
    assert match_calls(predicted=many[:-1], gold=many[:-1]) == 1.0
    assert match_calls(predicted=many, gold=many) == 0.0


def test_an_unknown_mode_is_refused():
    with pytest.raises(ValueError, match="loose"):
        match_calls(predicted=[], gold=[], mode="loose")


@pytest.mark.parametrize(
    ("predicted", "reason"),
    [
        (["f"], "missing_call"),
        (["f", "g", "g"], "extra_call"),
        (["f", "h"], "wrong_tool"),
        (["f", "h", "h"], "wrong_tool"),
        (["g", "f"], "wrong_arguments"),
    ],
)
def test_mismatch_is_named(predicted, reason):
    gold = [call("f", a=1), call("g", a=1)]
    assert mismatch_reason(predicted=[call(name) for name in predicted], gold=gold) == reason


@settings(max_examples=40)
@given(CALLS, CALLS, st.sampled_from(["strict", "subset", "soft"]))
def test_score_is_in_range_and_the_gold_itself_earns_1(predicted, gold, mode):
    assert 0.0 <= match_calls(predicted=predicted, gold=gold, mode=mode) <= 1.0
    assert match_calls(predicted=list(reversed(gold)), gold=gold, mode=mode) == pytest.approx(1.0)


SCORES = st.tuples(st.integers(1, 4), st.integers(1, 4)).flatmap(
    lambda shape: st.lists(
        st.lists(st.sampled_from([0.0, 0.25, 0.5, 1.0]) | st.floats(0, 1), min_size=shape[1], max_size=shape[1]),
        min_size=shape[0],
        max_size=shape[0],
    )
)


@given(SCORES)
def testbest_assignment_is_the_best_of_all(scores):
    if len(scores) > len(scores[0]):
        scores = [list(column) for column in zip(*scores, strict=True)]
    orders = itertools.permutations(range(len(scores[0])), len(scores))
    best = max(sum(row[column] for row, column in zip(scores, order, strict=True)) for order in orders)
    assert best_assignment(scores) == pytest.approx(best)
    transposed = [list(column) for column in zip(*scores, strict=True)]
    assert best_assignment(transposed) == pytest.approx(best)


@settings(max_examples=40)
@given(CALLS, CALLS)
def test_modes_are_ordered(predicted, gold):
    strict = match_calls(predicted=predicted, gold=gold)
    assert (match_calls(predicted=predicted, gold=gold, mode="soft") == 1.0) is (strict == 1.0)
    assert strict <= match_calls(predicted=predicted, gold=gold, mode="subset")


@given(ARGUMENTS.filter(bool), st.data())
def test_any_changed_argument_scores_0(arguments, data):
    name = data.draw(st.sampled_from(sorted(arguments)))
    other = data.draw(VALUES.filter(lambda value: not equal_values(predicted=value, gold=arguments[name])))
    gold = [ToolCall(name="f", arguments=arguments)]
    changed = [ToolCall(name="f", arguments={**arguments, name: other})]
    dropped = [ToolCall(name="f", arguments={key: value for key, value in arguments.items() if key != name})]
    assert match_calls(predicted=changed, gold=gold) == 0.0
    assert match_calls(predicted=dropped, gold=gold) == 0.0


@given(VALUES, VALUES)
def test_equality_without_schema_is_symmetric_and_reflexive(one, other):
    assert equal_values(predicted=one, gold=one)
    assert equal_values(predicted=one, gold=other) == equal_values(predicted=other, gold=one)
