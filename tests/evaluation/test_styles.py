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

import time

import pytest

from genenv_verl.benchmarks.bamboogle import SEARCH, extract_answer, search_query
from genenv_verl.evaluation.styles import STYLES, get_style
from genenv_verl.evaluation.styles.boxed import last_boxed
from genenv_verl.evaluation.styles.style import without_thoughts
from genenv_verl.tasks.schema import Context, FunctionSpec, Message, ToolCall, ToolSpec
from genenv_verl.tasks.tool_calls import parse_response

BOOK = ToolSpec(function=FunctionSpec(name="Book", description="Books a room."))
HISTORY = [
    Message(role="user", content="I need a room."),
    Message(
        role="assistant", content='<tool_call>\n{"name": "Book", "parameters": {"city": "Oslo {1}"}}\n</tool_call>'
    ),
    Message(role="tool", content="booked {}"),
    Message(role="assistant", content="<response> Done. </response>"),
]
CONTEXT = Context(system="Be brief.", tools=[BOOK], history=HISTORY, goal="And a taxi?", constraints=["no bus"])
QUESTION = Context(system="Answer.", tools=[SEARCH], goal="Who?")

# how each system's model writes one call, one search, and an answer in words
CALLS = {
    "unified": '<think>t</think>\n<tool_call>\n{"name": "Book", "parameters": {"city": "Oslo"}}\n</tool_call>',
    "toolrl": '<think>t</think>\n<tool_call>\n{"name": "Book", "parameters": {"city": "Oslo"}}\n</tool_call>',
    "plain": '{"name": "Book", "parameters": {"city": "Oslo"}}',
    "qwen": '<tool_call>\n{"name": "Book", "arguments": {"city": "Oslo"}}\n</tool_call>',
    "search_r1": '<think>t</think><answer>{"name": "Book", "parameters": {"city": "Oslo"}}</answer>',
    "research": r'<think>t</think><answer>\boxed{{"name": "Book", "parameters": {"city": "Oslo"}}}</answer>',
    "torl": r'So: \boxed{{"name": "Book", "parameters": {"city": "Oslo"}}}',
}
SEARCHES = {
    "unified": '<think>t</think><tool_call>\n{"name": "Search", "parameters": {"query": "x y"}}\n</tool_call>',
    "toolrl": '<think>t</think><tool_call>\n{"name": "Search", "parameters": {"query": "x y"}}\n</tool_call>',
    "plain": '{"name": "Search", "parameters": {"query": "x y"}}',
    "qwen": '<think>t</think><tool_call>\n{"name": "Search", "arguments": {"query": "x y"}}\n</tool_call>',
    "search_r1": "<think>t</think><search> x y </search> <answer>later</answer>",
    "research": "<think>t</think><search>x y</search>",
    "torl": r'\boxed{{"name": "Search", "parameters": {"query": "x y"}}}',
}
ANSWERS = {
    "unified": "<think>not Bergen</think><response>Oslo</response>",
    "toolrl": "<think>not Bergen</think><response>Oslo</response>",
    "plain": "Oslo",
    "qwen": "<think>not Bergen</think>\n\nOslo",
    "search_r1": "<think>not Bergen</think><answer> Oslo </answer> <search>more</search>",
    "research": r"<think>\boxed{Bergen}</think><answer>It is \boxed{\text{Oslo}}.</answer>",
    "torl": "```python\nprint(1)\n```\n" + r"\boxed{Bergen} no, \boxed{Oslo}",
}


@pytest.mark.parametrize("name", STYLES)
def test_a_call_a_search_and_an_answer_in_the_systems_own_format(name):
    canonical = get_style(name).canonical
    calls = parse_response(canonical(CALLS[name])).calls
    assert calls == (ToolCall(name="Book", arguments={"city": "Oslo"}),)
    assert '"parameters"' in canonical(CALLS[name])  # the only key that API-Bank's scorer takes
    assert search_query(canonical(SEARCHES[name])) == "x y"
    assert extract_answer(canonical(ANSWERS[name])) == "Oslo"


@pytest.mark.parametrize("name", STYLES)
def test_a_prompt_shows_everything_and_alternates(name):
    messages = get_style(name).messages(CONTEXT)
    roles = [message.role for message in messages]
    assert roles == ["system", "user"] or all(a != b for a, b in zip(roles, roles[1:], strict=False))
    assert roles[-1] == "user" and set(roles) <= {"system", "user", "assistant"}
    text = "\n".join(message.content for message in messages)
    for part in [
        "Be brief.",
        "Books a room.",
        "I need a room.",
        "Oslo {1}",
        "booked {}",
        "Done.",
        "And a taxi?",
        "no bus",
    ]:
        assert part in text
    assert all(message.content.strip() for message in messages)


