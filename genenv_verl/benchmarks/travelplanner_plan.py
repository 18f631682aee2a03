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
"""The fields of a TravelPlanner plan, read as the official evaluation reads them.

A plan comes from a model and may be any JSON. Nothing here checks types: a value of the wrong type raises, where the
official code would raise too, and :data:`CRASHES` are counted as a failed answer by the scorer.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

MEALS = ("breakfast", "lunch", "dinner")
DAY_FIELDS = ("days", "current_city", "transportation", "breakfast", "attraction", "lunch", "dinner", "accommodation")

MAX_ROUTE_CHARS = 500
"""Longer texts are not searched for a route: the search is quadratic. Real ones have up to 204 characters."""

CRASHES = (KeyError, IndexError, TypeError, AttributeError, ValueError, RecursionError)
"""What reading a plan of a wrong shape raises."""

Day = Mapping[str, Any]


def first_days(plan: Sequence[Day], days: int) -> Iterator[Day]:
    """The days of a plan that are looked at: those after the query's ``days`` are ignored."""
    for number in range(min(days, len(plan))):
        yield plan[number]


def is_given(value: Any) -> bool:
    """Whether a field says something: neither empty nor the placeholder ``-``."""
    return bool(value) and value != "-"


def city_name(text: str) -> str:
    """A city without its state: ``Rockford(Illinois)`` is ``Rockford``."""
    opening = text.find("(")
    if opening < 0 or text.find(")", opening) < 0 or "\n" in text[:opening]:
        return text
    return text[:opening]


def route(text: str) -> tuple[str, str] | tuple[None, None]:
    """A and B of the first "from A to B" in a text; B ends at a comma or at the text's end.

    Raises:
        ValueError: The text has more than ``MAX_ROUTE_CHARS`` characters.
    """
    if len(text) > MAX_ROUTE_CHARS:
        raise ValueError(f"a text of {len(text)} characters is searched for no route")
    if (found := _ROUTE.search(text)) is None:
        return None, None
    return found["origin"] or found["blank"], found["destination"]


def cities_of(current_city: str) -> tuple[str, ...]:
    """The cities of a day: two on a day of travel, else one."""
    if "from" in current_city:
        origin, destination = route(current_city)
        return city_name(origin), city_name(destination)
    return (city_name(current_city),)


def name_and_city(text: str) -> tuple[str, str]:
    """``Name, with commas, City(State)`` as name and city; ``-`` for both where there is no city."""
    head, comma, city = text.rpartition(",")
    if not comma or not city:
        return "-", "-"
    return head.rpartition("\n")[2].strip(), city_name(city.strip()).strip()


def attractions_of(day: Day) -> list[str]:
    """The attractions of a day. What stands behind the last ``;`` is ignored, as in the official evaluation."""
    return day["attraction"].split(";")[:-1] if is_given(day.get("attraction")) else []


def meals_of(day: Day) -> Iterator[tuple[str, Any]]:
    """The meals of a day that are given, with their names."""
    for meal in MEALS:
        if is_given(day.get(meal)):
            yield meal, day[meal]


# Where nothing but blanks stands between "from" and "to", the official pattern takes one of them for A.
_ROUTE = re.compile(
    r"from\s+(?:(?=\S)(?P<origin>.+?)(?<=\S)|(?P<blank>[^\S\n]))\s+to\s+(?P<destination>[^,]+)",
)
