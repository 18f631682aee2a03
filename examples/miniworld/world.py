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
"""The language of the miniature world: goals, the three tools, the true solver and the noisy demonstrator.

A goal is ``k`` clauses ``verb quantity`` (``dial trio, wire teens, post 27``) and its gold is one tool call a clause.
The agent learns from demonstrations that get each word right only with that word's reliability, so it starts with a
spread of difficulties that reinforcement learning can sharpen: the longer a goal and the less reliable its words, the
harder it is. Standard library only, so that a report can measure wrong golds without a model.
"""

from __future__ import annotations

import json
import math
import random
import re
import zlib

MAX_CLAUSES = 8
MAX_LITERAL = 30  # generators write numbers up to this one; the solver reads any of one or two digits
HELD_OUT_ONE_IN = 8

TOOL_NAMES = ("send", "ring", "pay")
_VERBS_OF_TOOL = {
    "send": ("send", "mail", "ship", "post", "drop", "pass"),
    "ring": ("ring", "call", "dial", "page", "buzz", "ping"),
    "pay": ("pay", "tip", "fund", "wire", "lend", "back"),
}
TOOL_OF_VERB = {verb: tool for tool, verbs in _VERBS_OF_TOOL.items() for verb in verbs}
NUMBER_OF_WORD = {
    "pair": 2, "trio": 3, "hand": 5, "week": 7, "octet": 8, "ten": 10,
    "dozen": 12, "teens": 15, "score": 20, "moon": 28, "sixty": 60, "gross": 144,
}  # fmt: skip

# How often the demonstrator understands a word, and the one misunderstanding it falls into otherwise.
RELIABILITY = {
    verb: share
    for verbs in _VERBS_OF_TOOL.values()
    for verb, share in zip(verbs, (0.97, 0.90, 0.75, 0.60, 0.45, 0.25), strict=True)
} | {word: (0.90, 0.50, 0.25, 0.75, 0.40, 0.60)[i % 6] for i, word in enumerate(NUMBER_OF_WORD)}
_CONFUSED_TOOL = {
    verb: TOOL_NAMES[(TOOL_NAMES.index(tool) + 1 + i % 2) % len(TOOL_NAMES)]
    for tool, verbs in _VERBS_OF_TOOL.items()
    for i, verb in enumerate(verbs)
}
_NUMBERS = list(NUMBER_OF_WORD.values())
_CONFUSED_NUMBER = {word: _NUMBERS[(i + 1 + i % 3) % len(_NUMBERS)] for i, word in enumerate(NUMBER_OF_WORD)}

_VERBS = list(TOOL_OF_VERB)
_WORDS = list(NUMBER_OF_WORD)
_DIGITS = re.compile(r"[0-9]{1,2}")

Call = dict[str, object]

TOOLS = [
    {
        "type": "function",
        "function": {
            "name": name,
            "description": f"{name} a quantity",
            "parameters": {
                "type": "object",
                "properties": {"n": {"type": "string"}},
                "required": ["n"],
                "additionalProperties": False,
            },
        },
    }
    for name in TOOL_NAMES
]


def _clauses(goal: str) -> list[tuple[str, str]] | None:
    """The goal's (verb, quantity) pairs, or ``None`` if the text is not in the language."""
    clauses = [tuple(clause.split(" ")) for clause in goal.split(", ")]
    for clause in clauses:
        if len(clause) != 2 or clause[0] not in TOOL_OF_VERB:
            return None
        if clause[1] not in NUMBER_OF_WORD and not _DIGITS.fullmatch(clause[1]):
            return None
    return clauses


def _call(tool: str, number: object) -> Call:
    return {"name": tool, "arguments": {"n": str(number)}}


