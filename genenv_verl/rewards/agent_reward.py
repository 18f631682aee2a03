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

The reward reads the response and the task's ground truth, never the prompt: nothing that the agent was given to read
can score. Only ``success`` enters p̂; ``value`` is what GRPO sees.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Literal

from genenv_verl.rewards.matching import MatchMode, match_calls, mismatch_reason
from genenv_verl.rewards.text import similarity
from genenv_verl.tasks.schema import Evaluation, ToolCall, ToolSpec
from genenv_verl.tasks.tool_calls import ParsedResponse, parse_response

Outcome = Literal["success", "failure", "unscored"]


@dataclass(frozen=True, slots=True)
class Score:
    """The verdict on one attempt.

    Attributes:
        value: R_agent in [0, 1]; 0 if unscored.
        success: Whether ``value`` reached the task's ``success_threshold``. Never true if unscored.
        scored: False if nothing could be said about the attempt. It then leaves both k and n of p̂ = k / n.
        reason: ``correct``, or the first thing that is wrong: ``malformed:<parser's reason>``, ``no_call``,
            ``missing_call``, ``extra_call``, ``wrong_tool``, ``wrong_arguments``, ``empty_answer``, ``wrong_answer``;
            if unscored, why.
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


@dataclass(frozen=True, slots=True)
class Target:
    """What a response is compared with: a task's ground truth, read and validated.

    Attributes:
        evaluation: How to compare, and from which value on it is a success.
        gold: The gold calls of an ``exact_match``; empty means that no call is right.
        tools: The task's tools, for declared types and defaults; may be empty.
    """

    evaluation: Evaluation
    gold: tuple[ToolCall, ...]
    tools: tuple[ToolSpec, ...]


def read_target(ground_truth: Mapping[str, Any], tools: Iterable[ToolSpec | Mapping[str, Any]] | None = None) -> Target:
    """Reads ``Task.ground_truth()`` (``{"evaluation": {...}, "gold_action": [...] | None}``) and the task's tools.

    Raises:
        ValueError: One of them is invalid (a pydantic ``ValidationError`` is one), or an ``exact_match`` has no gold.
    """
    evaluation = Evaluation.model_validate(ground_truth.get("evaluation") or {})
    gold = ground_truth.get("gold_action")
    if evaluation.kind == "exact_match" and gold is None:
        raise ValueError("evaluation of kind 'exact_match' needs 'gold_action' (an empty list means: no call)")
    return Target(
        evaluation=evaluation,
        gold=tuple(ToolCall.model_validate(call) for call in gold or ()),
        tools=tuple(ToolSpec.model_validate(tool) for tool in tools or ()),
    )


def score_response(
    response: str,
    ground_truth: Mapping[str, Any],
    tools: Iterable[ToolSpec | Mapping[str, Any]] | None = None,
    *,
    match_mode: MatchMode = "strict",
) -> Score:
    """Scores a response against a task's ground truth: ``score_target`` of ``read_target``.

    Example:
        >>> truth = {"evaluation": {"kind": "reference_answer", "reference": "Oslo"}, "gold_action": None}
        >>> score_response("<think>Norway.</think><response>Oslo.</response>", truth).success
        True
    """
    return score_target(response, read_target(ground_truth, tools), match_mode=match_mode)


def score_target(response: str, target: Target, *, match_mode: MatchMode = "strict") -> Score:
    """Scores a response. Whatever it holds, a score comes back.

    Calls where the task wants text, and text where it wants calls, are failures; drafts inside the thought are no
    action.

    Args:
        response: What the model wrote after the prompt.
        target: What the task wants.
        match_mode: How calls are compared, see ``match_calls``.

    Raises:
        ValueError: ``match_mode`` is unknown.
    """
    evaluation = target.evaluation
    if evaluation.kind == "checker":
        # Task-written code runs in the sandbox or not at all.
        return Score.unscored("checker_unavailable")
    parsed = parse_response(response)
    if parsed.status == "malformed":
        value, fault = 0.0, f"malformed:{parsed.reason}"
    elif evaluation.kind == "reference_answer":
        value, fault = _score_answer(parsed, evaluation.reference or "")
    else:
        value, fault = _score_calls(parsed, target, match_mode)
    success = value >= evaluation.success_threshold
    return Score(value=value, success=success, scored=True, reason="correct" if success else fault)


def _score_calls(parsed: ParsedResponse, target: Target, mode: MatchMode) -> tuple[float, str]:
    """R_agent for a structured target, and what is wrong if that is not enough."""
    if parsed.status == "no_call":
        if target.gold:
            return 0.0, "no_call"
        return (1.0, "") if parsed.text else (0.0, "empty_answer")
    value = match_calls(predicted=parsed.calls, gold=target.gold, mode=mode, tools=target.tools)
    return value, "" if value == 1.0 else mismatch_reason(predicted=parsed.calls, gold=target.gold)


def _score_answer(parsed: ParsedResponse, reference: str) -> tuple[float, str]:
    """R_agent for a free-text target, and what is wrong if that is not enough."""
    if parsed.status == "ok":
        return 0.0, "extra_call"
    if not parsed.text:
        return 0.0, "empty_answer"
    return similarity(predicted=parsed.text, gold=reference), "wrong_answer"
