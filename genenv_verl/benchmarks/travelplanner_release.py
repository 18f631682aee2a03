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
"""TravelPlanner's queries, gold plans and reference information, read from the official files.

The Hugging Face data set has one CSV a split, whose structured columns are Python literals. Queries as JSON Lines are
read as well, and ``example_evaluation.jsonl`` of the repository where there is no ``validation.csv``.
"""

from __future__ import annotations

import ast
import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pandas as pd

from genenv_verl.benchmarks.base import Record, ReleaseError

DOWNLOAD = "train.csv, validation.csv and test.csv of https://huggingface.co/datasets/osunlp/TravelPlanner (CC-BY-4.0)"

SPLITS = ("train", "validation", "test")
LABELS = ("org", "dest", "days", "visiting_city_number", "people_number", "local_constraint", "budget")
"""What the constraints read of a query. The official test split keeps all of it back but ``days``."""

_CONSTRAINTS = ("house rule", "cuisine", "room type", "transportation")
_LITERALS = ("local_constraint", "annotated_plan", "reference_information", "date")
_NUMBERS = ("days", "visiting_city_number", "people_number", "budget")
_EXAMPLES = ("example_evaluation.jsonl", "postprocess/example_evaluation.jsonl")


def read_records(source: Path, database: Path) -> list[Record]:
    """All queries of a release, split by split in the official order; ``record_id`` is ``<split>_<index from 0>``.

    Raises:
        ReleaseError: No query file is there, one is damaged, or a query of the train or validation split lacks a label.
    """
    records = [
        _record(split, index, row, where, str(database))
        for split in SPLITS
        for index, (where, row) in enumerate(_rows(source, split))
    ]
    if not records:
        raise ReleaseError(f"{source} holds no train.csv, validation.csv or test.csv; download {DOWNLOAD}")
    return records


def missing_labels(record: Record) -> list[str]:
    """The labels that a record lacks; without all of them it cannot be scored."""
    return [label for label in LABELS if label not in record.data["query"]]


def _rows(source: Path, split: str) -> Iterator[tuple[str, dict[str, Any]]]:
    """The queries of a split with the place that each was read from; none where the split is not there."""
    for name in (f"{split}.csv", f"{split}_queries.jsonl"):
        if (path := source / name).is_file():
            yield from _csv_rows(path) if path.suffix == ".csv" else _with_references(source, split, _jsonl_rows(path))
            return
    if split == "validation":
        for path in (source / name for name in _EXAMPLES):
            if path.is_file():
                # Queries with somebody's plans: neither labels nor gold.
                yield from ((where, {"query": row.get("query")}) for where, row in _jsonl_rows(path))
                return


def _csv_rows(path: Path) -> Iterator[tuple[str, dict[str, Any]]]:
    try:
        table = pd.read_csv(path, dtype=str, keep_default_na=False)
    except (OSError, ValueError) as error:
        raise ReleaseError(f"{path} is damaged ({error}); download it again: {DOWNLOAD}") from error
    if table.empty:
        raise ReleaseError(f"{path} holds no query; download it again: {DOWNLOAD}")
    for number, row in enumerate(table.to_dict("records"), start=2):
        where = f"{path}, line {number}"
        yield where, {key: _cell(key, text, where) for key, text in row.items() if text}


def _cell(key: str, text: str, where: str) -> Any:
    try:
        if key in _LITERALS:
            return ast.literal_eval(text)
        return int(float(text)) if key in _NUMBERS else text
    except (ValueError, SyntaxError, RecursionError, MemoryError, OverflowError) as error:
        raise ReleaseError(f"{where}: {key} is damaged ({error}); download it again: {DOWNLOAD}") from error


def _jsonl_rows(path: Path) -> Iterator[tuple[str, dict[str, Any]]]:
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
    except (OSError, ValueError) as error:
        raise ReleaseError(f"{path} is damaged ({error}); download it again: {DOWNLOAD}") from error
    if not lines:
        raise ReleaseError(f"{path} holds no line; download it again: {DOWNLOAD}")
    for number, line in enumerate(lines, start=1):
        where = f"{path}, line {number}"
        try:
            row = json.loads(line)
        except (ValueError, RecursionError) as error:
            raise ReleaseError(f"{where} is damaged ({error}); download it again: {DOWNLOAD}") from error
        if not isinstance(row, dict):
            raise ReleaseError(f"{where} is no JSON object; download it again: {DOWNLOAD}")
        yield where, row


