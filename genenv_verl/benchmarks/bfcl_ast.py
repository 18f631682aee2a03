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
"""BFCL's single-turn categories for Python under the AST check: calls against the possible values of every argument."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from jsonschema import Draft202012Validator

from genenv_verl.benchmarks.base import Answer, Benchmark, Record, ReleaseError, Step, Verdict, register
from genenv_verl.benchmarks.bfcl_ast_checker import check_calls
from genenv_verl.benchmarks.bfcl_calls import UnreadableAnswer, call_objects, given_call_strings, read_call_string
from genenv_verl.benchmarks.bfcl_release import DOWNLOAD, read_with_answers, release_folder, tool_spec
from genenv_verl.tasks.schema import Context, Message, Task, ToolCall

CATEGORIES = (
    "simple_python",
    "multiple",
    "parallel",
    "parallel_multiple",
    "live_simple",
    "live_multiple",
    "live_parallel",
    "live_parallel_multiple",
)
# A sample of the release: the first 30 records of the six larger categories.
SAMPLE_FOLDER, SAMPLE_SUFFIX, SAMPLE_CATEGORIES = "ast_samples", ".first30", CATEGORIES[:6]


@register
class BfclAst(Benchmark):
    """One record is one step; its id is the release's, its split the category."""

    name = "bfcl_ast"
    download = DOWNLOAD

    def load(self, source: Path | None) -> list[Record]:
        """The records of every category; of a sample, where the folder holds ``ast_samples`` in the release's place."""
        folder = release_folder(source)
        if (folder / SAMPLE_FOLDER).is_dir():
            folder, suffix, answers, categories = folder / SAMPLE_FOLDER, SAMPLE_SUFFIX, "", SAMPLE_CATEGORIES
        else:
            suffix, answers, categories = "", "possible_answer/BFCL_v4_", CATEGORIES
        records = []
        for category in categories:
            questions = folder / f"BFCL_v4_{category}{suffix}.json"
            possible = folder / f"{answers or 'possible_answer_'}{category}{suffix}.json"
            entries = read_with_answers(questions, possible, {"function": list})
            records += [_record(entry, category, questions) for entry in entries]
        return records

    def steps(self, records: Iterable[Record]) -> Iterator[Step]:
        for record in records:
            yield Step(record.record_id, record, _task(record))

    def parse(self, step: Step, response: str) -> Answer:
        return {"model_output": response}

    def score(self, record: Record, answer: Mapping[str, Any]) -> Verdict:
        """1 if the calls of ``model_output`` (of ``decoded_exec`` where it is None) pass the official check."""
        functions = record.data["functions"]
        try:
            calls = _answered_calls(answer, functions)
        except UnreadableAnswer as unreadable:
            return Verdict(0.0, str(unreadable))
        except ValueError:
            return Verdict(0.0, "not_a_call")
        return _check(record, calls)

    def aggregate(self, verdicts: Sequence[tuple[Record, Verdict]]) -> dict[str, float]:
        """``score``, the share of right answers over all records, and the same by category."""
        scores: dict[str, list[float]] = defaultdict(list)
        for record, verdict in verdicts:
            scores["score"].append(verdict.score)
            scores[record.split].append(verdict.score)
        return {name: sum(each) / len(each) for name, each in scores.items()}

    def defect(self, record: Record) -> str | None:
        """``gold_fails``: the check refuses the first possible value of every argument; ``gold_breaks_schema``: the
        tool's own schema does, so that whoever keeps to it cannot answer."""
        task = _task(record)
        if not _check(record, [{call.name: call.arguments} for call in task.gold_action or ()]).score:
            return "gold_fails"
        schemas = {tool.name: tool.function.parameters for tool in task.context.tools}
        fits = all(Draft202012Validator(schemas[call.name]).is_valid(call.arguments) for call in task.gold_action or ())
        return None if fits else "gold_breaks_schema"


