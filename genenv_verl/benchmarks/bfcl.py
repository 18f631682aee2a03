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
"""BFCL, multi-turn with long context, every turn on its own, under the official check of state and response.

A turn is judged as the official checker judges it after the gold calls of all turns before: the back-ends' public state
must be equal, and the results must contain those of the gold calls. Back-ends and checker are those of the package
``bfcl-eval``; they ``eval`` what a model wrote, so they run in the sandbox and nowhere else.
"""

from __future__ import annotations

import functools
import importlib.util
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from genenv_verl.benchmarks.base import (
    Answer,
    Benchmark,
    Record,
    ReleaseError,
    ScorerUnavailable,
    Step,
    Verdict,
    register,
)
from genenv_verl.benchmarks.bfcl_calls import UnreadableAnswer, call_strings, given_call_strings, read_call_string
from genenv_verl.benchmarks.bfcl_release import (
    DOWNLOAD,
    VERSION,
    read_json_lines,
    read_with_answers,
    release_folder,
    tool_spec,
)
from genenv_verl.benchmarks.harness import call_block
from genenv_verl.tasks.sandbox.jail import Jail, JailUnavailable, Limits, NoReply
from genenv_verl.tasks.schema import Context, Message, Task, ToolCall, ToolSpec

CATEGORY = "multi_turn_long_context"
PROGRAM = "genenv_verl.benchmarks.bfcl_backend"
DOC_FILES = {
    "GorillaFileSystem": "gorilla_file_system.json",
    "MathAPI": "math_api.json",
    "MessageAPI": "message_api.json",
    "TwitterAPI": "posting_api.json",
    "TicketAPI": "ticket_api.json",
    "TradingBot": "trading_bot.json",
    "TravelAPI": "travel_booking.json",
    "VehicleControlAPI": "vehicle_control.json",
}
SHOWN = ("none", "gold")
# One call takes some hundredths of a second: only what never ends is stopped, on a busy machine too.
CALL_SECONDS = 20.0
LIMITS = Limits(memory_mb=512, reply_bytes=16 << 20)


@register
class Bfcl(Benchmark):
    """One record is an entry with all its turns, one step is a turn.

    Args:
        history: ``gold`` shows the turns before with their gold calls and what these returned, ``none`` does not.
        state: ``gold`` shows the back-ends' state at the beginning of the turn, as a last tool result; ``none`` does
            not, as in the official prompt.
    """

    name = "bfcl"
    download = DOWNLOAD
    official_counts = {CATEGORY: 734}

    def __init__(self, history: str = "gold", state: str = "none"):
        for option, value in (("history", history), ("state", state)):
            if value not in SHOWN:
                raise ValueError(f"bfcl: the option {option} is {value!r}, allowed are {', '.join(SHOWN)}")
        self.history, self.state = history, state

    def load(self, source: Path | None) -> list[Record]:
        folder = release_folder(source)
        questions, answers = folder / f"BFCL_v4_{CATEGORY}.json", folder / f"possible_answer/BFCL_v4_{CATEGORY}.json"
        required = {"initial_config": dict, "involved_classes": list}
        entries = read_with_answers(questions, answers, required)
        docs = _tool_docs(folder, entries, questions)
        return [_record(entry, docs, questions) for entry in entries]

    def counts(self, records: Sequence[Record]) -> dict[str, int]:
        """Turns."""
        return {CATEGORY: sum(len(record.data["gold"]) for record in records)}

    def steps(self, records: Iterable[Record]) -> Iterator[Step]:
        """The turns of all records. Needs the back-ends where history or state are shown."""
        for record in records:
            shown = [] if self.history == self.state == "none" else _replay(record)
            for turn in range(len(record.data["gold"])):
                yield self._step(record, turn, shown)

    def parse(self, step: Step, response: str) -> Answer:
        return {"model_output": response}

    def score(self, record: Record, answer: Mapping[str, Any]) -> Verdict:
        """1 if the calls of ``model_output`` (``decoded_exec`` where it is None) in ``turn`` pass the official check.

        Raises:
            ScorerUnavailable: ``bfcl-eval`` is not installed, or this machine cannot isolate.
        """
        turn, output = answer.get("turn"), answer.get("model_output")
        if type(turn) is not int or not 0 <= turn < len(record.data["gold"]):
            return Verdict(0.0, "no_such_turn")
        try:
            calls = call_strings(output) if isinstance(output, str) else given_call_strings(answer.get("decoded_exec"))
            verdict = _ask(record, "score", record.data["gold"][: turn + 1], calls)
        except UnreadableAnswer as unreadable:
            return Verdict(0.0, str(unreadable))
        except NoReply as lost:
            return Verdict(0.0, lost.reason)
        return Verdict(float(verdict["valid"]), verdict["reason"])

    def aggregate(self, verdicts: Sequence[tuple[Record, Verdict]]) -> dict[str, float]:
        """``score``: the share of turns that pass."""
        return {"score": sum(verdict.score for _, verdict in verdicts) / len(verdicts)} if verdicts else {}

    def _step(self, record: Record, turn: int, shown: Sequence[Mapping[str, Any]]) -> Step:
        """A turn. Its record holds what ``score`` reads, and no gold of later turns."""
        data = record.data
        tools = [tool_spec(function) for function in data["functions"]]
        *before, goal = data["question"][: turn + 1]
        calls = [_gold_calls(gold, tools) for gold in data["gold"][: turn + 1]]
        history: list[Message] = []
        if self.history == "gold":
            for messages, made, replayed in zip(before, calls, shown, strict=False):
                history += [*messages, *_made(made), *_results(replayed["results"])]
        if self.state == "gold":
            history.append(
                Message(role="tool", content=json.dumps({"state": shown[turn]["state"]}, ensure_ascii=False))
            )
        task = Task(
            task_id=f"bfcl/{record.record_id}/turn{turn}",
            family="bfcl",
            context=Context(tools=tools, history=[*history, *goal[:-1]], goal=goal[-1]["content"]),
            gold_action=calls[turn],
        )
        kept = {key: data[key] for key in ("initial_config", "involved_classes")}
        judged = Record(record.record_id, record.split, {**kept, "gold": data["gold"][: turn + 1]})
        return Step(f"{record.record_id}:turn{turn}", judged, task, {"turn": turn})


