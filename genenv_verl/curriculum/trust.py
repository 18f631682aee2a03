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
"""What the attempts at a task say about the task itself: is its gold right, its goal clear, its success more than luck?

Nobody else verifies what the environment wrote, and the attempts are there already. A flag is evidence, never proof: a
mistake that every attempt makes looks like a wrong gold, and a wrong gold that the agent cannot better looks like a
hard task (docs/trust.md has the measured precision and recall).
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, get_args

from rapidfuzz import fuzz

from genenv_verl.tasks.answer_keys import calls_key, text_key
from genenv_verl.tasks.schema import Task, ToolCall
from genenv_verl.tasks.tool_calls import parse_response
from genenv_verl.tasks.validity.tools import call_fault

Flag = Literal["suspected_wrong_gold", "ambiguous", "lucky", "unsolvable_for_now"]
FLAGS: tuple[Flag, ...] = get_args(Flag)

MIN_AGREEING = 3
"""Fewer attempts than this prove nothing by agreeing, or by failing."""

MAX_CALLS = 64  # R_agent gives more calls than this nothing
RIVAL_SHARE = 0.15
"""A rival answer is given by this share of the attempts, and by two of them at least."""

RIVALS_COVER = 0.6
"""Share of the attempts that the gold and its rivals must explain; more of other answers is noise, not ambiguity."""

SIGNIFICANCE = 0.05
SAME_TEXT = 90.0  # rapidfuzz ratio in [0, 100] from which two wordings count as one answer

_NUMBERS = re.compile(r"\d+")
_OPTION = re.compile(r"(?:^|[\s(])([A-Ha-h])[).:]\s")
_EITHER_OR = re.compile(r"([\w-]{1,40}) or ([\w-]{1,40})\s?\?")
_YES_NO = {"yes", "no", "true", "false"}


@dataclass(frozen=True, slots=True)
class Trial:
    """One scored attempt, as far as the evidence goes.

    Attributes:
        success: Whether R_agent reached the threshold.
        answer: The key of what it answered, equal for answers that say the same; None if it gave no answer that could
            be right (nothing readable, words where calls are wanted, calls that break their tool's schema).
    """

    success: bool
    answer: str | None


@dataclass(frozen=True, slots=True)
class TrustLimits:
    """From where on evidence is a flag.

    Attributes:
        agreement: Share of the scored attempts, in (0, 1], that must give the same wrong answer.
        max_success: Success rate in [0, 1] up to which the gold may be wrong: an agent that meets it more often found
            a way to it.
        ambiguous_band: Half width around ½ of the success rates that are looked at for rival answers.
        lucky_chance: Chance level in (0, 1] from which an answer space is small.
    """

    agreement: float = 0.6
    max_success: float = 0.125
    ambiguous_band: float = 0.35
    lucky_chance: float = 0.2


@dataclass(frozen=True, slots=True)
class Evidence:
    """What the attempts say about one task.

    Attributes:
        flags: The flags raised; any number of them.
        attempts: Scored attempts behind it.
        agreement: Share of the scored attempts that gave the most frequent wrong answer, in [0, 1].
        consensus: The key of that answer; None without one.
        distinct_answers: Different answers, the gold among them if it was given.
        chance_level: The probability that a guess succeeds, in [0, 1]; 0 where the answer space is open.
    """

    flags: tuple[Flag, ...]
    attempts: int
    agreement: float
    consensus: str | None
    distinct_answers: int
    chance_level: float

    def to_json(self) -> dict[str, Any]:
        fields = ("attempts", "agreement", "consensus", "distinct_answers", "chance_level")
        return {"flags": list(self.flags), **{name: getattr(self, name) for name in fields}}


def read_trial(task: Task, response: str, success: bool) -> Trial:
    """Reads an attempt's answer from its response. Raises nothing, whatever the response."""
    parsed = parse_response(response)
    wants_text = task.evaluation.kind == "reference_answer" or not task.gold_action
    if parsed.status == "ok":
        # Where the gold is words, calls are an answer all the same: all attempts may agree that a tool is needed.
        tools = task.context.tools
        faulty = len(parsed.calls) > MAX_CALLS or any(call_fault(call, tools) for call in parsed.calls)
        return Trial(success, None if faulty else calls_key(parsed.calls, tools))
    if parsed.status == "no_call" and wants_text and parsed.text:
        return Trial(success, "text: " + text_key(parsed.text))
    return Trial(success, None)


def weigh(task: Task, trials: Sequence[Trial], limits: TrustLimits = TrustLimits()) -> Evidence:
    """The evidence of a task's scored attempts.

    - ``suspected_wrong_gold``: ``agreement`` of the attempts give one and the same wrong answer, and at most
      ``max_success`` of them succeed.
    - ``ambiguous``: the success rate is near ½, and the failures spread over several answers that come again and again,
      as readings of an unclear goal do. Failures that differ all from each other are mistakes, and so is a single one
      that repeats itself.
    - ``lucky``: the answer space is small, and the successes are no more than guessing gives (binomial test, 5 %).
    - ``unsolvable_for_now``: no success, and no agreement on anything else either.

    Args:
        task: The task that was attempted.
        trials: Its scored attempts; unscored ones say nothing.
        limits: From where on evidence is a flag.
    """
    n, successes = len(trials), sum(trial.success for trial in trials)
    wrong = [trial.answer for trial in trials if not trial.success and trial.answer is not None]
    clusters = _clusters(wrong)
    consensus, agreeing = clusters[0] if clusters else (None, 0)
    rivals = [count for _, count in clusters if count >= max(2, RIVAL_SHARE * n)]
    chance = chance_level(task)
    near_half = n > 0 and abs(successes / n - 0.5) <= limits.ambiguous_band + 1e-9
    holds: Mapping[Flag, bool] = {
        "suspected_wrong_gold": agreeing >= MIN_AGREEING
        and agreeing >= limits.agreement * n - 1e-9
        and successes <= limits.max_success * n + 1e-9,
        "ambiguous": near_half and len(rivals) >= 2 and successes + sum(rivals) >= RIVALS_COVER * n,
        "lucky": successes > 0
        and chance >= limits.lucky_chance - 1e-9
        and at_least(successes, n, chance) > SIGNIFICANCE,
    }
    flags: tuple[Flag, ...] = tuple(flag for flag, raised in holds.items() if raised)
    if n >= MIN_AGREEING and successes == 0 and "suspected_wrong_gold" not in flags:
        flags += ("unsolvable_for_now",)
    return Evidence(
        flags=flags,
        attempts=n,
        agreement=agreeing / n if n else 0.0,
        consensus=consensus,
        distinct_answers=len(clusters) + (successes > 0),
        chance_level=chance,
    )


def chance_level(task: Task) -> float:
    """The probability that an answer drawn at random from the task's answer space is right, in [0, 1].

    Read off the task: calls whose arguments are all enumerations or booleans, tools without arguments, "no call", yes
    or no, lettered options, "this or that?". 0 where the space is open (an argument in words or numbers): copying a
    value from the goal is no luck.
    """
    if task.gold_action:
        return math.prod(_chance_of_call(call, task) for call in task.gold_action)
    if task.evaluation.reference is None:
        return 0.5 if task.evaluation.kind == "exact_match" else 0.0  # To call or not to call.
    answer, goal = text_key(task.evaluation.reference), task.context.goal
    if answer in _YES_NO:
        return 0.5
    options = {letter.casefold() for letter in _OPTION.findall(goal)}
    if len(options) > 1 and answer and (answer in options or answer in goal.casefold()):
        return 1.0 / len(options)
    if any(answer in map(str.casefold, pair) for pair in _EITHER_OR.findall(goal)):
        return 0.5
    return 0.0


def at_least(k: int, n: int, p: float) -> float:
    """The probability of k or more successes in n independent tries of probability p."""
    if k <= 0:
        return 1.0
    return min(1.0, math.fsum(math.comb(n, i) * p**i * (1.0 - p) ** (n - i) for i in range(k, n + 1)))


def _chance_of_call(call: ToolCall, task: Task) -> float:
    tool = next((tool for tool in task.context.tools if tool.name == call.name), None)
    if tool is None:
        return 0.0
    properties = tool.function.parameters.get("properties")
    chance = 1.0 / len(task.context.tools)
    for name in call.arguments:
        schema = properties.get(name) if isinstance(properties, dict) else None
        chance /= _choices(schema) or math.inf
    return chance


def _choices(schema: Any) -> int:
    """How many values an argument may take; 0 for no small number."""
    if not isinstance(schema, dict):
        return 0
    if isinstance(schema.get("enum"), list) and schema["enum"]:
        return len(schema["enum"])
    return 2 if schema.get("type") == "boolean" else 0


def _clusters(answers: Sequence[str]) -> list[tuple[str, int]]:
    """Answers with their counts, most frequent first; texts that differ in wording only are one answer."""
    clusters: dict[str, int] = {}
    for answer, count in sorted(Counter(answers).items(), key=lambda entry: (-entry[1], entry[0])):
        known = next((other for other in clusters if _same_text(answer, other)), answer)
        clusters[known] = clusters.get(known, 0) + count
    return sorted(clusters.items(), key=lambda entry: (-entry[1], entry[0]))


def _same_text(one: str, other: str) -> bool:
    if not (one.startswith("text: ") and other.startswith("text: ")):
        return False
    return _NUMBERS.findall(one) == _NUMBERS.findall(other) and fuzz.ratio(one, other, score_cutoff=SAME_TEXT) > 0.0
