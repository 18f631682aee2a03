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
"""Replays ALFWorld games in the real engine: what an expert sees, may do and does, step by step.

Needs the extra ``alfworld`` (textworld with its planner, alfworld's wrappers and hand-coded expert; no torch).
"""

from __future__ import annotations

import contextlib
import json
import random
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from genenv_verl.benchmarks.alfworld_release import GAME_FILE, TRAJECTORY_FILE
from genenv_verl.benchmarks.base import ReleaseError

Expert = Literal["handcoded", "planner"]

MAX_STEPS = 200
"""Steps after which a game is given up: the limit of the official expert."""

_IDLE = "look"
_WELCOME = "-= Welcome to TextWorld, ALFRED! =-"
_TASK = "Your task is to: "


@dataclass(frozen=True)
class Moment:
    """One step of a replay: what is seen, the commands that the engine accepts now, and what the expert does."""

    observation: str
    admissible_commands: list[str]
    action: str


@dataclass(frozen=True)
class Replay:
    """A game as an expert plays it.

    Attributes:
        task: What is to be done ("put a mug in desk.").
        moments: The steps, in their order; the first one shows the room.
        won: Whether the expert reached the goal.
    """

    task: str
    moments: list[Moment]
    won: bool


def replay(game: Mapping[str, Any], trajectory: Mapping[str, Any], expert: Expert) -> Replay:
    """Plays a game with an expert, ``MAX_STEPS`` steps at most; the same game gives the same replay.

    Args:
        game: The content of ``game.tw-pddl``. The hand-coded expert knows the wording of 2.1.2 only.
        trajectory: The content of ``traj_data.json``.
        expert: ``handcoded`` searches with rules of thumb and sees what a player sees. ``planner`` knows the whole
            room, and goes straight to objects that nobody has seen yet.

    Raises:
        ReleaseError: The engine is not installed.
    """
    try:
        import textworld
        from alfworld.agents.environment.alfred_tw_env import AlfredDemangler
    except ImportError as error:
        raise ReleaseError(
            f"ALFWorld's games are cut into steps by its own engine, which is not installed ({error}): "
            "pip install '.[alfworld]' in genenv_verl's folder"
        ) from error
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / GAME_FILE
        path.write_text(json.dumps(game), encoding="utf-8")
        (Path(folder) / TRAJECTORY_FILE).write_text(json.dumps(trajectory), encoding="utf-8")
        wanted = textworld.EnvInfos(admissible_commands=True, won=True, facts=True, policy_commands=expert == "planner")
        with _own_globals():
            environment = textworld.start(str(path), wanted, wrappers=[AlfredDemangler()])
            try:
                return _play(environment, _EXPERTS[expert](path))
            finally:
                environment.close()


@contextlib.contextmanager
def _own_globals() -> Iterator[None]:
    """A seeded random generator, since the hand-coded expert draws a command where it is stuck; afterwards the caller's
    own, and his ``sys.argv``, which the planner overwrites."""
    state, arguments = random.getstate(), sys.argv
    random.seed(0)
    try:
        yield
    finally:
        random.setstate(state)
        sys.argv = arguments


Chooser = Callable[[Any, str], str | None]
"""Gives the next command for a game state and the last command, or None to give up."""


def _play(environment: Any, choose: Chooser) -> Replay:
    state = environment.reset()
    seen, separator, task = state.feedback.partition(_TASK)
    if not separator:
        raise ReleaseError(f"a game without a task: {state.feedback[:200]!r}")
    observation = seen.replace(_WELCOME, "").strip()
    moments: list[Moment] = []
    action: str | None = ""
    while len(moments) < MAX_STEPS and not state["won"]:
        action = choose(state, action)
        if action is None:
            break
        moments.append(Moment(observation, list(state["admissible_commands"]), action))
        state, _, _ = environment.step(action)
        observation = state.feedback.strip()
    return Replay(task.strip(), moments, bool(state["won"]))


def _planner(path: Path) -> Chooser:
    def choose(state: Any, last: str) -> str | None:
        return next(iter(state["policy_commands"]), None)

    return choose


def _handcoded(path: Path) -> Chooser:
    """The official expert as the official environment asks it: it only looks at first, and where it would do what the
    engine does not accept."""
    from alfworld.agents.expert import HandCodedAgentFailed, HandCodedAgentTimeout, HandCodedTWAgent

    agent = HandCodedTWAgent(max_steps=MAX_STEPS)
    agent.reset(str(path))

    def choose(state: Any, last: str) -> str | None:
        if not last:
            agent.observe(state.feedback)
            return _IDLE
        try:
            action = agent.act(state, 0, state["won"], last)
        except (HandCodedAgentTimeout, HandCodedAgentFailed, LookupError):  # Its rules index what may be empty.
            return None
        return action if action in state["admissible_commands"] else _IDLE

    return choose


_EXPERTS: dict[Expert, Callable[[Path], Chooser]] = {"handcoded": _handcoded, "planner": _planner}
