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
"""ALFWorld: household games in text, cut into single steps by replaying them with an expert.

A step is (task, history, observation, admissible commands) -> command. An answer is right if it is exactly one of the
admissible commands: the engine is case-sensitive and knows no paraphrase. Agreement with the expert stands beside it.
"""

from __future__ import annotations

import functools
import json
import logging
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any, get_args

from genenv_verl.benchmarks.alfworld_engine import Expert, Replay, replay
from genenv_verl.benchmarks.alfworld_release import DOWNLOAD, Wording, read_game, read_records
from genenv_verl.benchmarks.base import Answer, Benchmark, Record, ReleaseError, Step, Verdict, register
from genenv_verl.tasks.schema import Context, FunctionSpec, Message, Task, ToolCall, ToolSpec
from genenv_verl.tasks.tool_calls import parse_response

logger = logging.getLogger(__name__)

ACT = ToolSpec(
    function=FunctionSpec(
        name="act",
        description="Performs one command in the household.",
        parameters={
            "type": "object",
            "properties": {
                "command": {"type": "string", "description": "One of the possible commands, word for word."}
            },
            "required": ["command"],
        },
    )
)
SYSTEM = (
    "You act in a household that is told in text. In every turn you perform one command, by calling `act` once. Only "
    "the commands that are listed as possible now are understood."
)
_IDLE = "look"


@register
class Alfworld(Benchmark):
    """One game, one step for each command of the expert.

    Args:
        expert: Whose commands are the gold: ``handcoded``, which searches as a player must, or ``planner``, which
            knows where everything is. A game that the expert does not solve makes no steps.
        wording: ``2.1.2`` ("move X to Y"), or ``2.1.1`` ("put X in/on Y") as the games of that version are released;
            prompt, admissible commands and gold all have it. The hand-coded expert only knows 2.1.2.
        idle_steps: Whether the steps in which the hand-coded expert merely looks around are kept.
    """

    name = "alfworld"
    download = DOWNLOAD
    official_counts = {"valid_seen": 140, "valid_unseen": 134}

    def __init__(self, expert: Expert = "handcoded", wording: Wording = "2.1.2", idle_steps: bool = False):
        for option, value, known in (("expert", expert, Expert), ("wording", wording, Wording)):
            if value not in get_args(known):
                raise ValueError(f"{option} is {value!r}; known are {', '.join(get_args(known))}")
        if not isinstance(idle_steps, bool):
            raise ValueError(f"idle_steps is {idle_steps!r}; it is true or false")
        if (expert, wording) == ("handcoded", "2.1.1"):
            raise ValueError("the hand-coded expert only knows the wording 2.1.2; take expert=planner for 2.1.1")
        self.expert, self.wording, self.idle_steps = expert, wording, idle_steps

    def load(self, source: Path | None) -> list[Record]:
        if source is None:
            raise ReleaseError(f"ALFWorld needs its folder (--data, or --source of prepare); {self.download}")
        return read_records(source)

    def steps(self, records: Iterable[Record]) -> Iterator[Step]:
        unsolved = []
        for record, played in self._replays(list(records)):
            if played.won:
                yield from self._cut(record, played)
            else:
                unsolved.append(record.record_id)
        if unsolved:
            logger.warning(
                "%d games that the %s expert does not solve make no steps: %s",
                len(unsolved),
                self.expert,
                ", ".join(unsolved),
            )

    def parse(self, step: Step, response: str) -> Answer:
        """The command of the one call of ``act``; without any call the response itself, without its thoughts."""
        parsed = parse_response(response, mode="lenient")
        if parsed.status == "no_call":
            return {"model_action": parsed.text.strip()}
        match parsed.calls:
            case (ToolCall(name="act", arguments={"command": str(command)}),):
                return {"model_action": command}
        return {"model_action": ""}

    def score(self, record: Record, answer: Mapping[str, Any]) -> Verdict:
        """1 if the action is exactly one of the admissible commands.

        The detail ``exact_match`` tells, for a step that was cut here (``gold_action`` is known), whether it is what
        the expert did.
        """
        action, commands, gold = (answer.get(key) for key in ("model_action", "admissible_commands", "gold_action"))
        agreement = {"exact_match": action == gold} if isinstance(gold, str) else {}
        if not isinstance(commands, list):
            return Verdict(0.0, "no_admissible_commands", agreement)
        if not isinstance(action, str) or not action:
            return Verdict(0.0, "no_action", agreement)
        admissible = action in commands
        return Verdict(float(admissible), "ok" if admissible else "not_admissible", agreement)

    def aggregate(self, verdicts: Sequence[tuple[Record, Verdict]]) -> dict[str, float]:
        """``admissible`` and, over steps that were cut here, ``exact_match``: agreement with the expert.

        ``score`` is ``exact_match`` where the expert's commands are known, else ``admissible``: any of the listed
        commands would do for the latter, which says nothing about the task.
        """
        if not verdicts:
            return {}
        rates = {"admissible": sum(verdict.score for _, verdict in verdicts) / len(verdicts)}
        if any("exact_match" in verdict.details for _, verdict in verdicts):
            agreeing = sum(bool(verdict.details.get("exact_match")) for _, verdict in verdicts)
            rates["exact_match"] = agreeing / len(verdicts)
        return {"score": rates.get("exact_match", rates["admissible"]), **rates}

    def _replays(self, records: Sequence[Record]) -> Iterator[tuple[Record, Replay]]:
        """All games as the expert plays them, one on each core at a time: a game takes seconds."""
        if not records:
            return
        play = functools.partial(_play, wording=self.wording, expert=self.expert)
        with ProcessPoolExecutor(min(len(records), os.cpu_count() or 1)) as pool:
            yield from zip(records, pool.map(play, records), strict=True)

    def _cut(self, record: Record, played: Replay) -> Iterator[Step]:
        # Where the game lies on this machine is of no use to the verdict.
        lean = replace(record, data={"task_type": record.data["task_type"], "wording": self.wording})
        history = []
        for number, moment in enumerate(played.moments):
            seen = Message(role="tool" if number else "user", content=moment.observation)
            history = [*history, seen]
            if moment.action != _IDLE or self.idle_steps:
                fields = {
                    "history": [earlier.action for earlier in played.moments[:number]],
                    "admissible_commands": moment.admissible_commands,
                    "gold_action": moment.action,
                }
                task = self._task(f"alfworld/{record.record_id}:step{number}", played.task, history, fields)
                yield Step(f"{record.record_id}:step{number}", lean, task, fields)
            call = json.dumps({"name": ACT.name, "parameters": {"command": moment.action}}, ensure_ascii=False)
            history = [*history, Message(role="assistant", content=f"<tool_call>\n{call}\n</tool_call>")]

    def _task(self, task_id: str, goal: str, history: list[Message], fields: Mapping[str, Any]) -> Task:
        commands = "\n".join(fields["admissible_commands"])
        return Task(
            task_id=task_id,
            family="alfworld",
            context=Context(
                system=SYSTEM,
                tools=[ACT],
                history=history,
                goal=f"Your task is to: {goal}\nPossible commands now:\n{commands}",
            ),
            gold_action=[ToolCall(name=ACT.name, arguments={"command": fields["gold_action"]})],
        )


def _play(record: Record, *, wording: Wording, expert: Expert) -> Replay:
    return replay(*read_game(record, wording), expert)
