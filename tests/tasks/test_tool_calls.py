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
import string
import time
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from genenv_verl.tasks.schema import ToolCall
from genenv_verl.tasks.tool_calls import CallError, format_calls, parse_response, read_calls

FEW = settings(max_examples=60, deadline=None)
BOTH = pytest.mark.parametrize("mode", ["strict", "lenient"])


def block(body: str) -> str:
    return f"<tool_call>\n{body}\n</tool_call>"


def call(name: str, **arguments: Any) -> ToolCall:
    return ToolCall(name=name, arguments=arguments)


def read(text: str, mode: str = "strict") -> list[ToolCall]:
    parsed = parse_response(text, mode)
    assert (parsed.status, parsed.reason, parsed.repaired) == ("ok", None, False)
    return list(parsed.calls)


def failure(text: str, mode: str = "strict") -> str | None:
    parsed = parse_response(text, mode)
    assert parsed.status == "malformed"
    assert parsed.calls == ()
    return parsed.reason


@BOTH
def test_A01_a_closing_tag_within_a_string_ends_nothing(mode):
    text = block('{"name": "save_note", "arguments": {"title": "tags", "body": "then write </tool_call> and stop"}}')
    assert read(text, mode) == [call("save_note", title="tags", body="then write </tool_call> and stop")]


@BOTH
def test_A02_a_draft_in_the_thought_is_no_call(mode):
    draft = '<think>Maybe <tool_call>{"name": "get_time", "arguments": {"zone": "UTC"}}</tool_call> first.</think>\n'
    text = draft + block('{"name": "get_time", "arguments": {"zone": "Asia/Tokyo"}}')
    assert read(text, mode) == [call("get_time", zone="Asia/Tokyo")]


@BOTH
def test_A02_thoughts_that_the_template_opened_or_the_limit_cut(mode):
    draft, final = block('{"name": "a", "arguments": {}}'), block('{"name": "b", "arguments": {}}')
    assert read(f"hm, {draft} or\n</think>\n{final}", mode) == [call("b")]
    assert read(f"<think>one</think>{final}<think>{draft}", mode) == [call("b")]
    assert read(f"<tool_call>{{broken</think>{final}", mode) == [call("b")]
    assert parse_response(f"<think>{draft}", mode).status == "no_call"
    assert parse_response("hm <response>draft</response></think><response>final</response>").text == "final"


@BOTH
def test_A03_prose_about_tags_is_no_call(mode):
    thought = "<think>Some models emit <function=...>, others <tool_call>. No tool is needed here.</think>\n"
    parsed = parse_response(thought + "<response>It is five o'clock.</response>", mode)
    assert (parsed.status, parsed.calls, parsed.text) == ("no_call", (), "It is five o'clock.")
    parsed = parse_response("Others write <tool_call> and </tool_call> around it.", mode)
    assert (parsed.status, parsed.reason) == ("no_call", None)


@BOTH
def test_A04_an_object_without_its_end_is_malformed(mode):
    assert failure('<tool_call>{"name": "list_dir", "arguments": {"path": "/srv"}</tool_call>', mode) == "syntax"


@BOTH
def test_A05_a_complete_call_needs_no_closing_tag(mode):
    whole = '<tool_call>\n{"name": "add_item", "arguments": {"sku": "B-7", "qty": 2}}'
    assert read(whole, mode) == [call("add_item", sku="B-7", qty=2)]
    assert read(whole + "\n</tool_c", mode) == [call("add_item", sku="B-7", qty=2)]
    assert failure(whole[:-2], mode) == "syntax"


@BOTH
def test_A06_several_calls(mode):
    one = '{"name": "lock_door", "arguments": {"door": "front"}}'
    two = '{"name": "lock_door", "arguments": {"door": "garage"}}'
    expected = [call("lock_door", door="front"), call("lock_door", door="garage")]
    for text in (
        block(f"{one}\n{two}"),
        block(f"[{one}, {two}]"),
        block(one) + "\n" + block(two),
        f"<tool_call>{one}<tool_call>{two}",
        f"<tool_call>\n{block(one)}\n{block(two)}\n</tool_call>",
        f"[{one}, {two}]",
        f"{one}\n{two}",
        f"Both:\n```json\n{one}\n```\n```\n{two}\n```",
        block(f"```json\n{one}\n{two}\n```"),
    ):
        assert read(text, mode) == expected, text


