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
"""The release of BFCL: a folder laid out as the data of the package ``bfcl-eval``, or that of the installed package.

Files are JSON Lines, whatever their names say. Nothing of ``bfcl_eval`` is imported here.
"""

from __future__ import annotations

import importlib.util
import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from genenv_verl.benchmarks.base import ReleaseError
from genenv_verl.tasks.schema import FunctionSpec, ToolSpec

VERSION = "2026.3.23"
DOWNLOAD = (
    f"the data of PyPI's bfcl-eval {VERSION}: pip install '.[bfcl]' in genenv_verl's folder, or bfcl_eval/data out of "
    "its wheel"
)

# BFCL names types as Python does; what is "any" has no type in JSON Schema.
_JSON_TYPES = {"dict": "object", "float": "number", "tuple": "array", "list": "array"}
_ANY = "any"


def release_folder(source: Path | None) -> Path:
    """The folder of a release, that of the installed ``bfcl-eval`` for None.

    Raises:
        ReleaseError: There is none.
    """
    if source is not None:
        if not source.is_dir():
            raise ReleaseError(f"{source} is no folder; needed is {DOWNLOAD}")
        return source
    package = importlib.util.find_spec("bfcl_eval")
    if package is None or not package.submodule_search_locations:
        raise ReleaseError(f"bfcl-eval is not installed and no folder is given; needed is {DOWNLOAD}")
    return Path(package.submodule_search_locations[0]) / "data"


def read_json_lines(path: Path, required: Mapping[str, type]) -> list[dict[str, Any]]:
    """The objects of a file, each with the required keys of the required types.

    Raises:
        ReleaseError: The file is missing or damaged; the message names path and line.
    """
    try:
        text = path.read_text(encoding="utf-8")
    except FileNotFoundError:
        raise ReleaseError(f"{path} is missing; needed is {DOWNLOAD}") from None
    except (OSError, UnicodeDecodeError) as error:
        raise ReleaseError(f"{path} cannot be read ({error}); needed is {DOWNLOAD}") from None
    found = []
    for number, line in enumerate(text.split("\n"), start=1):
        if line.strip():
            found.append(_read_object(line, required, f"{path}, line {number}"))
    if not found:
        raise ReleaseError(f"{path} is empty; needed is {DOWNLOAD}")
    return found


def read_with_answers(questions: Path, answers: Path, required: Mapping[str, type]) -> list[dict[str, Any]]:
    """The entries of a question file, each with its ``ground_truth`` out of the answer file.

    Raises:
        ReleaseError: A file is missing or damaged, an id occurs twice, or an entry is in one of the files only.
    """
    truth_of = _by_id(read_json_lines(answers, {"id": str, "ground_truth": list}), answers)
    entries = _by_id(read_json_lines(questions, {"id": str, "question": list, **required}), questions)
    if lost := sorted(entries.keys() - truth_of.keys()):
        raise ReleaseError(f"{answers} has no answer to {lost[0]} ({len(lost)} in all); needed is {DOWNLOAD}")
    if lost := sorted(truth_of.keys() - entries.keys()):
        raise ReleaseError(f"{questions} has no question {lost[0]} ({len(lost)} in all); needed is {DOWNLOAD}")
    return [{**entry, "ground_truth": truth_of[name]["ground_truth"]} for name, entry in entries.items()]


def tool_spec(function: Mapping[str, Any]) -> ToolSpec:
    """BFCL's documentation of a function as a tool specification; what it says of the results is left out."""
    return ToolSpec(
        function=FunctionSpec(
            name=function["name"],
            description=function.get("description", ""),
            parameters=json_schema(function["parameters"]),
        )
    )


def json_schema(schema: Mapping[str, Any]) -> dict[str, Any]:
    """BFCL's description of a parameter as JSON Schema.

    Only types are translated. ``properties`` is descended by name, since a property may itself be called ``type``.
    """
    converted = {key: value for key, value in schema.items() if key not in {"type", "properties", "items"}}
    declared = schema.get("type", _ANY)
    if declared != _ANY:
        converted["type"] = _JSON_TYPES.get(declared, declared)
    if isinstance(schema.get("properties"), dict):
        converted["properties"] = {name: json_schema(each) for name, each in schema["properties"].items()}
    if isinstance(schema.get("items"), dict):
        converted["items"] = json_schema(schema["items"])
    return converted


def _read_object(line: str, required: Mapping[str, type], place: str) -> dict[str, Any]:
    try:
        value = json.loads(line)
    except (ValueError, RecursionError) as error:
        raise ReleaseError(f"{place}: damaged ({error}); needed is {DOWNLOAD}") from None
    if not isinstance(value, dict):
        raise ReleaseError(f"{place}: damaged (no JSON object); needed is {DOWNLOAD}")
    for key, kind in required.items():
        if not isinstance(value.get(key), kind):
            raise ReleaseError(f"{place}: {key!r} is no {kind.__name__}; needed is {DOWNLOAD}")
    return value


def _by_id(entries: Iterable[dict[str, Any]], path: Path) -> dict[str, dict[str, Any]]:
    found: dict[str, dict[str, Any]] = {}
    for entry in entries:
        if entry["id"] in found:
            raise ReleaseError(f"{path}: the id {entry['id']} occurs twice; needed is {DOWNLOAD}")
        found[entry["id"]] = entry
    return found
