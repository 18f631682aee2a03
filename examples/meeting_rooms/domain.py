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
"""A domain of one's own: booking a meeting room, where many answers are right and a program tells which.

``python examples/meeting_rooms/domain.py seeds.jsonl`` writes the seeds.
"""

import random
import sys

from genenv_verl.tasks.records import write_tasks
from genenv_verl.tasks.schema import Task
from genenv_verl.tasks.validity import Candidate, rule

BOOK = {
    "type": "function",
    "function": {
        "name": "book",
        "description": "Books the room from one full hour to a later one.",
        "parameters": {
            "type": "object",
            "properties": {"start": {"type": "integer"}, "end": {"type": "integer"}},
            "required": ["start", "end"],
            "additionalProperties": False,
        },
    },
}
CHECKER = """
import json

TAKEN, HOURS = {taken}, {hours}


def check(response):
    try:
        call = json.loads(response.removeprefix("<tool_call>").removesuffix("</tool_call>"))
        start, end = (call["arguments"].pop(key) for key in ("start", "end"))
    except Exception:  # whatever the text: one that raises gives no verdict, and the attempt would not count
        return False
    if type(start) is not int or type(end) is not int or call != {{"name": "book", "arguments": {{}}}}:
        return False
    return 8 <= start and end <= 18 and end - start == HOURS and not TAKEN.intersection(range(start, end))
"""


def seed_task(number: int, hours: int) -> Task:
    """A day with three hours taken, and room for ``hours`` in a row."""
    rng = random.Random(number)
    start = rng.randint(8, 18 - hours)
    taken = rng.sample([hour for hour in range(8, 18) if not start <= hour < start + hours], 3)
    days = f"The room is open from 8 to 18. Taken are the hours that begin at {taken[0]}, {taken[1]} and {taken[2]}."
    return Task(
        task_id=f"room-{number}",
        family=f"rooms-{hours}h",
        context={"goal": f"{days} Book {hours} hours in a row.", "tools": [BOOK]},
        evaluation={"kind": "checker", "checker": CHECKER.format(taken=set(taken), hours=hours)},
        gold_action=[{"name": "book", "arguments": {"start": start, "end": start + hours}}],
    )


@rule("no_hours")
def goal_names_an_hour(candidate: Candidate) -> str | None:
    """Without a number there is nothing to book."""
    goal = candidate.task.context.goal
    return None if any(character.isdigit() for character in goal) else "the goal names no hour"


if __name__ == "__main__":
    write_tasks(sys.argv[1], [seed_task(number, hours=1 + number % 3) for number in range(12)])
