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
"""R_agent of one response (GenEnv, Eq. 1; three outcomes as in the project's specification, section 8).

The reward reads the response and the task's ground truth. Nothing that the agent was given to read can score: of the
prompt only the goal and the tools are known here, to refuse a response that repeats them. Only ``success`` enters p̂;
``value`` is what GRPO sees.

Each kind of evaluation has one scorer, a function that is registered under the kind::

    @scorer("exact_match")
    def score_calls(parsed: ParsedResponse, target: Target, scoring: Scoring) -> Judgement: ...
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

from genenv_verl.rewards.gaming import gaming_reason, spells_call
from genenv_verl.rewards.matching import MATCH_MODES, CallMatcher, MatchMode, mismatch_reason
from genenv_verl.rewards.measures import find_measure
from genenv_verl.rewards.text import same_answer
from genenv_verl.tasks.sandbox.base import CheckerBackend, Unavailable
from genenv_verl.tasks.schema import Evaluation, ToolCall, ToolSpec
from genenv_verl.tasks.tool_calls import ParsedResponse, format_calls, parse_response

Outcome = Literal["success", "failure", "unscored"]


class Score(NamedTuple):
    """The verdict on one attempt.

    Attributes:
        value: R_agent in [0, 1]; 0 if unscored.
        success: Whether the attempt counts in k of p̂ = k / n: a structured target must be met (``value`` is 1), a text
            must reach the task's ``success_threshold``. Never true if unscored.
        scored: False if nothing could be said about the attempt. It then leaves both k and n.
        reason: ``correct``, or the first thing that is wrong (docs/rewards.md lists them); if unscored, why.
    """

    value: float
    success: bool
    scored: bool
    reason: str

    @property
    def outcome(self) -> Outcome:
        if not self.scored:
            return "unscored"
        return "success" if self.success else "failure"

    @classmethod
    def unscored(cls, reason: str) -> Score:
        return cls(value=0.0, success=False, scored=False, reason=reason)


_CORRECT = Score(value=1.0, success=True, scored=True, reason="correct")


@dataclass(frozen=True, slots=True)
class Target:
    """What a response is compared with: a task's ground truth, read, validated and prepared for many attempts.

    Attributes:
        evaluation: How to compare, and from which value on it is a success.
        gold: The gold calls of an ``exact_match``; empty means that no call is right.
        tools: The task's tools, for declared types and defaults; may be empty.
        goal: What the task asks, to refuse an echo of it; may be empty.
        matcher: The prepared gold.
    """

    evaluation: Evaluation
    gold: tuple[ToolCall, ...]
    tools: tuple[ToolSpec, ...]
    goal: str
    matcher: CallMatcher


@dataclass(frozen=True, slots=True)
class Scoring:
    """How a run scores (``genenv.reward``).

    Attributes:
        match: How calls are compared, see ``CallMatcher.score``.
        text: How wording is compared, see ``find_measure``.
        checkers: What runs the checkers of tasks; without it they give no verdict.
    """

    match: MatchMode = "strict"
    text: str = "ratio"
    checkers: CheckerBackend = Unavailable("no sandbox is given")

    def __post_init__(self) -> None:
        if self.match not in MATCH_MODES:
            raise ValueError(f"genenv.reward.match = {self.match!r}: none of {', '.join(MATCH_MODES)}")
        find_measure(self.text)


PAPER_SCORING = Scoring()


class Judgement(NamedTuple):
    """What a scorer says: R_agent in [0, 1], or None where nothing can be said; and what is wrong, or why not."""

    value: float | None
    fault: str = ""


Scorer = Callable[[ParsedResponse, Target, Scoring], Judgement]

SCORERS: dict[str, Scorer] = {}


def scorer(kind: str) -> Callable[[Scorer], Scorer]:
    """Registers the scorer of an evaluation kind.

    It is not asked about a malformed response, which is a failure.

    Raises:
        ValueError: The kind has a scorer already.
    """

    def register(function: Scorer) -> Scorer:
        if kind in SCORERS:
            raise ValueError(f"evaluations of kind {kind!r} have a scorer already: {SCORERS[kind].__name__}")
        SCORERS[kind] = function
        return function

    return register


def read_target(ground_truth: Mapping[str, Any], tools: Iterable[ToolSpec | Mapping[str, Any]] | None = None) -> Target:
    """Reads ``Task.ground_truth()`` (``{"evaluation": {...}, "gold_action": [...] | None, "goal": ...}``) and tools.

    Raises:
        ValueError: One of them is invalid (a pydantic ``ValidationError`` is one), or an ``exact_match`` has no gold.
    """
    evaluation = Evaluation.model_validate(ground_truth.get("evaluation") or {})
    calls = ground_truth.get("gold_action")
    if evaluation.kind == "exact_match" and calls is None:
        raise ValueError("evaluation of kind 'exact_match' needs 'gold_action' (an empty list means: no call)")
    gold = tuple(ToolCall.model_validate(call) for call in calls or ())
    specifications = tuple(ToolSpec.model_validate(tool) for tool in tools or ())
    goal = ground_truth.get("goal")
    return Target(
        evaluation=evaluation,
        gold=gold,
        tools=specifications,
        goal=goal if isinstance(goal, str) else "",
        matcher=CallMatcher(gold, specifications),
    )


def score_response(
    response: str,
    ground_truth: Mapping[str, Any],
    tools: Iterable[ToolSpec | Mapping[str, Any]] | None = None,
    *,
    scoring: Scoring = PAPER_SCORING,
) -> Score:
    """Scores a response against a task's ground truth: ``score_target`` of ``read_target``.

    Example:
        >>> truth = {"evaluation": {"kind": "reference_answer", "reference": "Oslo"}, "gold_action": None}
        >>> score_response("<think>Norway.</think><response>Oslo.</response>", truth).success
        True
    """
    return score_target(response, read_target(ground_truth, tools), scoring=scoring)


def score_target(response: str, target: Target, *, scoring: Scoring = PAPER_SCORING) -> Score:
    """Scores a response. Whatever it holds, a score comes back.

    Calls where the task wants text, and text where it wants calls, are failures; drafts inside the thought are no
    action.

    Args:
        response: What the model wrote after the prompt.
        target: What the task wants.
        scoring: How to compare.

    Raises:
        Nothing but what a measure of the user's own raises, or a ValueError if it leaves [0, 1].
    """
    evaluation = target.evaluation
    parsed = parse_response(response)
    if parsed.status == "malformed":
        value, fault = 0.0, f"malformed:{parsed.reason}"
    else:
        value, fault = SCORERS[evaluation.kind](parsed, target, scoring)
    if value is None:
        return Score.unscored(fault)
    # p̂ counts binary successes: a graded match of calls is a reward, and no success.
    if value == 1.0:
        return _CORRECT
    success = value >= (1.0 if evaluation.kind == "exact_match" else evaluation.success_threshold)
    return Score(value=value, success=success, scored=True, reason="correct" if success else fault)


@scorer("exact_match")
def score_calls(parsed: ParsedResponse, target: Target, scoring: Scoring) -> Judgement:
    """1[a' = a] under the match mode.

    With an empty gold any answer in words is right, unless it repeats the task or tries a call in another form.
    """
    if parsed.status == "no_call":
        if target.gold:
            return Judgement(0.0, "no_call")
        if not any(map(str.isalnum, parsed.text)):
            return Judgement(0.0, "empty_answer")
        trick = gaming_reason(answer=parsed.text, reference=None, goal=target.goal, tools=target.tools)
        if trick is None and spells_call(parsed.text, target.tools):
            trick = "extra_call"
        return Judgement(0.0, trick) if trick else Judgement(1.0)
    value = target.matcher.score(parsed.calls, scoring.match)
    return Judgement(value, "" if value == 1.0 else mismatch_reason(predicted=parsed.calls, gold=target.gold))


@scorer("reference_answer")
def score_answer(parsed: ParsedResponse, target: Target, scoring: Scoring) -> Judgement:
    """sim(a', a): 1 for the same answer, the measure's similarity for another wording, 0 for a trick."""
    reference = target.evaluation.reference or ""
    if parsed.status == "ok":
        return Judgement(0.0, "extra_call")
    if not parsed.text:
        return Judgement(0.0, "empty_answer")
    same = same_answer(predicted=parsed.text, gold=reference)
    if same:
        return Judgement(1.0)
    trick = gaming_reason(answer=parsed.text, reference=reference, goal=target.goal, tools=target.tools)
    if trick:
        return Judgement(0.0, trick)
    if same is False:
        return Judgement(0.0, "wrong_answer")
    value = find_measure(scoring.text)(predicted=parsed.text, gold=reference)
    if not 0.0 <= value <= 1.0:
        raise ValueError(f"the measure {scoring.text} returned {value!r}, which is not in [0, 1]")
    return Judgement(value, "wrong_answer")


@scorer("checker")
def score_with_checker(parsed: ParsedResponse, target: Target, scoring: Scoring) -> Judgement:
    """1 if the checker returns True, 0 if it returns False, unscored (``checker_<reason>``) without a verdict.

    It gets what the agent does, without its thoughts: the calls as ``format_calls`` writes them, in which form the
    self-test has shown it the gold, or the answer in words.
    """
    answer = format_calls(parsed.calls) or parsed.text
    if not answer:
        return Judgement(0.0, "empty_answer")
    (outcome,) = scoring.checkers.check(target.evaluation.checker, [answer])
    if outcome.accepted is None:
        return Judgement(None, f"checker_{outcome.reason}")
    return Judgement(float(outcome.accepted), "wrong_answer")
