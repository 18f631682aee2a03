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
"""Search-R1 and ReSearch: thoughts, searches in tags, an answer in tags, and no system text.

In their own rollouts a search's result is spliced into the running answer. Through a chat endpoint it comes as the
next user turn, in the same tags. Tools other than the search, which neither system knows, are called by JSON lines in
the answer.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from genenv_verl.benchmarks.harness import call_block, call_lines
from genenv_verl.evaluation.styles.boxed import last_boxed
from genenv_verl.evaluation.styles.style import (
    SEARCH_TOOL,
    Style,
    block,
    canonical_answer,
    chat,
    joined,
    system_text,
    tool_lines,
    without_thoughts,
)
from genenv_verl.tasks.schema import Context, Message, ToolCall


def _messages(context: Context, *, result_tag: str, answer_form: str) -> list[Message]:
    form = f"Reason between <think> and </think> first. Give the final answer between {answer_form}."
    others = [tool for tool in context.tools if tool.name != SEARCH_TOOL]
    if len(others) < len(context.tools):
        form += (
            " If knowledge is missing, ask a search engine by writing <search> query </search>: what it finds comes "
            f"between <{result_tag}> and </{result_tag}>. You may search several times."
        )
    tools = ""
    if others:
        tools = (
            f"Functions that can be called:\n{tool_lines(others)}\nTo call some, the answer is their calls and nothing "
            'else, one JSON object a line: {"name": …, "parameters": {…}}.'
        )
    return chat(
        context,
        instructions=joined(form, tools, system_text(context, answer="<answer>", result=f"<{result_tag}>")),
        instructions_as="user",
        write_calls=_calls,
        write_result=lambda text: f"<{result_tag}>{text}</{result_tag}>",
    )


def _calls(calls: Sequence[ToolCall]) -> str:
    return "\n".join(_call(call) for call in calls)


def _call(call: ToolCall) -> str:
    if call.name == SEARCH_TOOL:
        return f"<search> {call.arguments.get('query', '')} </search>"
    return f"<answer> {call_lines([call])} </answer>"


def _canonical(response: str, *, boxed: bool) -> str:
    text = without_thoughts(response)
    search, answer = block(text, "search"), block(text, "answer")
    if search is not None and (answer is None or search[0] < answer[0]):
        return call_block([ToolCall(name=SEARCH_TOOL, arguments={"query": search[1]})])
    if answer is None:
        return text
    content = last_boxed(answer[1]) if boxed else None
    return canonical_answer(answer[1] if content is None else content)


SEARCH_R1 = Style(
    "search_r1",
    "Search-R1's <search>, <information> and <answer>",
    partial(_messages, result_tag="information", answer_form="<answer> and </answer>"),
    partial(_canonical, boxed=False),
)
RESEARCH = Style(
    "research",
    r"ReSearch's <search>, <result> and <answer> with \boxed{}",
    partial(_messages, result_tag="result", answer_form=r"<answer> and </answer>, its core in \boxed{}"),
    partial(_canonical, boxed=True),
)