def _record(entry: Mapping[str, Any], docs: Mapping[str, list[dict[str, Any]]], path: Path) -> Record:
    gold = entry["ground_truth"]
    functions = [function for name in entry["involved_classes"] for function in docs[name]]
    names = {function["name"]: list(function["parameters"]["properties"]) for function in functions}
    try:
        question = [[Message.model_validate(message).model_dump() for message in turn] for turn in entry["question"]]
        if len(question) != len(gold) or not all(map(_ends_with_a_request, question)):
            raise ValueError(f"{len(question)} turns of a user, {len(gold)} of gold")
        called = {read_call_string(call, names)[0] for turn in gold for call in turn}
        if undocumented := sorted(called - names.keys()):
            raise ValueError(f"multi_turn_func_doc documents no function {undocumented[0]}")
    except (ValueError, TypeError) as error:
        raise ReleaseError(f"{path}: {entry['id']} or its answer is damaged ({error}); needed is {DOWNLOAD}") from None
    data = {
        "initial_config": entry["initial_config"],
        "involved_classes": entry["involved_classes"],
        "gold": gold,
        "question": question,
        "functions": functions,
    }
    return Record(entry["id"], CATEGORY, data)


def _ends_with_a_request(turn: Sequence[Mapping[str, str]]) -> bool:
    return bool(turn) and turn[-1]["role"] == "user" and turn[-1]["content"] != ""


def _tool_docs(folder: Path, entries: Iterable[Mapping[str, Any]], path: Path) -> dict[str, list[dict[str, Any]]]:
    """The documentation of the functions of every class that occurs."""
    classes = {str(name): entry["id"] for entry in entries for name in entry["involved_classes"]}
    if unknown := sorted(classes.keys() - DOC_FILES.keys()):
        raise ReleaseError(
            f"{path}: {classes[unknown[0]]} involves the unknown class {unknown[0]}; needed is {DOWNLOAD}"
        )
    docs = {}
    for name in sorted(classes):
        file = folder / "multi_turn_func_doc" / DOC_FILES[name]
        docs[name] = read_json_lines(file, {"name": str, "parameters": dict})
        if not all(isinstance(function["parameters"].get("properties"), dict) for function in docs[name]):
            raise ReleaseError(f"{file}: a function has no 'properties'; needed is {DOWNLOAD}")
    return docs


def _gold_calls(gold: Iterable[str], tools: Iterable[ToolSpec]) -> list[ToolCall]:
    names = {tool.name: list(tool.function.parameters["properties"]) for tool in tools}
    calls = (read_call_string(call, names) for call in gold)
    return [ToolCall(name=name, arguments=arguments) for name, arguments in calls]


def _made(calls: Sequence[ToolCall]) -> list[Message]:
    """Gold calls as the assistant's message in the shared form; none where nothing was called."""
    return [Message(role="assistant", content=call_block(calls))] if calls else []


def _results(results: Iterable[str]) -> list[Message]:
    """One tool result a call, so that a prompt's budget cuts the long ones alone."""
    return [Message(role="tool", content=result) for result in results]


def _replay(record: Record) -> list[dict[str, Any]]:
    """What the gold calls of each turn returned, and the state before them."""
    try:
        return _ask(record, "replay", record.data["gold"])["turns"]
    except NoReply as lost:
        raise ReleaseError(
            f"bfcl: the gold calls of {record.record_id} cannot be replayed ({lost}); needed is {DOWNLOAD}"
        ) from None


def _ask(record: Record, task: str, gold: Sequence[Sequence[str]], calls: Sequence[str] = ()) -> dict[str, Any]:
    """Has the back-ends answer a request in the sandbox.

    Raises:
        NoReply: They do not.
        ScorerUnavailable: There are none.
    """
    kept = {key: record.data[key] for key in ("initial_config", "involved_classes")}
    request = {"task": task, "entry": {"id": record.record_id, **kept}, "gold": gold, "calls": calls}
    return _backends().call(request, CALL_SECONDS)


@functools.cache
def _backends() -> Jail:
    if importlib.util.find_spec("bfcl_eval") is None:
        raise ScorerUnavailable(
            f"bfcl needs the back-ends of bfcl-eval {VERSION}, which is not installed: "
            "pip install '.[bfcl]' in genenv_verl's folder"
        )
    try:
        return Jail(PROGRAM, LIMITS)
    except JailUnavailable as unavailable:
        raise ScorerUnavailable(f"bfcl runs text of models: {unavailable}") from None
    except ImportError as incomplete:
        raise ScorerUnavailable(
            f"bfcl-eval is incomplete ({incomplete}): pip install '.[bfcl]' in genenv_verl's folder"
        ) from None
