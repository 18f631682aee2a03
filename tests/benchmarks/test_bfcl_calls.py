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
"""Reading a model's calls in BFCL: lenient as the official verdicts are, bounded, and never evaluated."""

import json
import os

import pytest
from hypothesis import given
from hypothesis import strategies as st

from genenv_verl.benchmarks.bfcl_calls import (
    MAX_CALLS,
    MAX_OUTPUT_CHARS,
    UnreadableAnswer,
    call_objects,
    call_strings,
    given_call_strings,
    read_call_string,
)

LS = '{"name": "ls", "parameters": {"a": true}}'
CD = '{"name": "cd", "parameters": {"folder": "it\'s"}}'


def block(*lines):
    return "\n".join(["<think> t </think>", "<tool_call>", *lines, "</tool_call>"])


@pytest.mark.parametrize(
    ("output", "strings"),
    [
        (block(LS), ["ls(a=True)"]),
        (block(LS, CD), ["ls(a=True)", 'cd(folder="it\'s")']),
        ("<tool_call>\n" + LS, ["ls(a=True)"]),
        (block(LS) + block(CD), ['cd(folder="it\'s")']),
        (block(LS, LS[:-1], CD), ["ls(a=True)", 'cd(folder="it\'s")']),
        (block('{"name": "ls", "arguments": {"a": true}}'), ["ls()"]),
        (block('{"name": "None", "parameters": {}}'), []),
        (
            block('{"name": "f", "parameters": {"x": null, "y": [1, 2.5, {"z": "w"}]}}'),
            ["f(x=None, y=[1, 2.5, {'z': 'w'}])"],
        ),
        (LS, []),
        (block(json.dumps(json.loads(LS), indent=1)), []),
        (block("{'name': 'ls', 'parameters': {}}"), []),
        (block("3", "null", '"ls"', "[" + LS + "]"), []),
        (block('{"name": 5, "parameters": {}}', '{"name": "", "parameters": {}}', '{"parameters": {}}'), []),
        (block('{"name": "ls", "parameters": ["a"]}', '{"name": "ls", "parameters": "a"}'), []),
        ("<response> I cannot. </response>", []),
        ("", []),
    ],
)
def test_calls_are_the_json_lines_of_the_last_block(output, strings):
    assert call_strings(output) == strings


@pytest.mark.parametrize("depth", [65, 900, 100_000])
def test_a_line_nested_too_deep_is_no_call(depth):
    deep = '{"name": "f", "parameters": {"x": ' + "[" * depth + "]" * depth + "}}"
    assert call_strings(block(deep, LS)) == ["ls(a=True)"]


def test_many_brackets_without_depth_are_read():
    assert call_strings(block('{"name": "f", "parameters": {"x": [' + ", ".join(["[]"] * 100) + "]}}"))[0].startswith(
        "f(x=[[]"
    )


def test_numbers_that_python_refuses_are_no_call():
    assert call_strings(block('{"name": "f", "parameters": {"x": ' + "1" * 5000 + "}}")) == []


@pytest.mark.parametrize(
    ("output", "reason"),
    [
        ("<tool_call>\n" + "x" * MAX_OUTPUT_CHARS, "output_too_long"),
        (block(*['{"name": "f"}'] * (MAX_CALLS + 1)), "too_many_calls"),
    ],
)
def test_output_beyond_the_limits_is_not_read(output, reason):
    with pytest.raises(UnreadableAnswer, match=reason):
        call_objects(output)


@pytest.mark.parametrize(
    ("given_calls", "reason"),
    [
        (None, "no_calls_given"),
        ("ls()", "no_calls_given"),
        ([["ls()"]], "no_calls_given"),
        (["f()"] * (MAX_CALLS + 1), "too_many_calls"),
        (["x" * (MAX_OUTPUT_CHARS + 1)], "output_too_long"),
    ],
)
def test_given_call_strings_are_checked(given_calls, reason):
    with pytest.raises(UnreadableAnswer, match=reason):
        given_call_strings(given_calls)


@pytest.mark.parametrize(
    ("text", "call"),
    [
        ("sort('a.txt')", ("sort", {"file": "a.txt"})),
        (" sort(file='a') ", ("sort", {"file": "a"})),
        ("math.add(-1, b=[2.5, None, True])", ("math.add", {"a": -1, "b": [2.5, None, True]})),
        ("ping()", ("ping", {})),
    ],
)
def test_call_strings_are_read_with_positional_arguments_named(text, call):
    assert read_call_string(text, {"sort": ["file"], "math.add": ["a", "b"]}) == call


@pytest.mark.parametrize(
    "text",
    [
        "sort('a', 'b')",
        "sort(x)",
        "sort(__import__('os').system('true'))",
        "sort(**{'file': 'a'})",
        "sort",
        "sort('a'); sort('b')",
        "sort(file='a'",
        "sort(file='a', file='b')",
        "(" * 5000,
        "a" + ".a" * 900 + "()",
        "sort(file={[]: 1})",
        "sort('a', file='b')",
        "sort(" + "-" * 100_000 + "1)",
        "sort(file='\x00')",
        "",
    ],
)
def test_what_is_no_call_of_literals_is_refused(text):
    with pytest.raises(ValueError):
        read_call_string(text, {"sort": ["file"]})


def test_reading_evaluates_nothing(monkeypatch):
    monkeypatch.setattr(os, "system", lambda command: pytest.fail(command))
    assert call_strings(block('{"name": "__import__(\'os\').system(\'id\') or f", "parameters": {}}'))


@given(st.text(alphabet='{}[]":, \n-1name<>/\\', max_size=200))
def test_no_output_raises_anything(text):
    assert isinstance(call_strings(f"<tool_call>{text}"), list)
