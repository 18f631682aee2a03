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
import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from genenv_verl.tasks.json_reader import (
    MAX_JSON_CHARS,
    MAX_JSON_DEPTH,
    JsonReadError,
    find_json_values,
    read_json,
    read_json_at,
    repair_json,
    replace_lone_surrogates,
    scan_json,
)

FEW = settings(max_examples=60, deadline=None)
PORTABLE_TEXT = st.text(st.characters(exclude_categories=["Cs"]))
JSON_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-(10**30), 10**30) | st.floats(allow_nan=False, allow_infinity=False)
    | PORTABLE_TEXT,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(PORTABLE_TEXT, inner, max_size=4),
    max_leaves=12,
)  # fmt: skip
JSON_LIKE = st.text(alphabet=st.sampled_from(list("{}[]\",:\\'n1 eE.-+tTNu\nd8\ud83d")), max_size=60)


def nested(depth: int) -> str:
    return "[" * depth + "]" * depth


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", "empty"),
        (" \n", "empty"),
        ('"' + "x" * MAX_JSON_CHARS + '"', "too_long"),
        (nested(MAX_JSON_DEPTH + 1), "too_deep"),
        ('{"a": 1, "a": 2}', "duplicate_key"),
        ('[{"a": {"b": 1, "b": 1}}]', "duplicate_key"),
        ("NaN", "not_a_number"),
        ('{"a": [-Infinity]}', "not_a_number"),
        ("1e999", "number_too_large"),
        ("[-1e999]", "number_too_large"),
        ("9" * 5000, "number_too_large"),
        ("{'a': 1}", "syntax"),
        ('{"a": 1,}', "syntax"),
        ("[1,]", "syntax"),
        ("[1 2]", "syntax"),
        ('{"a": 02115}', "syntax"),
        ('{"a": 1} {"b": 2}', "syntax"),
        ('{"a": "x\ny"}', "syntax"),
        ('{"a": 1', "syntax"),
        ('{"a": "half', "syntax"),
        ('{"a"}', "syntax"),
        ("]", "syntax"),
        (r'"\x"', "syntax"),
    ],
)
def test_a_refused_text_has_a_named_reason(text, reason):
    with pytest.raises(JsonReadError) as caught:
        read_json(text)
    assert caught.value.reason == reason


@FEW
@given(JSON_VALUES)
def test_reads_what_json_writes(value):
    assert read_json(json.dumps(value)) == value
    assert read_json(" " + json.dumps(value, ensure_ascii=False, indent=1) + "\n") == value


def test_reads_up_to_the_depth_cap():
    assert read_json(nested(MAX_JSON_DEPTH)) == json.loads(nested(MAX_JSON_DEPTH))


def test_many_brackets_side_by_side_are_not_deep():
    assert read_json(json.dumps([[{}]] * 500)) == [[{}]] * 500


@FEW
@given(JSON_LIKE)
def test_never_raises_anything_else_and_never_reads_what_json_refuses(text):
    try:
        value = read_json(text)
    except JsonReadError:
        return
    json.dumps(value, ensure_ascii=False).encode()
    json.loads(text)  # Raises if the strict reader took more than JSON.


@FEW
@given(JSON_LIKE)
def test_the_careful_way_reads_the_same(text):
    for start in range(len(text)):
        outcomes = []
        for careful in (False, True):
            try:
                outcomes.append(read_json_at(text, start, careful=careful))
            except JsonReadError as error:
                outcomes.append((error.reason, error.position))
        assert repr(outcomes[0]) == repr(outcomes[1])


@pytest.mark.parametrize("depth", [MAX_JSON_DEPTH + 1, 500, 2_000, 20_000])
@pytest.mark.parametrize("leaf", ["1", '"]"', '"é"', "é", ""])
def test_a_value_that_is_too_deep_ends_the_reading(depth, leaf):
    text = ' {"b": 2}' + "[" * depth + leaf + "]" * depth + ' {"a": 1}'
    assert [found.value or found.error.reason for found in scan_json(text)] == [{"b": 2}, "too_deep"]