def _with_references(
    source: Path, split: str, rows: Iterator[tuple[str, dict[str, Any]]]
) -> Iterator[tuple[str, dict[str, Any]]]:
    """Adds the reference information, which the repository keeps in a file of its own, line by line."""
    name = f"{split}_ref_info.jsonl"
    path = next((path for path in (source / name, source / "database" / name) if path.is_file()), None)
    if path is None:
        raise ReleaseError(f"{source / name} is missing: the prompts are made of it; download {DOWNLOAD}")
    references = list(_jsonl_rows(path))
    for index, (where, row) in enumerate(rows):
        if index >= len(references):
            raise ReleaseError(f"{path} ends before query {index} of {where}; download it again: {DOWNLOAD}")
        place, reference = references[index]
        sections = [{"Description": title, "Content": content} for title, content in reference.items()]
        yield where, {**row, "reference_information": sections, "reference_place": place}


def _record(split: str, index: int, row: dict[str, Any], where: str, database: str) -> Record:
    plan = row.get("annotated_plan")
    if isinstance(plan, list) and len(plan) == 2 and isinstance(plan[0], dict) and isinstance(plan[1], list):
        # The annotation repeats the query, with labels that the row itself may lack.
        row = {**plan[0], **row}
        plan = [day for day in plan[1] if day]
    elif plan is not None:
        raise ReleaseError(f"{where}: annotated_plan is no pair of query and days; download it again: {DOWNLOAD}")
    query = {key: row[key] for key in (*LABELS, "query", "level") if key in row}
    if not isinstance(query.get("query"), str) or not query["query"].strip():
        raise ReleaseError(f"{where}: no query; download it again: {DOWNLOAD}")
    record = Record(
        record_id=f"{split}_{index}",
        split=split,
        data={
            "query": query,
            "database": database,
            "reference": [
                _section(section, row.get("reference_place", where))
                for section in row.get("reference_information") or ()
            ],
            "gold_plan": plan,
            "has_gold": bool(plan),
        },
    )
    if not is_query_only(split, query):
        _check_labels(record, where)
    return record


def is_query_only(split: str, query: Mapping[str, Any]) -> bool:
    """Whether a query comes from a file that holds no labels by design: the test split, or the example plans."""
    return split == "test" or (split == "validation" and set(query) == {"query"})


def _check_labels(record: Record, where: str) -> None:
    if missing := missing_labels(record):
        raise ReleaseError(
            f"{where}: a record of the {record.split} split lacks {', '.join(missing)}; download it again: {DOWNLOAD}"
        )
    query = record.data["query"]
    numbers_hold = all(type(query[key]) is int and query[key] > 0 for key in _NUMBERS)
    constraints = query["local_constraint"]
    if not numbers_hold or not isinstance(constraints, dict) or any(key not in constraints for key in _CONSTRAINTS):
        raise ReleaseError(
            f"{where}: {', '.join(_NUMBERS)} must be positive whole numbers and local_constraint must have the keys "
            f"{', '.join(_CONSTRAINTS)}; download it again: {DOWNLOAD}"
        )


def _section(section: Any, where: str) -> dict[str, str]:
    """One search result as a title and its text; tables without the columns that no plan needs."""
    match section:
        case {"Description": str(title), "Content": str(content)}:
            return {"title": title, "text": "\n".join(" ".join(line.split()) for line in content.splitlines())}
        case {"Description": str(title), "Content": [*rows]} if all(isinstance(row, dict) for row in rows):
            return {"title": title, "text": _table(rows)}
    raise ReleaseError(f"{where}: reference_information is damaged; download it again: {DOWNLOAD}")


_UNUSED_COLUMNS = {"Latitude", "Longitude", "Address", "Phone", "Website", "City", "city", "Distance"}


def _table(rows: list[dict[str, Any]]) -> str:
    """Rows as lines of ``a | b | c`` under their column names."""
    columns = [column for column in (rows[0] if rows else ()) if column not in _UNUSED_COLUMNS]
    lines = [" | ".join(str(row.get(column, "")) for column in columns) for row in rows]
    return "\n".join([" | ".join(columns), *lines])
