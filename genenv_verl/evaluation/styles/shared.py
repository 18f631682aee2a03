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
"""The shared form, and no form at all."""

from __future__ import annotations

from genenv_verl.benchmarks import harness
from genenv_verl.evaluation.styles.style import Style, chat, joined, system_text, tool_lines
from genenv_verl.tasks.schema import Context, Message


def _as_it_is(response: str) -> str:
    return response


def _plain(context: Context) -> list[Message]:
    tools = ""
    if context.tools:
        tools = (
            "You may call these functions:\n"
            f"{tool_lines(context.tools)}\n\n"
            'To call some, answer with their calls alone, one JSON object a line: {"name": …, "parameters": {…}}. '
            "Otherwise answer in words."
        )
    instructions = joined(system_text(context, answer="your answer", result="Result"), tools) or "Answer the user."
    return chat(context, instructions=instructions, write_calls=harness.call_lines, write_result="Result: {}".format)


UNIFIED = Style("unified", "the shared harness: the same words for every model", harness.unified, _as_it_is)
TOOLRL = Style("toolrl", "ToolRL's tags, which the shared harness has too", harness.unified, _as_it_is)
PLAIN = Style("plain", "no tags: an answer in words, or calls as JSON lines", _plain, _as_it_is)
