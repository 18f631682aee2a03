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
"""The five hard constraints of TravelPlanner, with the official behaviours.

Each is None where the query does not ask for it. They are looked at only for plans that are complete and within the
database, so that what is missing there costs nothing here.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from genenv_verl.benchmarks.travelplanner_commonsense import Query, flight_number
from genenv_verl.benchmarks.travelplanner_database import Database, Places
from genenv_verl.benchmarks.travelplanner_plan import Day, first_days, is_given, meals_of, name_and_city, route

HardConstraint = Callable[[Query, Sequence[Day], Database], bool | None]

HARD_NAMES = {
    "valid_cuisine": "cuisine",
    "valid_room_rule": "house rule",
    "valid_transportation": "transportation",
    "valid_room_type": "room type",
}
"""The optional constraints, and their keys in ``local_constraint``; ``valid_cost`` applies always."""

_FORBIDDING = {
    "smoking": "No smoking",
    "parties": "No parties",
    "children under 10": "No children under 10",
    "visitors": "No visitors",
    "pets": "No pets",
}
_ROOM_TYPES = {"shared room": "Shared room", "private room": "Private room", "entire room": "Entire home/apt"}
_FORBIDDEN_MODES = {"no flight": "Flight", "no self-driving": "Self-driving"}

_SEATS = {"self-driving": 5, "taxi": 4}


def valid_cuisine(query: Query, plan: Sequence[Day], database: Database) -> bool | None:
    """Every wanted cuisine is served at some meal outside the origin."""
    wanted = query["local_constraint"]["cuisine"]
    if not wanted:
        return None
    served: set[str] = set()
    for day in first_days(plan, query["days"]):
        for _, restaurant in meals_of(day):
            name, city = name_and_city(restaurant)
            if city == query["org"]:
                break  # The later meals of the day are passed over too.
            if place := _first(database.restaurants, name, city):
                served.update(cuisine for cuisine in wanted if cuisine in place["Cuisines"])
    return served == set(wanted)


def valid_room_rule(query: Query, plan: Sequence[Day], database: Database) -> bool | None:
    """No accommodation forbids what the query needs."""
    rule = query["local_constraint"]["house rule"]
    if rule is None:
        return None
    forbidding = _FORBIDDING.get(rule)
    return forbidding is None or not any(
        forbidding in place["house_rules"] for place in _accommodations(query, plan, database)
    )


def valid_transportation(query: Query, plan: Sequence[Day], database: Database) -> bool | None:
    """The unwanted means of transport is not used. Unlike elsewhere, case matters."""
    wish = query["local_constraint"]["transportation"]
    if wish is None:
        return None
    used = [day["transportation"] for day in first_days(plan, query["days"]) if is_given(day["transportation"])]
    forbidden = _FORBIDDEN_MODES.get(wish)
    return forbidden is None or not any(forbidden in text for text in used)


def valid_room_type(query: Query, plan: Sequence[Day], database: Database) -> bool | None:
    """Every accommodation is of the wanted type."""
    wanted = query["local_constraint"]["room type"]
    if wanted is None:
        return None
    types = [place["room type"] for place in _accommodations(query, plan, database)]
    if wanted == "not shared room":
        return "Shared room" not in types
    return wanted not in _ROOM_TYPES or all(room_type == _ROOM_TYPES[wanted] for room_type in types)


def valid_cost(query: Query, plan: Sequence[Day], database: Database) -> bool:
    """The trip costs no more than the budget."""
    return bool(total_cost(query, plan, database) <= query["budget"])


def total_cost(query: Query, plan: Sequence[Day], database: Database) -> float:
    """What a plan costs all travellers together, in dollars. Attractions are free."""
    people, total = query["people_number"], 0.0
    for day in first_days(plan, query["days"]):
        if is_given(day["transportation"]):
            total += _transport_cost(day, people, database)
        for _, restaurant in meals_of(day):
            if place := _first(database.restaurants, *name_and_city(restaurant)):
                total += place["Average Cost"] * people
        if is_given(day["accommodation"]) and (
            place := _first(database.accommodations, *name_and_city(day["accommodation"]))
        ):
            total += place["price"] * math.ceil(people / place["maximum occupancy"])
    return total


def _transport_cost(day: Day, people: int, database: Database) -> float:
    text = day["transportation"]
    origin, destination = route(text)
    if origin is None:
        origin, destination = route(day["current_city"])
    if origin is None:
        return 0
    if "flight number" in text.lower():
        return (database.flights.price(flight_number(text)) or 0) * people
    for vehicle, seats in _SEATS.items():
        if vehicle in text.lower():
            return database.road_cost(origin, destination, vehicle) * math.ceil(people / seats)
    return 0


def _accommodations(query: Query, plan: Sequence[Day], database: Database) -> Iterator[Mapping[str, Any]]:
    for day in first_days(plan, query["days"]):
        if is_given(day["accommodation"]) and (
            place := _first(database.accommodations, *name_and_city(day["accommodation"]))
        ):
            yield place


def _first(places: Places, name: str, city: str) -> Mapping[str, Any] | None:
    return next(iter(places.find(name, city)), None)


HARD: dict[str, HardConstraint] = {
    constraint.__name__: constraint
    for constraint in (valid_cuisine, valid_room_rule, valid_transportation, valid_room_type, valid_cost)
}
