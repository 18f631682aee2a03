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
"""API-Bank in ToolRL's processed form: one tool call at a given place of a dialogue (Li et al. 2023; Qian et al. 2025).

The score is that of ToolRL's evaluation, leniency included: a record is solved if any call of the response is the gold
call. The leniency lives here and nowhere else; training tasks are read by ``tasks.tool_calls``.
"""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from genenv_verl.benchmarks.base import Answer, Benchmark, Record, ReleaseError, Step, Verdict, register
from genenv_verl.tasks.schema import Context, FunctionSpec, Message, Task, ToolCall, ToolSpec, first_problem

FILES = {f"level{level}": f"level-{level}-api_processed.json" for level in (1, 2, 3)}
FOLDERS = ("", "toolrl", "benchmarks/API-Bank")
"""Where the files lie below the given folder: there itself, or as in a copy of ToolRL's repository."""


MAX_OUTPUT_CHARS = 262_144
"""Longer responses score 0: some twenty times what the protocol's 4,096 tokens can hold."""


@register
class ApiBank(Benchmark):
    """One record, one step: the dialogue up to a call is the prompt, the call is the gold."""

    name = "apibank"
    download = (
        "benchmarks/API-Bank/level-{1,2,3}-api_processed.json of https://github.com/qiancheng0/ToolRL (Apache-2.0)"
    )
    official_counts = {"level1": 399, "level2": 67, "level3": 131}

    def load(self, source: Path | None) -> list[Record]:
        folder = self._folder(source)
        records: list[Record] = []
        prompts: set[tuple[str, str]] = set()
        for split, file in FILES.items():
            for index, entry in enumerate(self.json_list(folder / file)):
                record = self._record(entry, split, index, folder / file)
                prompt = (record.data["system"], record.data["user"])
                if prompt in prompts and record.data["defect"] is None:
                    record = Record(record.record_id, split, {**record.data, "defect": "duplicate_prompt"})
                prompts.add(prompt)
                records.append(record)
        return records

    def steps(self, records: Iterable[Record]) -> Iterator[Step]:
        for record in records:
            gold = record.data["gold"]
            try:
                task = Task(
                    task_id=f"apibank/{record.record_id}",
                    family="apibank",
                    context=_context(record.data["system"], record.data["user"]),
                    gold_action=[ToolCall(name=gold["name"], arguments=gold["parameters"])],
                )
            except (ValueError, SyntaxError, TypeError, KeyError) as error:
                problem = first_problem(error) if isinstance(error, ValidationError) else error
                raise ReleaseError(
                    f"API-Bank, record {record.record_id}: the prompt cannot be read ({problem}); "
                    f"download it again: {self.download}"
                ) from None
            yield Step(record.record_id, record, task)

    def parse(self, step: Step, response: str) -> Answer:
        return {"model_output": response}

    def score(self, record: Record, answer: Mapping[str, Any]) -> Verdict:
        """ToolRL's score of ``model_output``; 1 if any call that is read is the gold call."""
        output = answer.get("model_output")
        if not isinstance(output, str):
            return Verdict(0.0, "no_model_output")
        if len(output) > MAX_OUTPUT_CHARS:
            return Verdict(0.0, "output_too_long")
        reason = "no_call"
        try:
            for call in read_lines(output):
                if is_gold(call, record.data["gold"]):
                    return Verdict(1.0, "ok")
                reason = "wrong_call"
        except (TypeError, ValueError, RecursionError):
            reason = "not_a_call"
        return Verdict(0.0, reason)

    def aggregate(self, verdicts: Sequence[tuple[Record, Verdict]]) -> dict[str, float]:
        """The micro average, the same by level, and the same without the records that have a ``defect``."""
        groups: dict[str, list[float]] = {"score": [], **{split: [] for split in FILES}, "score_without_defects": []}
        for record, verdict in verdicts:
            groups["score"].append(verdict.score)
            groups[record.split].append(verdict.score)
            if self.defect(record) is None:
                groups["score_without_defects"].append(verdict.score)
        return {name: sum(scores) / len(scores) for name, scores in groups.items() if scores}

    def episode(self, record: Record) -> str:
        return record.data["episode"]

    def defect(self, record: Record) -> str | None:
        """``gold_tool_missing``, ``gold_argument_undeclared``, ``corrupt_gold`` or ``duplicate_prompt``
        (an earlier record has the same)."""
        return record.data["defect"]

    def _folder(self, source: Path | None) -> Path:
        if source is None:
            raise ReleaseError(f"API-Bank needs its folder (--data, or --source of prepare); download {self.download}")
        for folder in FOLDERS:
            if any((source / folder / file).exists() for file in FILES.values()):
                return source / folder
        raise ReleaseError(f"{source / FILES['level1']} is missing; download {self.download}")

    def _record(self, entry: Any, split: str, index: int, path: Path) -> Record:
        try:
            match entry:
                case {"system": str(system), "user": str(user), "answer": [gold, *_] | ({} as gold)}:
                    call = ToolCall(name=gold["name"], arguments=gold["parameters"])
                case _:
                    raise ValueError("no 'system', 'user' and 'answer'")
            data = {
                "system": system,
                "user": user,
                "gold": {"name": call.name, "parameters": call.arguments},
                "episode": _dialogue(user),
                "defect": _defect(system, call),
            }
        except (TypeError, KeyError, ValueError) as error:
            raise ReleaseError(
                f"{path}, record {index}: damaged ({type(error).__name__}: {error}); download it again: {self.download}"
            ) from None
        return Record(f"Level{split[-1]}_{index}", split, data)


