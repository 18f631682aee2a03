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
"""What a prompt style is, and what several of them share."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from genenv_verl.benchmarks.harness import call_block
from genenv_verl.tasks.schema import Context, Message, ToolCall, ToolSpec
from genenv_verl.tasks.tool_calls import parse_response

SEARCH_TOOL = "Search"


@dataclass(frozen=True)
class Style:
    """A prompt style.

    Attributes:
        name: Its name on the command line.
        about: One line that says whose format it is.
        messages: Writes the context of a step.
        canonical: Brings an answer into the shared form (``<tool_call>``, ``<response>``). Never raises; linear time.
    """

    name: str
    about: str
    messages: Callable[[Context], list[Message]]
    canonical: Callable[[str], str]


def canonical_answer(text: str) -> str:
    """What a system gave as its answer, in the shared form: calls if it is the JSON of calls, else words."""
    parsed = parse_response(text)
    if parsed.status == "ok":
        return call_block(parsed.calls)
    # an attempt at a call that cannot be read stays what it is: the benchmark's own rules decide
    return text if parsed.status == "malformed" else f"<response> {parsed.text} </response>"


def without_thoughts(response: str) -> str:
    """What stands after the thoughts; nothing, if they never end."""
    before, end, after = response.rpartition("</think>")
    text = after if end else before + after
    return text.partition("<think>")[0]


def block(text: str, tag: str) -> tuple[int, str] | None:
    """Position and content of the first ``<tag>`` block, None without one. It needs no closing tag."""
    opening = f"<{tag}>"
    start = text.find(opening)
    if start < 0:
        return None
    return start, text[start + len(opening) :].partition(f"</{tag}>")[0].strip()


def tool_lines(tools: Iterable[ToolSpec]) -> str:
    """Tool specifications as JSON, one a line."""
    return "\n".join(json.dumps(tool.model_dump(), ensure_ascii=False) for tool in tools)


def system_text(context: Context, *, answer: str, result: str) -> str:
    """The benchmark's own instructions, which speak of the shared form's tags, in the words of the style.

    Args:
        context: What is shown.
        answer: What the style calls the place of the answer.
        result: What it calls a tool's result.
    """
    return context.system.replace("<response>", answer).replace("<obs>", result)


def goal_text(context: Context) -> str:
    """The last user turn: the goal, and the constraints if there are some."""
    rules = "".join(f"\n- {constraint}" for constraint in context.constraints)
    return context.goal + (f"\n\nConstraints:{rules}" if rules else "")


def chat(
    context: Context,
    *,
    instructions: str,
    write_calls: Callable[[Sequence[ToolCall]], str],
    write_result: Callable[[str], str],
    instructions_as: str = "system",
) -> list[Message]:
    """The dialogue as chat messages, roles alternating as most chat templates want them.

    Args:
        context: What is shown.
        instructions: The first text: format and tools.
        write_calls: Writes an earlier call of the assistant in the style's own form.
        write_result: Writes a tool's result, which becomes the user's.
        instructions_as: ``system``, or ``user`` for systems that were trained without a system text.
    """
    turns = [(instructions_as, instructions)]
    for message in context.history:
        match message.role:
            case "assistant":
                parsed = parse_response(message.content)
                text = write_calls(parsed.calls) if parsed.calls else parsed.text or message.content
                turns.append(("assistant", text))
            case "tool":
                turns.append(("user", write_result(message.content)))
            case role:
                turns.append((role, message.content))
    turns.append(("user", goal_text(context)))
    merged: list[tuple[str, str]] = []
    for role, text in turns:
        if merged and merged[-1][0] == role:
            merged[-1] = (role, f"{merged[-1][1]}\n\n{text}")
        else:
            merged.append((role, text))
    return [Message(role=role, content=text) for role, text in merged]


def joined(*parts: str) -> str:
    """Paragraphs; empty ones are left out."""
    return "\n\n".join(part for part in parts if part)
