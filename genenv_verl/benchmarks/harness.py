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
"""The one prompt of all benchmarks: a tool-calling harness that every model gets in the same words.

The shape is ToolRL's: a system text with numbered tools, the steps of a turn and the output format (``<think>``,
``<tool_call>`` with one JSON object a line, ``<response>``), and one user text with the dialogue so far (``<user>``,
``<tool_call>``, ``<obs>``, ``<response>``). The prompt of another agent is another :data:`PromptStyle` over the same
context; the token budget is the same for all of them.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from dataclasses import dataclass

from genenv_verl.tasks.schema import Context, Message, ToolCall, ToolSpec

PromptStyle = Callable[[Context], list[Message]]
"""Makes the messages of a context. History that comes from a release is written in the tags of the shared form:
assistant messages hold ``<tool_call>`` or ``<response>``, tool messages the bare result."""

TokenCounter = Callable[[str], int]

BYTES_PER_TOKEN = 3
MIN_RESULT_CHARS = 200
"""Tool results are never cut to less: a shorter one says nothing."""


def estimate_tokens(text: str) -> int:
    """Tokens of a text without a tokenizer: a digit is one, of the rest three UTF-8 bytes are one.

    Meant to be too high rather than too low. Against SmolLM2's tokenizer (which splits digits, as Qwen's does) it comes
    to 1.1 to 1.4 times the true number for prompts of API-Bank and tool documentation, and to 0.97 to 1.05 times for
    TravelPlanner's and ALFWorld's texts. Hand the model's own counter to :class:`Harness` where it has to be exact.
    """
    digits = sum(map(text.count, "0123456789"))
    return digits - (digits - len(text.encode("utf-8", "replace"))) // BYTES_PER_TOKEN


def call_lines(calls: Iterable[ToolCall]) -> str:
    """Calls as one JSON object a line, as the shared form has them between its tags."""
    return "\n".join(map(_call_line, calls))


def call_block(calls: Iterable[ToolCall]) -> str:
    """Calls in the shared form, tags included."""
    return "\n".join(["<tool_call>", *map(_call_line, calls), "</tool_call>"])


def _call_line(call: ToolCall) -> str:
    return json.dumps({"name": call.name, "parameters": call.arguments}, ensure_ascii=False)


def unified(context: Context) -> list[Message]:
    """The shared prompt: a system message and one user message."""
    return [
        Message(role="system", content=_system_text(context)),
        Message(role="user", content=_user_text(context)),
    ]


@dataclass(frozen=True)
class Harness:
    """How a context becomes a prompt that fits.

    Attributes:
        style: Makes the messages; the shared form by default.
        max_tokens: Limit of prompt and response together (the paper's 9,000).
        response_tokens: What of it is kept free for the response, and for the chat template's own tokens.
        count_tokens: Counts the tokens of a text; an estimate without a tokenizer by default.
    """

    style: PromptStyle = unified
    max_tokens: int = 9_000
    response_tokens: int = 1_024
    count_tokens: TokenCounter = estimate_tokens

    def messages(self, context: Context) -> list[Message]:
        """The prompt of a context.

        Where it is too long, tool results of the history are cut, the longest first, to the largest common length with
        which it fits (never below ``MIN_RESULT_CHARS``). Instructions, tools, the dialogue and the goal stay whole, so
        a prompt can still be too long: ``fits`` tells.
        """
        whole = self.style(context)
        results = [len(message.content) for message in context.history if message.role == "tool"]
        if not results or self.fits(whole):
            return whole
        low, high = MIN_RESULT_CHARS, max(results)
        while low < high:  # The largest limit that fits lies in [low, high].
            middle = (low + high + 1) // 2
            if self.fits(self.style(_cut_results(context, middle))):
                low = middle
            else:
                high = middle - 1
        return self.style(_cut_results(context, low))

    def fits(self, messages: Iterable[Message]) -> bool:
        """Whether a prompt leaves room for the response."""
        tokens = sum(self.count_tokens(message.content) for message in messages)
        return tokens <= self.max_tokens - self.response_tokens


def format_tool(number: int, tool: ToolSpec) -> str:
    """One entry of the numbered tool list: name, description and parameters as JSON."""
    function = tool.function
    lines = [f"{number}. Name: {function.name}"]
    if function.description:
        lines.append(f"Description: {function.description}")
    lines.append(f"Parameters: {json.dumps(function.parameters, ensure_ascii=False)}")
    return "\n".join(lines)


def format_history(history: Iterable[Message]) -> str:
    """Earlier turns in the tags of the shared form."""
    return "\n".join(_TURN[message.role](message.content) for message in history)


def _assistant_turn(content: str) -> str:
    tagged = "<tool_call>" in content or "<response>" in content
    return content if tagged else f"<response> {content} </response>"


_TURN: dict[str, Callable[[str], str]] = {
    "system": str,
    "user": lambda content: f"<user> {content} </user>",
    "assistant": _assistant_turn,
    "tool": lambda content: f"<obs> {content} </obs>",
}

_TOOL_FORM = """<tool_call>
{"name": "tool name", "parameters": {"parameter name": "value", "another parameter": "value"}}
{"name": "another tool", "parameters": {}}
</tool_call>"""


def _system_text(context: Context) -> str:
    """System text of the shared prompt. What belongs to calls is left out where there are no tools."""
    tools = context.tools
    parts = ["You work with a user over several turns" + (", and you can act through tools." if tools else ".")]
    if context.system:
        parts.append(context.system)
    if tools:
        parts.append("# Tools\n" + "\n".join(format_tool(number, tool) for number, tool in enumerate(tools, start=1)))
    steps = ["Think: what is wanted now, and what does the dialogue already tell?"]
    if tools:
        steps.append("Act: if a tool is needed, choose it and fill in its parameters.")
    steps.append("Respond: if the user should be told something, say it.")
    parts.append("# Steps of your turn\n" + _numbered(steps))
    form = ["<think> your reasoning </think>", *([_TOOL_FORM] if tools else []), "<response> your words </response>"]
    parts.append("# Output format\n" + "\n".join(form))
    parts.append("# Rules\n" + _numbered(_rules(has_tools=bool(tools))))
    return "\n\n".join(parts)


def _rules(*, has_tools: bool) -> list[str]:
    if not has_tools:
        return ["Begin with <think>, then write <response>."]
    return [
        "Begin with <think>. After it write <tool_call>, <response>, or both; one of them at least.",
        'Inside <tool_call> each line is one call: a JSON object with the keys "name" and "parameters". '
        'Several lines are several calls. A tool without parameters gets an empty object as "parameters".',
        "The user's message holds the dialogue so far: the user's words in <user>, your earlier <tool_call> and "
        "<response>, and what the tools returned in <obs>.",
    ]


def _user_text(context: Context) -> str:
    parts = []
    if context.history:
        parts.append("# Dialogue so far\n" + format_history(context.history))
    if context.constraints:
        parts.append("# Constraints\n" + "\n".join(f"- {constraint}" for constraint in context.constraints))
    parts.append(f"<user> {context.goal} </user>")
    return "\n\n".join(parts)


def _numbered(lines: Iterable[str]) -> str:
    return "\n".join(f"{number}. {line}" for number, line in enumerate(lines, start=1))


def _cut_results(context: Context, limit: int) -> Context:
    """The context with its tool results cut to ``limit`` characters, and a note of what is missing."""
    history = [
        Message(role="tool", content=_cut(message.content, limit)) if message.role == "tool" else message
        for message in context.history
    ]
    return context.model_copy(update={"history": history})


def _cut(text: str, limit: int) -> str:
    note = f" … [{len(text) - limit} more characters]"
    return text if len(text) <= limit + len(note) else text[:limit] + note