def _record(entry: Mapping[str, Any], category: str, path: Path) -> Record:
    try:
        (turn,) = entry["question"]
        question = [Message.model_validate(message).model_dump() for message in turn]
    except (ValueError, TypeError) as error:
        raise ReleaseError(f"{path}: {entry['id']} is no single turn ({error}); needed is {DOWNLOAD}") from None
    data = {"question": question, "functions": entry["function"], "answers": entry["ground_truth"]}
    if problem := _problem(**data):
        raise ReleaseError(f"{path}: {entry['id']} or its answer is damaged ({problem}); needed is {DOWNLOAD}")
    return Record(entry["id"], category, data)


def _problem(question: list[dict[str, str]], functions: list[Any], answers: list[Any]) -> str | None:
    """What keeps an entry from being a task, or None."""
    if not question or question[-1]["role"] != "user" or not question[-1]["content"]:
        return "its last message is no request of a user"
    if not functions or not all(_is_documented(function) for function in functions):
        return "a function lacks its name or parameters"
    if not answers or not all(_is_answer(answer) for answer in answers):
        return "an answer is no function with its arguments"
    return None


def _is_documented(function: Any) -> bool:
    return (
        isinstance(function, dict)
        and isinstance(function.get("name"), str)
        and function["name"] != ""
        and isinstance(function.get("description", ""), str)
        and isinstance(function.get("parameters"), dict)
    )


def _is_answer(answer: Any) -> bool:
    return isinstance(answer, dict) and len(answer) == 1 and all(isinstance(each, dict) for each in answer.values())


def _answers(record: Record) -> list[tuple[str, Mapping[str, Any]]]:
    return [item for answer in record.data["answers"] for item in answer.items()]


def _task(record: Record) -> Task:
    *earlier, goal = record.data["question"]
    return Task(
        task_id=f"bfcl_ast/{record.record_id}",
        family=f"bfcl_ast/{record.split}",
        context=Context(
            system="\n".join(each["content"] for each in earlier if each["role"] == "system"),
            tools=[tool_spec(function) for function in record.data["functions"]],
            history=[Message(**each) for each in earlier if each["role"] != "system"],
            goal=goal["content"],
        ),
        gold_action=[ToolCall(name=name, arguments=_first_values(possible)) for name, possible in _answers(record)],
    )


def _first_values(possible: Mapping[str, Any]) -> dict[str, Any]:
    """One possible value of every argument: the first. What may be left out is."""
    return {name: _first(values) for name, values in possible.items() if values != [] and not _is_optional(values)}


def _is_optional(values: Any) -> bool:
    return isinstance(values, list) and "" in values


def _first(values: Any) -> Any:
    """The first of possible values; an object among them lists the possible values of its own fields."""
    value = values[0] if isinstance(values, list) else values
    if isinstance(value, dict):
        return _first_values(value)
    return [_first([each]) for each in value] if isinstance(value, list) else value


def _answered_calls(answer: Mapping[str, Any], functions: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """The calls of an answer, ``{name: {parameter: value}}`` each; what has no ``parameters`` is no call."""
    output = answer.get("model_output")
    if isinstance(output, str):
        return [{each["name"]: each["parameters"]} for each in call_objects(output) if "parameters" in each]
    if output is not None:
        raise UnreadableAnswer("no_model_output")
    names = {function["name"]: list(function["parameters"].get("properties", {})) for function in functions}
    calls = (read_call_string(text, names) for text in given_call_strings(answer.get("decoded_exec")))
    return [{name: parameters} for name, parameters in calls]


def _check(record: Record, calls: list[dict[str, Any]]) -> Verdict:
    try:
        error = check_calls(record.data["functions"], calls, record.data["answers"], record.split)
    except (KeyError, TypeError, AttributeError, ValueError, OverflowError) as crash:
        # Where the official code raises, nothing says whether record or answer is at fault: a failed answer.
        return Verdict(0.0, f"official_crash:{type(crash).__name__}")
    return Verdict(0.0, error) if error else Verdict(1.0, "ok")