def test_A21_surrogate_pairs_join_and_lone_halves_are_replaced():
    assert read_json(r'"caf\u00e9 \ud83d\ude00"') == "café 😀"
    assert read_json(r'{"\ud83d": ["\ud83d", "\ude00"]}') == {"�": ["�", "�"]}
    assert read_json('"\ud83d"') == "�"
    assert replace_lone_surrogates("a\ud83d\ude00b\ud83d") == "a😀b�"
    with pytest.raises(JsonReadError, match="duplicate_key"):
        read_json(r'{"\ud83d": 1, "\ud83e": 2}')


@pytest.mark.parametrize("text", ["[" * 100_000, '{"a": ' * 16_000, '[{"a": "' * 12_000, "{a" * 50_000, '"{' * 50_000])
def test_A26_degenerate_text_costs_little(text):
    start = time.process_time()
    with pytest.raises(JsonReadError):
        read_json(text)
    find_json_values(text, 10)
    with pytest.raises(JsonReadError):
        repair_json(text)
    assert time.process_time() - start < 2


@pytest.mark.parametrize(
    ("text", "values"),
    [
        ('Sure: {"a": {"b": "}"}} and [1, 2] done', [{"a": {"b": "}"}}, [1, 2]]),
        ('```json\n{"a": 1}\n```', [{"a": 1}]),
        ('Use { as an opener, then {"a": 1}', [{"a": 1}]),
        ('{"a": 1}{"b": 2}\n{"c": 3}', [{"a": 1}, {"b": 2}]),  # max_values is 2.
        ('{"outer": {"inner": 1}', []),  # Half an object has no top-level value in it.
        ('{"a": 1, "a": 2} {"b": 3}', [{"b": 3}]),
        ('{"text": "never closed {"b": 3}', []),
        ("no JSON here", []),
    ],
)
def test_finds_top_level_values_in_text(text, values):
    assert find_json_values(text, 2) == values


def test_finding_refuses_a_text_over_the_cap():
    with pytest.raises(JsonReadError, match="too_long"):
        find_json_values("x" * (MAX_JSON_CHARS + 1), 1)


@FEW
@given(st.lists(JSON_VALUES.filter(lambda value: isinstance(value, list | dict)), max_size=4))
def test_finds_every_value_that_prose_separates(values):
    text = "so: " + " then ".join(json.dumps(value) for value in values) + " end"
    assert find_json_values(text, 10) == values


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ('{"a": [1, 2,], }', {"a": [1, 2]}),
        ("{'a': True, 'b': None, 'c': False}", {"a": True, "b": None, "c": False}),
        ("""{'a': "it's", 'b': 'say "hi"', 'c': 'it\\'s'}""", {"a": "it's", "b": 'say "hi"', "c": "it's"}),
        ('{"code": "a = 1\nprint(a)\t"}', {"code": "a = 1\nprint(a)\t"}),
        ('{"a": "x, ]", "b": "True",}', {"a": "x, ]", "b": "True"}),
    ],
)
def test_repairs_almost_json(text, value):
    with pytest.raises(JsonReadError):
        read_json(text)
    assert repair_json(text) == value


@pytest.mark.parametrize(
    "text",
    [
        '{"a": 1',
        '{"a": "half',
        "{'a': 1",
        "{'a': 'it's'}",
        '{"a": 1, "a": 2}',
        "{'a': 1, 'a': 2}",
        '{"a": NaN}',
        "{'zip': 02115}",
        "(1, 2)",
        "{'a': f()}",
        "{'a': 1 + 1}",
        "[" * 100,
        "",
    ],
)
def test_repair_invents_nothing(text):
    with pytest.raises(JsonReadError):
        repair_json(text)


@FEW
@given(JSON_VALUES)
def test_repair_leaves_alone_what_parses(value):
    assert repair_json(json.dumps(value)) == value


@FEW
@given(JSON_LIKE)
def test_repair_never_raises_anything_else(text):
    try:
        json.dumps(repair_json(text), ensure_ascii=False).encode()
    except JsonReadError:
        pass


PYTHON_LITERALS = st.recursive(
    st.none() | st.booleans() | st.integers() | PORTABLE_TEXT.filter(str.isprintable),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from("abc'\""), inner, max_size=3),
    max_leaves=8,
)


@FEW
@given(PYTHON_LITERALS)
def test_repair_reads_python_literals(value):
    assert repair_json(repr(value)) == value