@BOTH
def test_A11_strings_stay_strings(mode):
    arguments = '{"command": "true", "label": "null", "note": " None ", "flag": false}'
    expected = call("run", command="true", label="null", note=" None ", flag=False)
    assert read(block(f'{{"name": "run", "arguments": {arguments}}}'), mode) == [expected]


def test_A12_repair_touches_only_what_does_not_parse():
    valid = block('{"name": "search", "arguments": {"query": "what\'s the dog\'s name"}}')
    assert read(valid) == read(valid, "lenient") == [call("search", query="what's the dog's name")]
    python = block("{'name': 'search', 'arguments': {'query': 'opening hours', 'exact': True, 'page': None}}")
    assert failure(python) == "syntax"
    parsed = parse_response(python, "lenient")
    assert (parsed.status, parsed.repaired) == ("ok", True)
    assert list(parsed.calls) == [call("search", query="opening hours", exact=True, page=None)]


@BOTH
def test_A13_constants_in_a_list_of_objects(mode):
    tasks = '[{"id": 1, "done": true, "due": null}, {"id": 2, "done": false, "due": "Fri"}]'
    expected = [{"id": 1, "done": True, "due": None}, {"id": 2, "done": False, "due": "Fri"}]
    assert read(block(f'{{"name": "set_tasks", "arguments": {{"tasks": {tasks}}}}}'), mode) == [
        call("set_tasks", tasks=expected)
    ]


@BOTH
def test_A16_duplicate_keys_are_refused(mode):
    text = block('{"name": "transfer", "arguments": {"to": "acc-1", "amount": 10, "amount": 900}}')
    assert failure(text, mode) == "duplicate_key"
    inner = json.dumps('{"amount": 10, "amount": 900}')
    assert failure(block(f'{{"name": "transfer", "arguments": {inner}}}'), mode) == "arguments_not_json"


@BOTH
@pytest.mark.parametrize(
    "rest", [', "arguments": null', ', "arguments": ""', ', "arguments": " "', "", ', "arguments": {}']
)
def test_A17_a_call_without_arguments(rest, mode):
    assert read(block(f'{{"name": "list_cards"{rest}}}'), mode) == [call("list_cards")]


@BOTH
def test_A18_broken_arguments_are_not_empty_arguments(mode):
    text = block('{"name": "remove_file", "arguments": "{\\"path\\": \\"/tmp/x\\", "}')
    assert failure(text, mode) == "arguments_not_json"


@BOTH
def test_A21_surrogates(mode):
    template = '{{"name": "say", "arguments": {{"text": "{}"}}}}'
    assert read(block(template.format(r"caf\u00e9 \ud83d\ude00")), mode) == [call("say", text="café 😀")]
    assert read(block(template.format(r"\ud83d")), mode) == [call("say", text="�")]
    assert failure('<tool_call>\n{"name": "say", "arguments": {"text": "\\ud8', mode) == "syntax"
    parse_response("plain \ud83d text", mode).text.encode()


def test_A22_newlines_in_code():
    template = '{{"name": "python", "arguments": {{"code": "a = 1{}print(a)"}}}}'
    expected = [call("python", code="a = 1\nprint(a)")]
    assert read(block(template.format("\\n"))) == expected
    raw = block(template.format("\n"))
    assert failure(raw) == "syntax"
    parsed = parse_response(raw, "lenient")
    assert (list(parsed.calls), parsed.repaired) == (expected, True)


def test_A24_nested_objects_and_text_behind_the_call():
    body = '{"name": "filter", "arguments": {"where": {"age": {"gt": 30}}, "tpl": "a}b{c"}}'
    expected = [call("filter", where={"age": {"gt": 30}}, tpl="a}b{c")]
    assert read(f"<tool_call>{body}</tool_call> Thanks!") == expected
    assert failure(f"<tool_call>{body} Thanks!</tool_call>") == "text_after_call"
    assert read(f"<tool_call>{body} Thanks!</tool_call>", "lenient") == expected
    assert failure(f"{body} Thanks!") == "text_after_call"


