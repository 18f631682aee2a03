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
"""TravelPlanner's database: restaurants, attractions, accommodations, flights, distances and the states of cities."""

from __future__ import annotations

import functools
import zlib
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, TypeVar

import numpy as np
import pandas as pd

from genenv_verl.benchmarks.base import ReleaseError
from genenv_verl.benchmarks.travelplanner_plan import city_name

DOWNLOAD = "the database archive that the README of https://github.com/OSU-NLP-Group/TravelPlanner links to"

T = TypeVar("T")

Vehicle = Literal["self-driving", "taxi"]
_COST_PER_KM: dict[Vehicle, float] = {"self-driving": 0.05, "taxi": 1}

_FILES = {
    "restaurants": "restaurants/clean_restaurant_2022.csv",
    "attractions": "attractions/attractions.csv",
    "accommodations": "accommodations/clean_accommodations_2022.csv",
    "flights": "flights/clean_Flights_2022.csv",
    "distances": "googleDistanceMatrix/distance.csv",
    "states": "background/citySet_with_states.txt",
}
_ACCOMMODATION_FACTS = ["price", "room type", "house_rules", "minimum nights", "maximum occupancy"]
_FLIGHT_COLUMNS = ["Flight Number", "Price", "OriginCityName", "DestCityName"]
_FLIGHTS_A_CHUNK = 250_000


class Places:
    """Places of one kind with what is known of them, found by city and a part of the name.

    Args:
        table: One row a place.
        name, city: The columns that hold them.
        facts: The columns that ``find`` returns.
    """

    def __init__(self, table: pd.DataFrame, name: str, city: str, facts: Sequence[str] = ()):
        self._by_city: dict[str, list[tuple[str, Mapping[str, Any]]]] = defaultdict(list)
        columns = [table[column].tolist() for column in facts]
        rows = zip(*columns, strict=True) if facts else ((),) * len(table)
        for full_name, place_city, row in zip(table[name].tolist(), table[city].tolist(), rows, strict=True):
            self._by_city[place_city].append((str(full_name), dict(zip(facts, row, strict=True))))

    def find(self, name: str, city: str) -> list[Mapping[str, Any]]:
        """The facts of a city's places whose name contains ``name``, in the database's order."""
        return [row for full_name, row in self._by_city.get(city, ()) if name in full_name]


class Flights:
    """Flights by number. The official table has millions of rows, so they stay in arrays, sorted by number."""

    def __init__(self, table: pd.DataFrame):
        numbers = table["Flight Number"].to_numpy(dtype="S")
        order = np.argsort(numbers, kind="stable")
        self._numbers = numbers[order]
        self._prices = table["Price"].to_numpy()[order]
        self._routes = [table[column].astype("category").iloc[order] for column in ("OriginCityName", "DestCityName")]

    def price(self, number: str) -> float | None:
        """Price of the first flight of a number for one person, or None."""
        first, end = self._rows(number)
        return None if first == end else self._prices[first].item()

    def has(self, number: str, origin: str, destination: str) -> bool:
        """Whether a flight of this number goes from ``origin`` to ``destination``."""
        rows = range(*self._rows(number))
        return any((origin, destination) == tuple(cities.iloc[row] for cities in self._routes) for row in rows)

    def _rows(self, number: str) -> tuple[int, int]:
        # numpy pads with NUL: a number that ends in one would equal the number without it.
        if not number.isascii() or "\0" in number:
            return 0, 0
        key = number.encode()
        return int(np.searchsorted(self._numbers, key)), int(np.searchsorted(self._numbers, key, "right"))


