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
"""The eight commonsense constraints of TravelPlanner, with the official behaviours.

Each takes the query, the plan and the database, and says whether the plan passes. A plan of a wrong shape raises one
of ``CRASHES``, as in the official evaluation; the order of the tests within a constraint is the official one, since it
decides whether a fault is reached. What looks like an oversight there is kept, and said here.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import groupby
from typing import Any

from genenv_verl.benchmarks.travelplanner_database import Database
from genenv_verl.benchmarks.travelplanner_plan import (
    Day,
    attractions_of,
    cities_of,
    city_name,
    first_days,
    is_given,
    meals_of,
    name_and_city,
    route,
)

Query = Mapping[str, Any]
Constraint = Callable[[Query, Sequence[Day], Database], bool]

NOT_A_DAY = "You don't need to fill in the information for this or later days."
"""What the annotation tool writes into the days after a trip."""


def is_reasonable_visiting_city(query: Query, plan: Sequence[Day], database: Database) -> bool:
    """A closed tour that begins at the origin, through known cities; over three days within the destination state."""
    cities: list[str] = []
    for number, day in enumerate(first_days(plan, query["days"])):
        of_day = cities_of(day["current_city"])
        if number == 0 and len(of_day) == 2 and of_day[0] != query["org"]:
            return False
        cities += of_day
    if cities[0] != cities[-1] or not _is_tour(cities):
        return False
    if any(city not in database.states for city in cities):
        return False
    return query["days"] <= 3 or all(database.states[city] == query["dest"] for city in cities[1:-1])


def _is_tour(cities: Sequence[str]) -> bool:
    """Whether no city between the ends is visited twice, or is there but once (it is arrived at and left)."""
    visited: set[str] = set()
    start, last = 0, len(cities) - 1
    for city, run in groupby(cities):
        length = len(list(run))
        if city in visited and 0 < start < last:
            return False
        if length == 1 and 0 < start < last:
            return False
        visited.add(city)
        start += length
    return len(cities) >= 3


def is_valid_restaurants(query: Query, plan: Sequence[Day], database: Database) -> bool:
    """No restaurant twice. Texts are compared as they stand."""
    seen: list[Any] = []
    for day in first_days(plan, query["days"]):
        for _, restaurant in meals_of(day):
            if restaurant in seen:
                return False
            seen.append(restaurant)
    return True


def is_valid_attractions(query: Query, plan: Sequence[Day], database: Database) -> bool:
    """No attraction twice. Texts are compared as they stand, leading blanks included."""
    seen: set[str] = set()
    for day in first_days(plan, query["days"]):
        for attraction in attractions_of(day):
            if attraction in seen:
                return False
            seen.add(attraction)
    return True


def is_valid_accommodation(query: Query, plan: Sequence[Day], database: Database) -> bool:
    """The minimum number of nights is kept, where the name stands for exactly one accommodation."""
    stays: list[Any] = []
    for day in first_days(plan, query["days"]):
        if "accommodation" not in day:
            return False
        stays.append(day["accommodation"])
    for stay, days in groupby(stays):
        if stay in ("-", ""):
            continue
        found = database.accommodations.find(*name_and_city(stay))
        if len(found) == 1 and len(list(days)) < found[0]["minimum nights"]:
            return False
    return True


def is_valid_transportation(query: Query, plan: Sequence[Day], database: Database) -> bool:
    """Something on the first day, and a car of one's own with neither flights nor taxis."""
    if not is_given(plan[0]["transportation"]):
        return False
    modes = {
        _mode(day["transportation"]) for day in first_days(plan, query["days"]) if is_given(day.get("transportation"))
    }
    return not ("self-driving" in modes and modes & {"flight", "taxi"})


def _mode(text: str) -> str | None:
    return next((mode for mode in ("taxi", "self-driving", "flight") if mode in text.lower()), None)


def is_valid_information_in_current_city(query: Query, plan: Sequence[Day], database: Database) -> bool:
    """Everything of a day names a city of that day; the accommodation names the last one, the transport all of them.

    On a day in one city the official code takes the city's name for the list of cities, so that its letters are looked
    for instead: one of them is enough.
    """
    return all(_stays_in_city(day) for day in first_days(plan, query["days"]))


