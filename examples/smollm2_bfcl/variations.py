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
"""Variations of a task whose gold stays right by construction: supervised examples of what the environment writes.

A value of the gold that stands in the goal exactly once, word for word, is exchanged in both places for a value that
another record gives to an argument of that name. Nothing is paraphrased, and no meaning is guessed.
"""

from __future__ import annotations

import random
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from genenv_verl.tasks.schema import Task

JOINTS = ("Also:", "Then:", "And after that:")
_REPLACED_SHARE = 0.75


@dataclass(frozen=True)
class Leaf:
    """A scalar of the gold: the argument that it belongs to, the call's number, the value and the schema's ``enum``."""

    argument: str
    call: int
    value: Any
    enum: tuple[Any, ...] | None

    @property
    def text(self) -> str:
        return self.value if isinstance(self.value, str) else str(self.value)


@dataclass(frozen=True)
class Slot:
    """A value that can be exchanged: where it stands in the goal, and the leaves that are all of it in the gold."""

    start: int
    end: int
    leaf: Leaf


class Values:
    """The values that records give to arguments, as far as their goals spell them out; what a slot may be filled with.

    Args:
        tasks: the records. Held-out ones do not belong here.
    """

    def __init__(self, tasks: Iterable[Task]):
        by_argument: dict[tuple[str, Any], set[Any]] = defaultdict(set)
        by_form: dict[Any, set[Any]] = defaultdict(set)
        for task in tasks:
            for slot in find_slots(task):
                form = _form(slot.leaf.value)
                by_argument[slot.leaf.argument, form].add(slot.leaf.value)
                if not isinstance(slot.leaf.value, str):
                    by_form[form].add(slot.leaf.value)
        # sorted, because the order of a set of strings changes from process to process
        self._by_argument = {key: sorted(values) for key, values in by_argument.items()}
        self._by_form = {key: sorted(values) for key, values in by_form.items()}

    def alternatives(self, leaf: Leaf) -> list[Any]:
        """What may stand in the leaf's place: other values of its enum; else of arguments of its name and form; a
        number that has none also takes any number of its form."""
        if leaf.enum is not None:
            return [value for value in leaf.enum if isinstance(value, str) and value != leaf.value]
        form = _form(leaf.value)
        named = [value for value in self._by_argument.get((leaf.argument, form), ()) if value != leaf.value]
        return named or [value for value in self._by_form.get(form, ()) if value != leaf.value]


def _form(value: Any) -> tuple[Any, ...]:
    """What two values must have in common to take each other's place."""
    if isinstance(value, str):
        return ("text", value[0].isupper(), "," in value, any(character.isdigit() for character in value))
    return (type(value).__name__, value < 0, len(str(abs(value))))


def find_slots(task: Task) -> list[Slot]:
    """The exchangeable values of a task, in the order of its goal.

    A value qualifies if the goal has it once, outside of longer words and numbers, and no other argument has the same
    text. Text is exchanged only where the goal spells out every text of the gold: in "the weather in Boston" with
    ``city="Boston", state="MA"`` the state follows from the city.
    """
    leaves = list(_leaves(task))
    by_text: dict[str, list[Leaf]] = defaultdict(list)
    for leaf in leaves:
        by_text[leaf.text].append(leaf)
    slots = []
    for text, same in by_text.items():
        spans = [match.span() for match in _whole(text).finditer(task.context.goal)]
        one_argument = len({(leaf.argument, type(leaf.value)) for leaf in same}) == 1
        once_a_call = len({leaf.call for leaf in same}) == len(same)
        if len(spans) == 1 and one_argument and once_a_call:
            slots.append(Slot(*spans[0], same[0]))
    slots.sort(key=lambda slot: slot.start)
    # of values that lie in one another none is exchanged
    slots = [a for a in slots if not any(a is not b and a.start < b.end and b.start < a.end for b in slots)]
    spelled_out = {slot.leaf.text for slot in slots}
    texts_follow = any(
        isinstance(leaf.value, str) and leaf.enum is None and leaf.text not in spelled_out for leaf in leaves
    )
    return [slot for slot in slots if not (texts_follow and isinstance(slot.leaf.value, str))]


def substitute(task: Task, values: Values, rng: random.Random) -> Task | None:
    """The task with other values, the same ones in goal and gold; ``None`` if nothing in it can be exchanged."""
    slots = [(slot, values.alternatives(slot.leaf)) for slot in find_slots(task)]
    slots = [(slot, alternatives) for slot, alternatives in slots if alternatives]
    if not slots:
        return None
    certain = rng.randrange(len(slots))
    chosen = [entry for i, entry in enumerate(slots) if i == certain or rng.random() < _REPLACED_SHARE]
    new_values: dict[tuple[str, str], Any] = {}
    goal, position = "", 0
    for slot, alternatives in chosen:
        value = rng.choice(alternatives)
        new_values[slot.leaf.argument, slot.leaf.text] = value
        goal += task.context.goal[position : slot.start] + str(value)
        position = slot.end
    goal += task.context.goal[position:]
    gold = [
        call.model_copy(
            update={"arguments": {name: _exchange(value, name, new_values) for name, value in call.arguments.items()}}
        )
        for call in task.gold_action
    ]
    return task.model_copy(update={"context": task.context.model_copy(update={"goal": goal}), "gold_action": gold})


def join(first: Task, second: Task, rng: random.Random) -> Task:
    """One task that asks for both, with the calls of both. The two share their tools."""
    goal = f"{first.context.goal} {rng.choice(JOINTS)} {second.context.goal}"
    return first.model_copy(
        update={
            "context": first.context.model_copy(update={"goal": goal}),
            "gold_action": [*first.gold_action, *second.gold_action],
        }
    )


def _whole(text: str) -> re.Pattern[str]:
    """Finds a value as a whole: not inside a word, a decimal or grouped number, a date or a time."""
    return re.compile(rf"(?<![\w.,:/^-]){re.escape(text)}(?!\w|[.,:/-]\d)")


def _leaves(task: Task) -> Iterator[Leaf]:
    parameters = {tool.name: tool.function.parameters for tool in task.context.tools}
    for number, call in enumerate(task.gold_action):
        properties = parameters[call.name].get("properties", {})
        for argument, value in call.arguments.items():
            yield from _scalars(value, properties.get(argument, {}), argument, number)


def _scalars(value: Any, schema: dict[str, Any], argument: str, call: int) -> Iterator[Leaf]:
    if isinstance(value, dict):
        for name, inner in value.items():
            yield from _scalars(inner, schema.get("properties", {}).get(name, {}), argument, call)
    elif isinstance(value, list):
        for inner in value:
            yield from _scalars(inner, schema.get("items", {}), argument, call)
    elif isinstance(value, (str, int, float)) and not isinstance(value, bool) and value != "":
        yield Leaf(argument, call, value, tuple(schema["enum"]) if "enum" in schema else None)


def _exchange(value: Any, argument: str, new_values: dict[tuple[str, str], Any]) -> Any:
    if isinstance(value, dict):
        return {name: _exchange(inner, argument, new_values) for name, inner in value.items()}
    if isinstance(value, list):
        return [_exchange(inner, argument, new_values) for inner in value]
    if isinstance(value, bool):
        return value
    return new_values.get((argument, str(value)), value)
