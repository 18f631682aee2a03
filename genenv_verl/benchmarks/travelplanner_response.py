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
"""Reads a model's response as a TravelPlanner plan: a JSON plan, or the text form "Day 1: … Current City: …".

The official pipeline lets GPT-4 turn text into JSON; this reader is deterministic.
"""

from __future__ import annotations

import re
from typing import Any

from genenv_verl.benchmarks.travelplanner_plan import DAY_FIELDS
from genenv_verl.tasks.json_reader import JsonReadError, find_json_values, replace_lone_surrogates

MAX_RESPONSE_CHARS = 65_536
_MAX_DAYS = 31

Plan = list[dict[str, Any]]


def read_plan(response: str) -> Plan | None:
    """The plan of a response, or None where there is none. Never raises.

    Thoughts are cut; ``<response>`` is read if there is one. A JSON plan is a list of days, an object that holds such a
    list under some key, or days one after another; else lines "Day 1" and "Field: text" are read.
    """
    if len(response) > MAX_RESPONSE_CHARS:
        return None
    answer = replace_lone_surrogates(response).rpartition("</think>")[2].partition("<think>")[0]
    if "<response>" in answer:
        answer = answer.partition("<response>")[2].partition("</response>")[0]
    return _json_plan(answer) or _text_plan(answer)


def _json_plan(text: str) -> Plan | None:
    try:
        values = find_json_values(text, _MAX_DAYS)
    except JsonReadError:
        return None
    for value in values:
        for days in value.values() if isinstance(value, dict) else [value]:
            if isinstance(days, list) and any(_is_day(day) for day in days):
                return [_with_field_names(day) for day in days[:_MAX_DAYS]]
    return [_with_field_names(day) for day in values if _is_day(day)] or None


def _is_day(value: Any) -> bool:
    return isinstance(value, dict) and "current_city" in _with_field_names(value)


def _with_field_names(day: Any) -> Any:
    """The day with the official field names: ``Current City`` is ``current_city``. Values stay as they are."""
    if not isinstance(day, dict):
        return day
    return {_FIELDS.get(_field_key(name), name): value for name, value in day.items()}


def _text_plan(text: str) -> Plan | None:
    days: Plan = []
    for line in text.splitlines():
        line = _MARKUP.sub("", line).strip()
        if (heading := _DAY.match(line)) and len(days) < _MAX_DAYS:
            days.append({"days": int(heading[1])})
            continue
        name, colon, value = line.partition(":")
        field = _FIELDS.get(_field_key(name))
        if days and colon and field and field not in days[-1]:
            days[-1][field] = _attractions(value.strip()) if field == "attraction" else value.strip()
    return [day for day in days if "current_city" in day] or None


def _attractions(text: str) -> str:
    """Ends the last attraction with the semicolon without which it would not be looked at."""
    text = text.rstrip(" .;")
    return text if text in ("", "-") else text + ";"


def _field_key(name: str) -> str:
    return name.strip().lower().replace(" ", "_")


_FIELDS = {field: field for field in DAY_FIELDS} | {"day": "days", "attractions": "attraction"}
_MARKUP = re.compile(r"^[\s#>*\-\u2022]+(?=\S)|\*\*|__")
_DAY = re.compile(r"day\s{0,3}:?\s{0,3}(\d{1,2})(?!\d)", re.IGNORECASE)