def read_lines(output: str) -> Iterator[Any]:
    """What ToolRL's evaluation reads as calls: every line of the last ``<tool_call>`` block that is JSON.

    Without an opening tag that is every line of the response up to a closing one; without a closing tag, every line to
    the end. Lines that are no JSON are passed over, whatever they are.
    """
    for line in output.rpartition("<tool_call>")[2].partition("</tool_call>")[0].strip().split("\n"):
        if _JSON_START.match(line):  # Most other lines are told at a glance.
            try:
                yield json.loads(line)
            except (ValueError, RecursionError):
                continue


def is_gold(call: Any, gold: Mapping[str, Any]) -> bool:
    """Whether a JSON value is the gold call: name and parameters equal, or the bare parameters.

    A string is decoded once more.

    Raises:
        TypeError: A scalar. The official evaluation stops there, and the record is lost.
        ValueError: A string that is no JSON; likewise.
    """
    if isinstance(call, str):
        call = json.loads(call)
    if "name" not in call or "parameters" not in call:
        return call == gold["parameters"]
    return call["name"] == gold["name"] and call["parameters"] == gold["parameters"]


_TOOL = re.compile(
    r"^\d+\. (?:Name: (?P<name>\w+)\nDescription: (?P<description>.*)|(?P<short>\w+): (?P<text>.*))\n"
    r"Parameters: (?P<parameters>\{.*\})$",
    re.MULTILINE,
)
_TURN = re.compile(r"<(?P<tag>user|response|tool_call|obs)>(?P<text>.*?)</(?P=tag)>", re.DOTALL)
_HEADING = re.compile(r"\s*\*+Dialogue Records History\*+\s*")
_JSON_START = re.compile(r"[ \t\r]*[-\[{\"0-9NItfn]")
_LEAKED_ARGUMENT = re.compile(r"', \w+=")


def _defect(system: str, gold: ToolCall) -> str | None:
    parameters = {match["name"] or match["short"]: match["parameters"] for match in _TOOL.finditer(system)}
    if gold.name not in parameters:
        return "gold_tool_missing"
    # Arguments that were cut at the wrong quotation mark: one holds the next, or nothing is left of it.
    if any(value == "" or _LEAKED_ARGUMENT.search(str(value)) for value in gold.arguments.values()):
        return "corrupt_gold"
    if any(f"{name!r}: {{" not in parameters[gold.name] for name in gold.arguments):
        return "gold_argument_undeclared"
    return None


def _dialogue(user: str) -> str:
    """What the records of one dialogue share: its first utterance."""
    first = _TURN.search(user)
    if first is None:
        raise ValueError("no turn in 'user'")
    return first["text"].strip()


def _context(system: str, user: str) -> Context:
    """The step's context, out of the release's prompt: the tools, the turns so far, and the request as the goal.

    Raises:
        ValueError, SyntaxError: The prompt has another form.
    """
    tools = [_tool(match) for match in _TOOL.finditer(system)]
    turns = _HEADING.sub("", user, count=1)
    if not tools or (rest := _TURN.sub("", turns).strip()):
        raise ValueError("no tools" if not tools else f"text outside of any turn: {rest[:80]!r}")
    *history, request = [_message(match["tag"], match["text"].strip()) for match in _TURN.finditer(turns)]
    if request.role != "user":
        raise ValueError(f"the last turn is the {request.role}'s")
    return Context(tools=tools, history=history, goal=request.content)


def _tool(match: re.Match[str]) -> ToolSpec:
    """A tool of the release's list, its parameters as JSON Schema.

    All parameters are strings: the golds' values are, and the scorer takes nothing else. Where the release says another
    type, the description tells it.
    """
    properties = {}
    for name, fields in ast.literal_eval(match["parameters"]).items():
        description = fields["description"]
        if fields["type"] not in ("str", "string"):
            description += f" ({fields['type']}, written as a string)"
        properties[name] = {"type": "string", "description": description}
    return ToolSpec(
        function=FunctionSpec(
            name=match["name"] or match["short"],
            description=(match["description"] or match["text"] or "").strip(),
            parameters={"type": "object", "properties": properties},
        )
    )


def _message(tag: str, text: str) -> Message:
    match tag:
        case "user":
            return Message(role="user", content=text)
        case "obs":
            return Message(role="tool", content=text)
        case _:
            return Message(role="assistant", content=f"<{tag}>\n{text}\n</{tag}>" if tag == "tool_call" else text)