@BOTH
def test_A25_leading_zeros(mode):
    text = block('{"name": "ship", "arguments": {"zip": "02115", "phone": "0049123"}}')
    assert read(text, mode) == [call("ship", zip="02115", phone="0049123")]
    assert failure(block('{"name": "ship", "arguments": {"zip": 02115}}'), mode) == "syntax"


@BOTH
@pytest.mark.parametrize(
    "text",
    [
        "<tool_call>" + "[" * 100_000 + "</tool_call>",
        "<tool_call>" + '{"a": ' * 50_000,
        "<tool_call>" * 20_000,
        '{"name": ' * 20_000,
        "x" * 100_000,
    ],
)
def test_A26_a_text_over_the_cap_is_malformed(text, mode):
    assert failure(text, mode) == "too_long"


@BOTH
@pytest.mark.parametrize(
    "text",
    [
        "<tool_call>" + "[" * 60_000,
        "<tool_call>" + '{"a": ' * 10_000,
        "<tool_call>" * 5_900,
        '{"name": ' * 7_000,
        "\n<tool_call>x" * 4_900,
        "<tool_call>{" * 5_400,
        "<tool_call>{'" * 5_000,
        "<tool_call>{'a': " * 3_800,
        "<tool_call>['" + "'," * 30_000,
    ],
)
def test_A26_degenerate_text_under_the_cap_costs_little(text, mode):
    start = time.process_time()
    failure(text, mode)
    assert time.process_time() - start < 2


@BOTH
@pytest.mark.parametrize(
    "unit", ["```{", "<think>", "</think>", "<response>", '{"', "\\", "<tool_call>x", "\n</tool_call>"]
)
def test_repeated_marks_cost_little(unit, mode):
    start = time.process_time()
    parse_response(unit * (65_000 // len(unit)), mode)
    assert time.process_time() - start < 2


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ({"name": "f", "parameters": {"a": 1}}, call("f", a=1)),
        ({"name": "f", "arguments": {"a": 1}, "parameters": {"a": 1}}, call("f", a=1)),
        ({"type": "function", "function": {"name": "f", "arguments": '{"a": 1}'}}, call("f", a=1)),
        ({"id": "c1", "type": "function", "function": {"name": "f", "arguments": {}}}, call("f")),
        ({"name": "f", "arguments": {"a": 1}, "comment": "now"}, call("f", a=1)),
        ({"name": "f", "id": "c1"}, call("f")),
    ],
)
def test_forms_of_a_call(value, expected):
    assert read_calls(value) == [expected]
    assert read(block(json.dumps(value))) == [expected]


@pytest.mark.parametrize(
    ("value", "reason"),
    [
        ({"name": "f", "arguments": {"a": 1}, "parameters": {"a": True}}, "ambiguous_arguments"),
        ({"name": "f", "arguments": [1]}, "arguments_not_an_object"),
        ({"name": "f", "arguments": "[1]"}, "arguments_not_an_object"),
        ({"name": "f", "arguments": False}, "arguments_not_an_object"),
        ({"name": "f", "city": "Rome"}, "unexpected_key"),
        ({"arguments": {}}, "no_name"),
        ({"name": "", "arguments": {}}, "no_name"),
        ({"name": 3, "arguments": {}}, "no_name"),
        ([[{"name": "f"}]], "not_a_call"),
        ([1], "not_a_call"),
    ],
)
def test_what_is_no_call(value, reason):
    with pytest.raises(CallError) as caught:
        read_calls(value)
    assert caught.value.reason == reason
    assert failure(block(json.dumps(value))) == reason


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("<tool_call></tool_call>", "empty_block"),
        ("<tool_call>\n", "empty_block"),
        ("<tool_call>\nget_time()\n</tool_call>", "not_json"),
        ("Well:\n<tool_call>get_time(", "not_json"),
        (block('{"name": "f", "arguments": {}}') + block('{"name": "g", "arguments": {'), "syntax"),
        ('```json\n{"name": "f", "arguments": {"a": 1\n```', "syntax"),
    ],
)
def test_attempts_that_fail(text, reason):
    assert failure(text) == reason