TAGS = {
    "unified": ["<think>", "<tool_call>", "<response>", "<obs> booked"],
    "toolrl": ["<think>", "<tool_call>", "<response>", "<obs> booked"],
    "plain": [],
    "qwen": ["<tools>\n{", "<tool_call>", '"arguments"', "<tool_response>\nbooked"],
    "search_r1": ["<think>", "<answer>", "<information>booked"],
    "research": ["<think>", "<answer>", r"\boxed{}", "<result>booked"],
    "torl": ["```python", r"\boxed{}", "```output\nbooked"],
}


@pytest.mark.parametrize("name", STYLES)
def test_a_prompt_asks_for_the_systems_own_tags(name):
    text = "\n".join(message.content for message in get_style(name).messages(CONTEXT))
    assert [tag for tag in TAGS[name] if tag not in text] == []
    if name == "plain":
        assert "<" not in text
    if name in ("search_r1", "research"):
        assert "<search>" not in text
        assert "<search> query </search>" in get_style(name).messages(QUESTION)[0].content
        assert get_style(name).messages(CONTEXT)[0].role == "user"


@pytest.mark.parametrize("name", sorted(STYLES.keys() - {"unified", "toolrl"}))
def test_a_benchmarks_instructions_speak_of_the_styles_own_tags(name):
    context = Context(system="Read the <obs> blocks; write a name, and nothing else in <response>.", goal="Who?")
    text = "\n".join(message.content for message in get_style(name).messages(context))
    assert "<obs>" not in text and "<response>" not in text and "write a name, and nothing else in " in text


@pytest.mark.parametrize("name", ["qwen", "search_r1", "research", "torl"])
def test_who_answers_in_the_shared_tags_all_the_same_is_understood(name):
    wrap = {
        "qwen": "{}",
        "search_r1": "<answer>{}</answer>",
        "research": "<answer>{}</answer>",
        "torl": r"\boxed{{{}}}",
    }
    answer = wrap[name].format("<response> Oslo </response>")
    assert extract_answer(get_style(name).canonical(answer)) == "Oslo"


def test_an_unknown_style_is_named():
    with pytest.raises(ValueError, match="'toolr1' is unknown; known are unified, plain, toolrl, qwen"):
        get_style("toolr1")


HOSTILE = [
    "",
    "<think>",
    "<answer>",
    "</answer><answer></answer>",
    r"\boxed{",
    r"\boxed{{{{",
    "<search></search>",
    "<search>" * 20_000,
    "<answer><search>" * 20_000,
    r"\boxed{" * 20_000,
    "{" * 100_000,
    "<think></think>" * 10_000,
    "<tool_call>{" * 20_000,
    r"\boxed{" + r"\text{" * 20_000 + "}" * 20_001,
    "\ud800",
]


@pytest.mark.parametrize("name", STYLES)
def test_no_answer_raises_or_takes_long(name):
    canonical = get_style(name).canonical
    began = time.process_time()
    for text in HOSTILE:
        assert isinstance(canonical(text), str)
    assert time.process_time() - began < 5.0


def test_a_call_drafted_in_a_thought_is_no_call():
    draft = '<think><tool_call>{"name": "Book", "arguments": {}}</tool_call></think>No.'
    assert parse_response(get_style("qwen").canonical(draft)).status == "no_call"
    never_ends = '<think><tool_call>{"name": "Book", "arguments": {}}</tool_call>'
    assert parse_response(get_style("qwen").canonical(never_ends)).status == "no_call"


@pytest.mark.parametrize(
    ("response", "rest"),
    [
        ("a", "a"),
        ("<think>a</think>b", "b"),
        ("a</think>b", "b"),
        ("b<think>a", "b"),
        ("<think>a</think>b<think>c", "b"),
    ],
)
def test_thoughts_are_cut(response, rest):
    assert without_thoughts(response) == rest


@pytest.mark.parametrize(
    ("text", "content"),
    [
        (r"\boxed{4}", "4"),
        (r"\boxed{3} \boxed{ {a} }", "{a}"),
        (r"\boxed{\text{two words}}", "two words"),
        (r"\boxed{4", None),
        ("4", None),
    ],
)
def test_last_boxed(text, content):
    assert last_boxed(text) == content