@dataclass(frozen=True)
class Database:
    """All tables, without the rows that lack a value (the official tools leave them out).

    Attributes:
        restaurants: With their ``Cuisines`` and ``Average Cost``.
        attractions: With nothing but their names.
        accommodations: With ``price``, ``room type``, ``house_rules``, ``minimum nights`` and ``maximum occupancy``.
        flights: By number.
        kilometres: Distance by road of (origin, destination); only where a way is known that takes less than a day.
        states: The state of every city.
    """

    restaurants: Places
    attractions: Places
    accommodations: Places
    flights: Flights
    kilometres: Mapping[tuple[str, str], float]
    states: Mapping[str, str]

    def road_cost(self, origin: str, destination: str, vehicle: Vehicle) -> int | None:
        """Cost of a way by road for one vehicle in dollars, or None where there is no such way."""
        kilometres = self.kilometres.get((city_name(origin), city_name(destination)))
        return None if kilometres is None else int(kilometres * _COST_PER_KM[vehicle])


@functools.lru_cache(maxsize=2)
def read_database(folder: str) -> Database:
    """Reads the database of a release once a process.

    Raises:
        ReleaseError: A file is missing or damaged.
    """
    paths = database_files(Path(folder))
    return Database(
        restaurants=_read(paths["restaurants"], _restaurants),
        attractions=_read(paths["attractions"], _attractions),
        accommodations=_read(paths["accommodations"], _accommodations),
        flights=_read(paths["flights"], _flights),
        kilometres=_read(paths["distances"], _kilometres),
        states=_read(paths["states"], _states),
    )


def database_files(folder: Path) -> dict[str, Path]:
    """The files of a database, each also accepted with ``.gz``; for the flights a part of the table will do.

    Raises:
        ReleaseError: Files are missing; the error names all of them.
    """
    paths = {kind: _existing(folder / name) for kind, name in _FILES.items()}
    missing = [str(folder / _FILES[kind]) for kind, path in paths.items() if path is None]
    if missing:
        raise ReleaseError(f"missing: {', '.join(missing)}; download {DOWNLOAD}")
    return {kind: path for kind, path in paths.items() if path is not None}


def _existing(path: Path) -> Path | None:
    same = [path, path.with_name(path.name + ".gz")]
    parts = sorted(path.parent.glob(f"{path.stem}.*{path.suffix}*"))
    return next((candidate for candidate in [*same, *parts] if candidate.is_file()), None)


def _read(path: Path, read: Callable[[Path], T]) -> T:
    try:
        return read(path)
    except (OSError, ValueError, KeyError, EOFError, zlib.error) as error:
        reason = " ".join(str(error).split())  # those of pandas have a line break
        raise ReleaseError(f"{path} is damaged ({reason}); download {DOWNLOAD} again") from error


def _restaurants(path: Path) -> Places:
    return Places(_complete_rows(path), "Name", "City", ["Cuisines", "Average Cost"])


def _attractions(path: Path) -> Places:
    return Places(_complete_rows(path), "Name", "City")


def _accommodations(path: Path) -> Places:
    return Places(_complete_rows(path), "NAME", "city", _ACCOMMODATION_FACTS)


def _complete_rows(path: Path) -> pd.DataFrame:
    return pd.read_csv(path).dropna()


def _flights(path: Path) -> Flights:
    """In chunks, and only the columns that are needed: the whole table takes gigabytes."""
    with pd.read_csv(path, chunksize=_FLIGHTS_A_CHUNK) as chunks:
        rows = pd.concat([chunk.dropna()[_FLIGHT_COLUMNS] for chunk in chunks], ignore_index=True)
    return Flights(rows)


def _kilometres(path: Path) -> dict[tuple[str, str], float]:
    table = pd.read_csv(path).drop_duplicates(["origin", "destination"]).dropna(subset=["duration", "distance"])
    table = table[~table["duration"].str.contains("day")]
    kilometres = table["distance"].str.replace("km", "").str.replace(",", "").astype(float)
    return dict(zip(zip(table["origin"], table["destination"], strict=True), kilometres, strict=True))


def _states(path: Path) -> dict[str, str]:
    lines = path.read_text(encoding="utf-8").splitlines()
    if not lines:
        raise ValueError("it is empty")
    return dict(line.split("\t") for line in lines if line)
