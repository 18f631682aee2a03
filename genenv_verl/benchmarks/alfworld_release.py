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
"""ALFWorld's games as they are released: folders, or archives of them, with the filters of the official environment."""

from __future__ import annotations

import json
import lzma
import tarfile
import zlib
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path, PurePosixPath
from typing import Any, Literal

from genenv_verl.benchmarks.base import Record, ReleaseError

DOWNLOAD = (
    "`pip install alfworld && alfworld-download` makes the folder json_2.1.1, or see "
    "https://github.com/alfworld/alfworld/releases (MIT)"
)

SPLITS = ("train", "valid_seen", "valid_unseen")
TASK_TYPES = (
    "pick_and_place_simple",
    "look_at_obj_in_light",
    "pick_clean_then_place_in_recep",
    "pick_heat_then_place_in_recep",
    "pick_cool_then_place_in_recep",
    "pick_two_obj_and_place",
)

GAME_FILE = "game.tw-pddl"
TRAJECTORY_FILE = "traj_data.json"

Wording = Literal["2.1.1", "2.1.2"]
_PLACING: Mapping[Wording, str] = {"2.1.1": "put {o} in/on {r}", "2.1.2": "move {o} to {r}"}

# The grammar of 2.1.2, but for its command "help", which does nothing in the household.
_REWORDED = {
    _PLACING["2.1.1"]: _PLACING["2.1.2"],
    "You put the {o.name} in/on the {r.name}.": "You move the {o.name} to the {r.name}.",
    "You arrive at {lend.name}.": "You arrive at {r.name}.",
}


def read_records(source: Path) -> list[Record]:
    """The games below a folder that the official environment keeps, in the order of their names.

    A game is ``<split>/<task>/<trial>/game.tw-pddl`` with its ``traj_data.json``, in a folder or in a tar archive; that
    path is its ``record_id``. Left out are tasks with movable receptacles or sliced objects, unknown task types, trials
    without a game and games that are not marked as solvable.

    Raises:
        ReleaseError: There is no game, a file is missing or damaged, or the wordings of 2.1.1 and 2.1.2 are mixed.
    """
    records: dict[str, Record] = {}
    for record in [*_in_folders(source), *_in_archives(source)]:
        records.setdefault(record.record_id, record)
    if not records:
        raise ReleaseError(f"{source} holds no <split>/<task>/<trial>/{GAME_FILE}; {DOWNLOAD}")
    _refuse_mixed_wordings(records.values())
    return [records[record_id] for record_id in sorted(records)]


def read_game(record: Record, wording: Wording) -> tuple[dict[str, Any], dict[str, Any]]:
    """The game of a record in a wording, and its trajectory data.

    Raises:
        ReleaseError: The files are gone or damaged, or the game is newer than the wording.
    """
    place = Path(record.data["place"])
    if place.is_dir():
        game, trajectory = _load(place / GAME_FILE), _load(place / TRAJECTORY_FILE)
    else:
        game, trajectory = _load_member(place, record.record_id)
    if record.data["wording"] == wording:
        return game, trajectory
    if wording == "2.1.1":
        raise ReleaseError(f"{record.record_id} in {place} has the wording 2.1.2, which is not turned back into 2.1.1")
    for old, new in _REWORDED.items():
        game["grammar"] = game["grammar"].replace(old, new)
    return game, trajectory


def _in_folders(source: Path) -> Iterator[Record]:
    for path in source.rglob(GAME_FILE):
        trial = path.parent
        if _is_kept(record_id := _record_id(PurePosixPath(path.as_posix()))):
            yield from _record(record_id, _load(path), _load(trial / TRAJECTORY_FILE), trial)


def _in_archives(source: Path) -> Iterator[Record]:
    for path in sorted(source.glob("*.tar*")):
        for record_id, (game, trajectory) in _archived_games(path).items():
            yield from _record(record_id, game, trajectory, path)


def _archived_games(path: Path, only: str | None = None) -> dict[str, tuple[dict[str, Any], dict[str, Any]]]:
    """All games of an archive, or the one of a record, as pairs of game and trajectory data."""
    games: dict[str, Any] = {}
    trajectories: dict[str, Any] = {}
    try:
        with tarfile.open(path) as archive:
            for member in archive:
                name = PurePosixPath(member.name)
                record_id = _record_id(name.with_name(GAME_FILE))
                known = {GAME_FILE: games, TRAJECTORY_FILE: trajectories}.get(name.name)
                if known is None or not member.isfile() or not _is_kept(record_id) or only not in (None, record_id):
                    continue
                known[record_id] = _parse(archive.extractfile(member).read(), f"{path}: {name}")
    except (OSError, EOFError, tarfile.TarError, lzma.LZMAError, zlib.error) as error:
        raise ReleaseError(f"{path} is damaged ({error}); {DOWNLOAD}") from error
    if missing := next((record_id for record_id in games if record_id not in trajectories), None):
        raise ReleaseError(f"{path}: {missing} has no {TRAJECTORY_FILE}; {DOWNLOAD}")
    return {record_id: (game, trajectories[record_id]) for record_id, game in games.items()}


def _load_member(path: Path, record_id: str) -> tuple[dict[str, Any], dict[str, Any]]:
    games = _archived_games(path, only=record_id)
    if record_id not in games:
        raise ReleaseError(f"{path} no longer holds {record_id}; {DOWNLOAD}")
    return games[record_id]


def _record_id(path: PurePosixPath) -> str:
    return "/".join(path.parts[-4:])


def _is_kept(record_id: str) -> bool:
    return record_id.split("/")[0] in SPLITS and "movable" not in record_id and "Sliced" not in record_id


def _record(record_id: str, game: Mapping[str, Any], trajectory: Mapping[str, Any], place: Path) -> Iterator[Record]:
    """The record of a game, or nothing where the official environment passes it over."""
    if game.get("solvable") is not True or (task_type := trajectory.get("task_type")) not in TASK_TYPES:
        return
    grammar = game.get("grammar")
    wordings = [wording for wording, placing in _PLACING.items() if isinstance(grammar, str) and placing in grammar]
    if len(wordings) != 1:
        raise ReleaseError(f"{place}: the grammar of {record_id} is that of neither 2.1.1 nor 2.1.2; {DOWNLOAD}")
    data = {"task_type": task_type, "wording": wordings[0], "place": str(place)}
    yield Record(record_id, record_id.split("/")[0], data)


def _refuse_mixed_wordings(records: Iterable[Record]) -> None:
    examples = {record.data["wording"]: record for record in records}
    if len(examples) > 1:
        named = ", ".join(f"{record.record_id} has {wording}" for wording, record in sorted(examples.items()))
        raise ReleaseError(
            f"the wordings of two data versions are mixed ({named}): the engine accepts one of them only"
        )


def _load(path: Path) -> dict[str, Any]:
    try:
        return _parse(path.read_bytes(), str(path))
    except OSError as error:
        raise ReleaseError(f"{path} cannot be read ({error.strerror}); {DOWNLOAD}") from error


def _parse(content: bytes, where: str) -> dict[str, Any]:
    try:
        value = json.loads(content)
    except (ValueError, RecursionError) as error:
        raise ReleaseError(f"{where} is damaged ({error}); {DOWNLOAD}") from error
    if not isinstance(value, dict):
        raise ReleaseError(f"{where} is damaged (no JSON object); {DOWNLOAD}")
    return value
