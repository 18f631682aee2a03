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
r"""ToRL: reasoning with Python blocks, and the final answer in ``\boxed{}``.

ToRL runs the blocks and goes on with their output. An evaluation runs no code that a model writes: what stands in the
box is the answer. Tools are called by JSON lines in the box.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from genenv_verl.benchmarks.harness import call_lines
from genenv_verl.evaluation.styles.style import (
    Style,
    canonical_answer,
    chat,
    joined,
    system_text,
    tool_lines,
)
from genenv_verl.tasks.schema import Context, Message, ToolCall

_OPENING = r"\boxed{"
_TEXT = re.compile(r"\\text\{([^{}]*)\}")


def last_boxed(text: str) -> str | None:
    r"""The content of the last ``\boxed{…}`` with balanced braces, None without one."""
    start = text.rfind(_OPENING)
    if start < 0:
        return None
    start += len(_OPENING)
    depth = 1
    for position in range(start, len(text)):
        depth += (text[position] == "{") - (text[position] == "}")
        if depth == 0:
            return _TEXT.sub(r"\1", text[start:position]).strip()
    return None


def _messages(context: Context) -> list[Message]:
    form = (
        "Reason step by step; you may write Python in ```python blocks on the way. Put the final answer into "
        r"\boxed{}."
    )
    tools = ""
    if context.tools:
        tools = (
            f"Functions that can be called:\n{tool_lines(context.tools)}\n"
            r"To call some, put their calls and nothing else into \boxed{}, one JSON object a line: "
            '{"name": …, "parameters": {…}}.'
        )
    instructions = joined(form, tools, system_text(context, answer=r"\boxed{}", result="output"))
    return chat(context, instructions=instructions, write_calls=_calls, write_result="```output\n{}\n```".format)


def _calls(calls: Sequence[ToolCall]) -> str:
    return _OPENING + call_lines(calls) + "}"


def _canonical(response: str) -> str:
    content = last_boxed(response)
    return response if content is None else canonical_answer(content)


TORL = Style("torl", r"ToRL's Python blocks and \boxed{}", _messages, _canonical)