@pytest.mark.parametrize(
    "text",
    [
        "",
        "The capital is Rome.",
        '{"name": "Ada"}',
        '{"name": "Ada", "age": 36}',
        '{"answer": [1, 2]}',
        "[1] says so",
        "[[[[ what",
        "```python\nprint([1])\n```",
        "```json\n[1, 2]\n```",
        block("[]"),
    ],
)
def test_no_attempt_at_a_call(text):
    parsed = parse_response(text)
    assert (parsed.status, parsed.calls, parsed.reason) == ("no_call", (), None)


def test_fences_count_only_without_tagged_blocks():
    fence = '```json\n{"name": "example", "arguments": {}}\n```'
    parsed = parse_response(f"As in {fence}\n" + block('{"name": "f", "arguments": {}}'))
    assert list(parsed.calls) == [call("f")]
    assert "example" in parsed.text
    assert read(f"Here: {fence}") == [call("example")]


def test_the_free_text_is_what_remains():
    thoughts = "<think>quick</think>"
    action = block('{"name": "f", "arguments": {}}')
    assert parse_response(f"{thoughts} I will look.\n{action}").text == "I will look."
    assert parse_response(f"{thoughts}Rome").text == "Rome"
    assert parse_response("so <response> Rome </response> bye").text == "Rome"
    assert parse_response("<response>Rome").text == "Rome"
    assert parse_response('<response>Write <tool_call>{"name": "f"}</tool_call></response>').status == "no_call"


NAMES = st.text(string.ascii_letters + string.digits + "_.-/ ", min_size=1, max_size=12)
TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=20) | st.sampled_from(
    ["</tool_call>", "<think>", "</think>", "```", "<response>", '{"name": "x"}', "\\", '"', "'"]
)
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | TEXT,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXT, inner, max_size=3),
    max_leaves=8,
)
CALLS = st.builds(ToolCall, name=NAMES, arguments=st.dictionaries(TEXT, VALUES, max_size=4))


@FEW
@given(st.lists(CALLS, min_size=1, max_size=3), st.sampled_from(["strict", "lenient"]))
def test_a_dumped_call_is_read_back_exactly(calls, mode):
    assert read(format_calls(calls), mode) == calls
    assert read("<think>hm</think>" + format_calls(calls).removesuffix("</tool_call>"), mode) == calls
    assert read(block(json.dumps([c.model_dump() for c in calls], indent=1)), mode) == calls
    assert read(json.dumps([c.model_dump() for c in calls]), mode) == calls


PIECES = st.lists(
    st.sampled_from(
        ["<think>", "</think>", "<tool_call>", "</tool_call>", "<response>", "</response>", "```", "json\n", "\n", " "]
        + [
            '{"name": "f", "arguments": {}}',
            '{"name": "f"',
            '"',
            "'",
            "{",
            "}",
            "[",
            "]",
            ",",
            ":",
            "\\",
            "\ud83d",
            "x",
        ]
    ),
    max_size=25,
)


@FEW
@given(PIECES.map("".join) | st.text(max_size=50), st.sampled_from(["strict", "lenient"]))
def test_no_text_raises(text, mode):
    parsed = parse_response(text, mode)
    assert (parsed.status == "ok") == bool(parsed.calls)
    assert (parsed.status == "malformed") == (parsed.reason is not None)
    assert mode == "lenient" or not parsed.repaired
    parsed.text.encode()


@FEW
@given(PIECES.map("".join))
def test_lenient_agrees_with_strict_where_strict_reads(text):
    strict, lenient = parse_response(text), parse_response(text, "lenient")
    if strict.status == "ok":
        assert lenient.calls == strict.calls and not lenient.repaired


@FEW
@given(PIECES.map("".join))
def test_thoughts_change_nothing(text):
    plain = parse_response(text)
    if "think>" not in text and "```" not in text:
        assert parse_response("<think>" + block('{"name": "g"}') + "</think>" + text).calls == plain.calls