def _stays_in_city(day: Day) -> bool:
    of_day = cities_of(day["current_city"])
    cities = of_day if len(of_day) == 2 else of_day[0]
    if is_given(day.get("transportation")) and not all(city in day["transportation"] for city in cities):
        return False
    if not all(any(city in restaurant for city in cities) for _, restaurant in meals_of(day)):
        return False
    if not all(any(city in attraction for city in cities) for attraction in attractions_of(day)):
        return False
    return not is_given(day.get("accommodation")) or cities[-1] in day["accommodation"]


def is_valid_information_in_sandbox(query: Query, plan: Sequence[Day], database: Database) -> bool:
    """Everything that is named is in the database. A part of a name is enough."""
    return all(_is_known(day, database) for day in first_days(plan, query["days"]))


def _is_known(day: Day, database: Database) -> bool:
    if is_given(day["transportation"]) and not _is_known_transport(day["transportation"], day, database):
        return False
    if not all(database.restaurants.find(*name_and_city(restaurant)) for _, restaurant in meals_of(day)):
        return False
    if not all(database.attractions.find(*name_and_city(attraction)) for attraction in attractions_of(day)):
        return False
    accommodation = day.get("accommodation")
    return not is_given(accommodation) or bool(database.accommodations.find(*name_and_city(accommodation)))


def _is_known_transport(text: str, day: Day, database: Database) -> bool:
    """A flight whose number and cities agree, or a way by road. Other means of transport are not looked up."""
    origin, destination = route(text)
    if origin is None:
        origin, destination = route(day["current_city"])
    if "flight number" in text.lower():
        return database.flights.has(flight_number(text), city_name(origin), city_name(destination))
    if "self-driving" not in text.lower() and "taxi" not in text.lower():
        return True
    vehicle = "self-driving" if "self-driving" in text.lower() else "taxi"
    return origin is not None and database.road_cost(origin, destination, vehicle) is not None


def flight_number(text: str) -> str:
    """The number in ``Flight Number: F1234567, …`` (IndexError where it is spelt in another way)."""
    return text.split("Flight Number: ")[1].split(",")[0]


def is_not_absent(query: Query, plan: Sequence[Day], database: Database) -> bool:
    """The right number of days and cities, no day without what it needs, and half of all fields at least."""
    days = query["days"]
    looked_at = list(first_days(plan, days))
    if sum(day != {} and day["current_city"] != NOT_A_DAY for day in looked_at) != days:
        return False
    if not _has_city_number(query, looked_at):
        return False
    if not all(_is_complete(day, is_last=number == days - 1) for number, day in enumerate(looked_at)):
        return False
    given = sum(is_given(value) for day in looked_at for value in day.values())
    return given / (6 * days) >= 0.5


def _has_city_number(query: Query, days: Sequence[Day]) -> bool:
    cities: set[str] = set()
    for number, day in enumerate(days):
        of_day = cities_of(day["current_city"])
        if number == 0 and len(of_day) == 2 and of_day[0] != query["org"]:
            return False
        cities.update(of_day)
    return len(cities - {query["org"]}) == query["visiting_city_number"]


def _is_complete(day: Day, *, is_last: bool) -> bool:
    fields = ("transportation", "breakfast", "lunch", "dinner", "attraction", "accommodation")
    if any(field not in day for field in fields):
        return False
    city, empty = day["current_city"], ("", "-")
    if ("from " in city or "to " in city) and day["transportation"] in empty:
        return False
    if "from " not in city and " to " not in city and day["attraction"] in empty:
        return False
    if not is_last and day["accommodation"] in empty:
        return False
    # A meal that is null passes: only the empty text and the placeholder count as missing.
    return "from " in city or not any(day[meal] in empty for meal in ("breakfast", "lunch", "dinner"))


COMMONSENSE: dict[str, Constraint] = {
    constraint.__name__: constraint
    for constraint in (
        is_reasonable_visiting_city,
        is_valid_restaurants,
        is_valid_attractions,
        is_valid_accommodation,
        is_valid_transportation,
        is_valid_information_in_current_city,
        is_valid_information_in_sandbox,
        is_not_absent,
    )
}
