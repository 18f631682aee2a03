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
"""The Hermes tool template, in which Qwen 2.5 and Qwen 3 were trained to call tools."""

from __future__ import annotations

from collections.abc import Sequence

from genenv_verl.evaluation.styles.style import (
    Style,
    canonical_answer,
    chat,
    joined,
    system_text,
    tool_lines,
    without_thoughts,
)
from genenv_verl.tasks.schema import Context, Message, ToolCall
from genenv_verl.tasks.tool_calls import format_calls


def _messages(context: Context) -> list[Message]:
    tools = ""
    if context.tools:
        tools = (
            "# Tools\n\nFunctions that you may call, one specification a line:\n"
            f"<tools>\n{tool_lines(context.tools)}\n</tools>\n\n"
            "Write each call as a JSON object between tags of its own:\n"
            '<tool_call>\n{"name": <name of the function>, "arguments": <object of its arguments>}\n</tool_call>'
        )
    system = system_text(context, answer="your answer", result="<tool_response>") or "You are a helpful assistant."
    instructions = joined(system, tools)
    return chat(context, instructions=instructions, write_calls=_calls, write_result=_result)


def _calls(calls: Sequence[ToolCall]) -> str:
    return "\n".join(format_calls([call]) for call in calls)


def _result(text: str) -> str:
    return f"<tool_response>\n{text}\n</tool_response>"


def _canonical(response: str) -> str:
    return canonical_answer(without_thoughts(response))


QWEN = Style("qwen", "the Hermes tool template of Qwen 2.5 and Qwen 3", _messages, _canonical)
