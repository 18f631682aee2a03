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
"""A task in words, for a terminal. Text from models is hostile: whatever could steer a terminal is spelt out."""

from __future__ import annotations

import json
import unicodedata
from collections.abc import Iterator, Mapping
from typing import Any

from genenv_verl.tasks.inspection import InspectedTask
from genenv_verl.tasks.schema import Task, ToolSpec

MAX_TEXT_CHARS = 600
MAX_ATTEMPTS = 3

# Control characters (escape sequences among them), invisible and direction marks, halves of pairs, line separators.
_UNPRINTABLE = {"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"}


def printable(text: str) -> str:
    """The text with all but letters, signs, blanks and line feeds as escapes (``\\x1b``, ``\\u202e``)."""
    if text.isascii() and text.isprintable():
        return text
    return "".join(
        character.encode("unicode_escape").decode()
        if unicodedata.category(character) in _UNPRINTABLE and character != "\n"
        else character
        for character in text
    )


def describe_task(inspected: InspectedTask, *, full: bool = False) -> Iterator[tuple[str, str]]:
    """A line of a task file as labels with their texts, all of them printable; the first, without a label, is its name.

    Args:
        inspected: The line.
        full: Whether long texts and all attempts are given.
    """
    task = inspected.task
    name = f"row {inspected.row}: {inspected.task_id or 'no task'}" + (f"  ({task.family})" if task else "")
    yield "", printable(name)
    lines = [*(_task_lines(task) if task else ()), *_generation_lines(inspected, full)]
    if inspected.reason is not None:
        lines.append(("rejected", f"{inspected.reason}: {inspected.detail}" if inspected.detail else inspected.reason))
    for label, text in lines:
        yield label, _cut(printable(text), full)


def _task_lines(task: Task) -> Iterator[tuple[str, str]]:
    context, evaluation = task.context, task.evaluation
    if context.system:
        yield "system", context.system
    if context.tools:
        yield "tools", "\n".join(map(_signature, context.tools))
    for constraint in context.constraints:
        yield "constraint", constraint
    for message in context.history:
        yield "history", f"{message.role}: {message.content}"
    yield "goal", context.goal
    for call in task.gold_action or ():
        yield "gold", f"{call.name} {json.dumps(call.arguments, ensure_ascii=False)}"
    if task.gold_action == []:
        yield "gold", "no call"
    if evaluation.reference:
        yield "reference", evaluation.reference
    if evaluation.checker:
        yield "checker", evaluation.checker
    yield "evaluation", f"{evaluation.kind}, a success from {evaluation.success_threshold:g}"


def _signature(tool: ToolSpec) -> str:
    """``name(argument: type, …)``; optional arguments have a question mark."""
    parameters = tool.function.parameters
    properties = parameters.get("properties")
    required = parameters.get("required")
    optional = "" if not isinstance(required, list) else "?"
    arguments = ", ".join(
        f"{name}{'' if optional and name in required else '?'}: "
        + (str(schema.get("type", "any")) if isinstance(schema, dict) else "any")
        for name, schema in (properties.items() if isinstance(properties, dict) else ())
    )
    return f"{tool.name}({arguments})"


def _generation_lines(inspected: InspectedTask, full: bool) -> Iterator[tuple[str, str]]:
    """What an epoch's task file says beside the task."""
    line = inspected.generation
    if not line:
        return
    if inspected.task is None and line.get("text"):
        yield "written", str(line["text"])
    attempts = line.get("attempts")
    attempts = [attempt for attempt in attempts if isinstance(attempt, Mapping)] if isinstance(attempts, list) else []
    if attempts:
        hidden = "" if full or len(attempts) <= MAX_ATTEMPTS else f", the first {MAX_ATTEMPTS} here, --full shows all"
        counts = f"{line.get('successes')} of {line.get('scored')} scored succeeded, {len(attempts)} in all"
        yield "attempts", counts + hidden
    for number, attempt in enumerate(attempts if full else attempts[:MAX_ATTEMPTS], start=1):
        yield f"  {number}", f"{_number(attempt.get('score'))} {attempt.get('reason')}: {attempt.get('response')}"
    if line.get("p_hat") is not None:
        figures = {"p̂": "p_hat", "of its group": "group_p_hat", "R_env": "reward", "weight": "weight"}
        values = ", ".join(f"{name} {_number(line.get(key))}" for name, key in figures.items())
        yield "worth", values + (", accepted" if line.get("accepted") else ", not accepted")
    trust = line.get("trust")
    flags = trust.get("flags") if isinstance(trust, Mapping) else None
    if isinstance(flags, list) and flags:
        yield "trust", ", ".join(map(str, flags)) + (", quarantined" if line.get("quarantined") else "")


def _number(value: Any) -> str:
    return f"{value:.3f}" if isinstance(value, int | float) else "-"


def _cut(text: str, full: bool) -> str:
    if full or len(text) <= MAX_TEXT_CHARS:
        return text
    return f"{text[:MAX_TEXT_CHARS]} … ({len(text) - MAX_TEXT_CHARS} more characters, --full shows them)"
