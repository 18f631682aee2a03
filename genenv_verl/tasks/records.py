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
"""Task files: JSON Lines of tasks, and verl's rows (``prompt``, ``data_source``, ``reward_model``, ``extra_info``).

A row keeps the two halves of a task apart: ``extra_info.task`` holds all but the evaluation and the gold, which stand
in ``reward_model.ground_truth`` alone, where only the reward looks.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
from pydantic import ValidationError

from genenv_verl.tasks.json_reader import JsonReadError, read_json, replace_lone_surrogates
from genenv_verl.tasks.prompts import AgentPrompt
from genenv_verl.tasks.schema import Task, first_problem
from genenv_verl.tasks.tool_calls import CallError, format_calls, read_calls, solution_of_text

MAX_RECORD_CHARS = 16_000_000
MAX_PROBLEMS = 5

Messages = list[dict[str, str]]


class TaskFileError(ValueError):
    """A task file cannot be read or written; the message names the path and the broken rows, from 1."""


class RecordError(ValueError):
    """A record is no task.

    Attributes:
        reason: The named reason, stable enough to be counted: ``not_json`` or another reason of the JSON reader,
            ``not_utf8``, ``schema``, ``row`` (a row of verl that lacks something) or ``duplicate_id``.
    """

    def __init__(self, reason: str, detail: str):
        super().__init__(detail)
        self.reason = reason


@dataclass(frozen=True, slots=True)
class TaskRecord:
    """A task of a file.

    Attributes:
        row: The number of its line or row, from 1.
        task: The task.
        prompt: The messages that its row gives the agent; None for a record that is a task and no row of verl.
    """

    row: int
    task: Task
    prompt: Messages | None


def scan_records(path: str | Path) -> Iterator[tuple[int, Any | RecordError]]:
    """Reads the records of a file one after another, whatever they are.

    Args:
        path: ``.jsonl`` (a record a line; blank lines are passed over), ``.json`` (a list of records) or ``.parquet``.
            Halves of surrogate pairs become U+FFFD.

    Yields:
        The number of the line or row, from 1, and the record, or why its line is none.

    Raises:
        TaskFileError: The file cannot be read.
    """
    path = Path(path)
    try:
        match path.suffix:
            case ".jsonl":
                with path.open("rb") as lines:
                    for row, line in enumerate(lines, start=1):
                        if line.strip():
                            yield row, _read_line(line)
            case ".json":
                records = read_json(path.read_text(encoding="utf-8-sig"), max_chars=MAX_RECORD_CHARS * 16)
                if not isinstance(records, list):
                    raise TaskFileError(f"{path}: a .json file of tasks holds one list of records")
                yield from enumerate(records, start=1)
            case ".parquet":
                yield from enumerate(pq.read_table(path).to_pylist(), start=1)
            case _:
                raise TaskFileError(f"{path}: tasks are read from .jsonl, .json or .parquet")
    except OSError as error:
        raise TaskFileError(f"{path}: {error.strerror or error}") from error
    except (pa.ArrowException, JsonReadError, UnicodeDecodeError) as error:
        raise TaskFileError(f"{path}: {error}") from error


def task_of(record: Any) -> Task:
    """The task that a record is or, for a row of verl, holds. Older schema versions are brought up to date.

    Raises:
        RecordError: It is none.
    """
    if not isinstance(record, Mapping):
        raise RecordError("schema", f"a record is a JSON object, not {type(record).__name__}")
    try:
        return from_verl_row(record) if "prompt" in record else Task.model_validate(record)
    except ValidationError as error:
        raise RecordError("schema", first_problem(error)) from error
    except ValueError as error:
        raise RecordError("row", str(error)) from error


def read_records(path: str | Path) -> list[TaskRecord]:
    """Reads the tasks of a file with the prompts of their rows; see ``scan_records`` for its forms.

    Raises:
        TaskFileError: The file cannot be read, has broken rows (the first five are listed), or has a task twice.
    """
    found: list[TaskRecord] = []
    rows_of: dict[str, int] = {}
    problems: list[str] = []
    for row, record in scan_records(path):
        try:
            if isinstance(record, RecordError):
                raise record
            task = task_of(record)
            if (earlier := rows_of.setdefault(task.task_id, row)) != row:
                raise RecordError("duplicate_id", f"task_id {task.task_id!r} is row {earlier}'s already")
            found.append(TaskRecord(row, task, _own_prompt(record)))
        except RecordError as error:
            problems.append(f"row {row}: {error}")
            if len(problems) == MAX_PROBLEMS:
                break
    if problems:
        raise TaskFileError("\n  ".join([f"{path} has broken rows:", *problems]))
    return found


def read_tasks(path: str | Path) -> list[Task]:
    """Reads the tasks of a file: those of ``read_records``, which see."""
    return [record.task for record in read_records(path)]


def write_tasks(
    path: str | Path,
    tasks: Iterable[Task],
    *,
    prompt: Callable[[Task], Messages] | None = None,
    split: str = "train",
) -> None:
    """Writes tasks to a file, whole or not at all.

    Args:
        path: ``.jsonl`` writes tasks, ``.json`` and ``.parquet`` write rows of verl.
        tasks: The tasks; their ids must differ.
        prompt: Makes the messages of a row; the package's agent prompt by default.
        split: ``extra_info.split`` of the rows.

    Raises:
        TaskFileError: Two tasks share an id, or the suffix is another one.
    """
    path, tasks = Path(path), list(tasks)
    if len(ids := {task.task_id for task in tasks}) != len(tasks):
        raise TaskFileError(f"{path}: {len(tasks)} tasks share {len(ids)} task ids")
    path.parent.mkdir(parents=True, exist_ok=True)
    draft = path.with_name(path.name + ".tmp")
    if path.suffix == ".jsonl":
        draft.write_text("".join(f"{task.model_dump_json()}\n" for task in tasks), encoding="utf-8")
    elif path.suffix in {".json", ".parquet"}:
        prompt = prompt or AgentPrompt().messages
        rows = [to_verl_row(task, prompt(task), split=split, index=index) for index, task in enumerate(tasks)]
        if path.suffix == ".parquet":
            pq.write_table(pa.Table.from_pylist(rows), draft)
        else:
            draft.write_text(json.dumps(rows, ensure_ascii=False, indent=1), encoding="utf-8")
    else:
        raise TaskFileError(f"{path}: tasks are written as .jsonl, .json or .parquet")
    os.replace(draft, path)


def to_verl_row(task: Task, prompt: Messages, *, split: str = "train", index: int = 0) -> dict[str, Any]:
    """verl's row for a task.

    Args:
        task: The task.
        prompt: The messages that the agent gets.
        split: ``train`` or the name of an evaluation split.
        index: The row's number in its file, from 0.
    """
    return {
        "data_source": f"genenv/{task.family}",
        "prompt": prompt,
        "ability": "tool_use",
        "reward_model": {"style": "rule", "ground_truth": json.dumps(task.ground_truth(), ensure_ascii=False)},
        "extra_info": {
            "split": split,
            "index": index,
            "task_id": task.task_id,
            "seed_id": task.seed_id,
            "family": task.family,
            "task": task.model_dump_json(exclude={"evaluation", "gold_action"}),
        },
    }


def from_verl_row(row: Mapping[str, Any]) -> Task:
    """The task of a row; the inverse of ``to_verl_row``.

    A row of another data set becomes a task as well. Its goal is its last user message, system text and history are the
    other messages, with the calls that they made (``tool_calls``). Its tools are ``extra_info.tools`` or the column
    ``tools``: a list of specifications, or the JSON text of one, which parquet keeps as it is (of objects it makes
    structs, each with every key of any). A ground truth that is a list of calls (or one call), or a response that makes
    calls, is matched exactly, any other (text, or Search-R1's ``{"target": [text]}``) is a reference answer. The family
    is ``data_source``; the id is made of ``extra_info.index``, or of a hash of the row without one.

    Raises:
        ValueError: The row lacks something or holds something invalid (pydantic's ``ValidationError`` and
            ``JsonReadError`` are ValueErrors).
    """
    row = _plain(row)
    extra_info, truth = _part(row, "extra_info"), _part(row, "reward_model").get("ground_truth")
    task = extra_info.get("task")
    if isinstance(task, str) and task.startswith("{"):
        if not isinstance(truth, str):
            raise ValueError("reward_model.ground_truth is missing")
        solution = read_json(truth, max_chars=MAX_RECORD_CHARS)
        if not isinstance(solution, dict) or "evaluation" not in solution:
            raise ValueError("reward_model.ground_truth is not that of the task in extra_info.task")
        halves = {key: solution.get(key) for key in ("evaluation", "gold_action")}
        return Task.model_validate({**read_json(task, max_chars=MAX_RECORD_CHARS), **halves})
    family = str(row.get("data_source") or "default")
    return Task.model_validate(
        {
            "task_id": _foreign_id(row, family, extra_info),
            "family": family,
            "context": {**_foreign_context(row.get("prompt")), "tools": _foreign_tools(row, extra_info)},
            **_foreign_solution(truth),
        }
    )


def _read_line(line: bytes) -> Any | RecordError:
    try:
        return read_json(line.decode("utf-8-sig"), max_chars=MAX_RECORD_CHARS)
    except UnicodeDecodeError as error:
        return RecordError("not_utf8", str(error))
    except JsonReadError as error:
        reason = "not_json" if error.reason == "syntax" else error.reason
        return RecordError(reason, f"no JSON that is read: {error}")


def _own_prompt(record: Mapping[str, Any]) -> Messages | None:
    """The messages of a row of verl, as its author wrote them; parquet gives every message every key of any."""
    prompt = record.get("prompt")
    if isinstance(prompt, str):
        return [{"role": "user", "content": prompt}]
    return prompt and [{key: value for key, value in turn.items() if value is not None} for turn in prompt]


def _plain(value: Any) -> Any:
    """The value with lists and numbers in place of the arrays and scalars that pandas makes of them."""
    if hasattr(value, "tolist"):
        value = value.tolist()
    if isinstance(value, Mapping):
        return {key: _plain(inner) for key, inner in value.items()}
    return [_plain(inner) for inner in value] if isinstance(value, list | tuple) else value


def _part(row: Mapping[str, Any], key: str) -> Mapping[str, Any]:
    part = row.get(key)
    if part is None:
        return {}
    if not isinstance(part, Mapping):
        raise ValueError(f"{key} is an object, not {type(part).__name__}")
    return part


def _foreign_id(row: Mapping[str, Any], family: str, extra_info: Mapping[str, Any]) -> str:
    if (index := extra_info.get("index")) is not None:
        return "/".join(str(part) for part in (family, extra_info.get("split"), index) if part is not None)
    content = json.dumps(row, sort_keys=True, default=str)
    return f"{family}/{hashlib.blake2b(content.encode(), digest_size=8).hexdigest()}"


def _foreign_context(prompt: Any) -> dict[str, Any]:
    if isinstance(prompt, str):
        prompt = [{"role": "user", "content": prompt}]
    messages = []
    for turn in prompt if isinstance(prompt, Iterable) else ():
        if not isinstance(turn, Mapping) or not isinstance(content := turn.get("content") or "", str):
            raise ValueError("prompt is a list of messages with text as their content")
        content = "\n".join(filter(None, (content, _earlier_calls(turn.get("tool_calls")))))
        messages.append({"role": turn.get("role"), "content": replace_lone_surrogates(content)})
    users = [number for number, message in enumerate(messages) if message["role"] == "user"]
    if not users:
        raise ValueError("prompt has no user message that could be the goal")
    goal = messages.pop(users[-1])["content"]
    return {
        "goal": goal,
        "system": "\n\n".join(message["content"] for message in messages if message["role"] == "system"),
        "history": [message for message in messages if message["role"] != "system"],
    }


def _earlier_calls(given: Any) -> str:
    """The calls of an earlier turn, which OpenAI's form keeps beside its content, as the agent writes them."""
    try:
        return format_calls(read_calls(given or []))
    except CallError as error:
        raise ValueError(f"prompt: tool_calls: {error}") from error


def _foreign_tools(row: Mapping[str, Any], extra_info: Mapping[str, Any]) -> list[Any]:
    tools = extra_info.get("tools")
    tools = row.get("tools") if tools is None else tools
    if isinstance(tools, str):
        tools = read_json(tools, max_chars=MAX_RECORD_CHARS) if tools.strip() else None
    if not isinstance(tools, Iterable | None) or isinstance(tools, Mapping):
        raise ValueError("tools is a list of tool specifications")
    return list(tools or ())


def _foreign_solution(truth: Any) -> dict[str, Any]:
    if truth is None or (isinstance(truth, str) and not truth.strip()):
        raise ValueError("reward_model.ground_truth is missing")
    value = truth
    if isinstance(truth, str):
        try:
            value = read_json(truth)
        except JsonReadError:
            value = None  # Text.
    if isinstance(value, Mapping) and ("evaluation" in value or "gold_action" in value):
        return {key: value[key] for key in ("evaluation", "gold_action") if value.get(key) is not None}
    if isinstance(value, Mapping) and value.keys() == {"target"}:  # Search-R1's list of right answers.
        targets = value["target"] if isinstance(value["target"], list) else [value["target"]]
        if len(targets) != 1:
            raise ValueError(f"reward_model.ground_truth has {len(targets)} targets, a task has one reference answer")
        return solution_of_text(replace_lone_surrogates(str(targets[0])))
    if isinstance(value, list | dict):
        try:
            return {"gold_action": [call.model_dump() for call in read_calls(value)]}
        except CallError:
            pass  # Data that is no call is compared as text.
    try:
        text = truth if isinstance(truth, str) else json.dumps(truth, ensure_ascii=False)
    except TypeError as error:  # Parquet knows dates and bytes.
        raise ValueError(f"reward_model.ground_truth: {error}") from error
    return solution_of_text(replace_lone_surrogates(text))
