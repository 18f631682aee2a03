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
"""Rules on what the agent would read: special tokens, texts that repeat themselves, foreign languages."""

from __future__ import annotations

import functools
import json
import re
import unicodedata
import zlib
from collections import Counter

from genenv_verl.tasks.validity.registry import Candidate, rule

MAX_FOREIGN_LETTERS = 0.2


@rule("control_token")
def _control_token(candidate: Candidate) -> str | None:
    context = candidate.task.context
    texts = [context.goal, context.system, *context.constraints, *(message.content for message in context.history)]
    texts += [json.dumps(tool.model_dump(), ensure_ascii=False) for tool in context.tools]
    for token in candidate.limits.control_tokens:
        if any(token in text for text in texts):
            return f"the text holds the special token {token!r}"
    return None


@rule("empty_goal")
def goal_says_something(candidate: Candidate) -> str | None:
    goal = candidate.task.context.goal
    return None if any(map(str.isalnum, goal)) else f"the goal {goal[:40]!r} has neither a letter nor a digit"


@rule("degenerate")
def goal_does_not_repeat_itself(candidate: Candidate) -> str | None:
    """A collapsing policy writes one word, line or phrase over and over."""
    goal = candidate.task.context.goal
    for unit, parts, fewest in (("word", goal.split(), 20), ("line", [*filter(str.strip, goal.splitlines())], 4)):
        if len(parts) >= fewest:
            part, count = Counter(parts).most_common(1)[0]
            if count > len(parts) / 2:
                return f"the {unit} {part[:40]!r} fills {count} of {len(parts)} {unit}s of the goal"
    raw = goal.encode()
    # Prose of any length compresses to a third or so.
    if len(raw) >= 200 and len(zlib.compress(raw)) < 0.1 * len(raw):
        return f"the goal of {len(goal)} characters repeats itself"
    return None


@rule("language_mismatch")
def goal_is_in_the_seed_language(candidate: Candidate) -> str | None:
    """At most 20 % of the goal's letters may be of scripts that the seed does not use; quoted text is not counted."""
    seed, goal = candidate.seed.context, candidate.task.context.goal
    texts = (seed.goal, seed.system, *seed.constraints, *(message.content for message in seed.history))
    familiar = frozenset().union(*map(_scripts, texts))
    if not familiar or (goal.isascii() and "LATIN" in familiar):
        return None
    if "KANA" in familiar:  # Japanese is written in kana and ideographs.
        familiar |= {"CJK"}
    # A goal that is one long quotation is judged as a whole.
    letters = _letters(_QUOTED.sub(" ", goal)) or _letters(goal)
    foreign = {letter: count for letter, count in letters.items() if _script(letter) not in familiar}
    share = sum(foreign.values()) / max(letters.total(), 1)
    if share <= MAX_FOREIGN_LETTERS:
        return None
    return f"{share:.0%} of the goal's letters are {', '.join(sorted({_script(letter) for letter in foreign}))}"


# Each pattern stops at the next quote of its kind, which keeps the search linear.
_QUOTED = re.compile(
    r"(?<!\w)'[^'\n]*'(?!\w)|\"[^\"\n]*\"|“[^“”]*”|‘[^‘’]*’|«[^«»]*»|「[^「」]*」|『[^『』]*』|`[^`\n]*`"
)


def _letters(text: str) -> Counter[str]:
    return Counter({letter: count for letter, count in Counter(text).items() if letter.isalpha()})


@functools.lru_cache(maxsize=1024)
def _scripts(text: str) -> frozenset[str]:
    return frozenset(_script(character) for character in set(text) if character.isalpha())


@functools.lru_cache(maxsize=16_384)
def _script(letter: str) -> str:
    """The writing system of a letter, as the first word of its Unicode name says it."""
    name = unicodedata.name(letter, "UNKNOWN").removeprefix("FULLWIDTH ").removeprefix("HALFWIDTH ")
    script = re.split(r"[ -]", name, maxsplit=1)[0]
    return "KANA" if script in {"HIRAGANA", "KATAKANA"} else script