def solve(goal: str) -> list[Call] | None:
    """The only right calls for a goal.

    Args:
        goal: any text.

    Returns:
        One call a clause, in order; ``None`` if the text is not a goal of this world.
    """
    clauses = _clauses(goal)
    if clauses is None:
        return None
    return [_call(TOOL_OF_VERB[verb], NUMBER_OF_WORD.get(quantity, quantity)) for verb, quantity in clauses]


def demonstrate(goal: str, rng: random.Random) -> list[Call]:
    """A noisy demonstration of a goal of this world: every word is understood with its ``RELIABILITY``."""
    calls = []
    for verb, quantity in _clauses(goal):
        understood = rng.random() < RELIABILITY[verb]
        tool = TOOL_OF_VERB[verb] if understood else _CONFUSED_TOOL[verb]
        number = quantity
        if quantity in NUMBER_OF_WORD:
            understood = rng.random() < RELIABILITY[quantity]
            number = NUMBER_OF_WORD[quantity] if understood else _CONFUSED_NUMBER[quantity]
        calls.append(_call(tool, number))
    return calls


def clause_count(goal: str) -> int:
    """``k``, the number of clauses (1 for any text without a separator)."""
    return goal.count(", ") + 1


def difficulty(goal: str) -> float | None:
    """The demonstrator's chance to fail at a goal, in [0, 1); ``None`` if the text is not a goal of this world."""
    clauses = _clauses(goal)
    if clauses is None:
        return None
    return 1.0 - math.prod(RELIABILITY[verb] * RELIABILITY.get(quantity, 1.0) for verb, quantity in clauses)


def held_out(goal: str) -> bool:
    """Whether a goal belongs to the exam: decided by its hash, so that no generator needs to know the exam."""
    return zlib.crc32(goal.encode()) % HELD_OUT_ONE_IN == 0


def _random_quantity(rng: random.Random) -> str:
    return rng.choice(_WORDS) if rng.random() < 0.6 else str(rng.randint(1, MAX_LITERAL))


def _random_clause(rng: random.Random) -> str:
    return f"{rng.choice(_VERBS)} {_random_quantity(rng)}"


def random_goal(rng: random.Random, k: int, *, exam: bool = False) -> str:
    """A goal of ``k`` clauses, from the exam's side of the hash or from the other one."""
    while True:
        goal = ", ".join(_random_clause(rng) for _ in range(k))
        if held_out(goal) == exam:
            return goal


def vary(rng: random.Random, goal: str, k: int) -> str:
    """A variation of ``goal`` with ``k`` clauses: some of its clauses with a word or both exchanged, then new ones.

    Never an exam goal.
    """
    while True:
        clauses = [clause.split(" ") for clause in goal.split(", ")]
        rng.shuffle(clauses)
        varied = []
        for verb, quantity in clauses[:k]:
            kept = rng.choices(("nothing", "verb", "quantity"), (0.4, 0.3, 0.3))[0]
            verb = verb if kept == "verb" else rng.choice(_VERBS)
            quantity = quantity if kept == "quantity" else _random_quantity(rng)
            varied.append(f"{verb} {quantity}")
        varied += [_random_clause(rng) for _ in range(k - len(varied))]
        rng.shuffle(varied)
        variation = ", ".join(varied)
        if not held_out(variation):
            return variation


def write_response(goal: str, calls: list[Call]) -> str:
    """The agent's response: a ``<tool_call>`` block with a call on every line, each marked with its clause."""
    return "\n".join(["<tool_call>", *(json.dumps(call) for call in _marked(goal, calls)), "</tool_call>"])


def write_generation(goal: str, calls: list[Call]) -> str:
    """The environment's output: the goal first, so that the calls are written with the goal in view."""
    return json.dumps({"goal": goal, "calls": _marked(goal, calls)})


def _marked(goal: str, calls: list[Call]) -> list[Call]:
    """Calls with their clause as ``id``: readers of calls pass over it, and a tiny model keeps its place by it."""
    return [{"id": clause, **call} for clause, call in zip(goal.split(", "), calls, strict=True)]
