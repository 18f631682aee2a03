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
"""What the task browser shows of one generation: plain texts and numbers, whatever the task file holds."""

from __future__ import annotations

import functools
import json
from collections.abc import Mapping
from typing import Any

from genenv_verl.report.fields import MAX_TEXT_CHARS, as_number, clipped, field, number

MAX_ATTEMPTS = 256
MAX_FLAGS = 16
MAX_NAME_CHARS = 300


def task_row(record: Mapping[str, Any], text_limit: int = MAX_TEXT_CHARS) -> dict[str, Any]:
    """One line of a task file as the page's row.

    Args:
        record: The line; any key may be missing or of another type.
        text_limit: Characters that a long text is cut to.

    Returns:
        Text fields are texts (empty if missing), numbers are finite or ``None``, lists are lists; fit for strict JSON.
    """
    attempts = record.get("attempts")
    return {
        "id": clipped(record.get("task_id"), MAX_NAME_CHARS),
        "seed": clipped(record.get("seed_id"), MAX_NAME_CHARS),
        "family": clipped(field(record, "task.family"), MAX_NAME_CHARS),
        "writer_step": number(record, "environment_step"),
        "agent_step": number(record, "step"),
        "p": number(record, "p_hat"),
        "group_p": number(record, "group_p_hat"),
        "reward": number(record, "reward"),
        "weight": number(record, "weight"),
        "accepted": record.get("accepted") is True,
        "quarantined": record.get("quarantined") is True,
        "reason": clipped(_reason(record.get("rejection")), MAX_NAME_CHARS),
        "detail": clipped(field(record, "rejection.detail"), text_limit),
        "flags": _flags(record),
        "trust": {name: value for name in TRUST_FIELDS if (value := _shown(field(record, f"trust.{name}")))},
        "novelty": {name: value for name in NOVELTY_FIELDS if (value := _shown(field(record, f"novelty.{name}")))},
        "goal": long_text(field(record, "task.context.goal"), text_limit),
        "context": context_texts(field(record, "task.context"), text_limit),
        "gold": gold_text(field(record, "task.gold_action"), field(record, "task.evaluation"), text_limit),
        "text": long_text(record.get("text"), text_limit),
        "attempts": [_attempt(its, text_limit) for its in attempts[:MAX_ATTEMPTS]]
        if isinstance(attempts, list)
        else [],
    }


def _reason(rejection: Any) -> Any:
    """Why a generation was rejected, empty if it was not; one of a form that is not ours is a rejection, too."""
    if rejection and isinstance(rejection, dict):
        return rejection.get("reason") or "unnamed"
    return rejection or ""


TRUST_FIELDS = ("agreement", "consensus", "distinct_answers", "chance_level")
NOVELTY_FIELDS = ("similarity", "seed_similarity", "repeated", "near_duplicate_of", "template_uses")


def _flags(record: Mapping[str, Any]) -> list[str]:
    """The trust flags: in ``trust.flags``, or in ``flags`` as some writers have it."""
    flags = field(record, "trust.flags") or record.get("flags")
    return [clipped(flag, MAX_NAME_CHARS) for flag in flags[:MAX_FLAGS]] if isinstance(flags, list) else []


def _shown(value: Any) -> str:
    if isinstance(value, float):
        return "" if as_number(value) is None else f"{value:.3g}"
    return "" if value is None else long_text(value, 2000)


def context_texts(context: Any, limit: int = MAX_TEXT_CHARS) -> dict[str, str]:
    """What the agent reads beside the goal, each part as text; parts that are empty are left out."""
    parts = {name: field(context, name) for name in ("system", "constraints", "history", "tools")}
    return {name: long_text(value, limit) for name, value in parts.items() if value}


def gold_text(gold: Any, evaluation: Any, limit: int = MAX_TEXT_CHARS) -> str:
    """The gold of a task as text: a call a line, the reference answer or the checker's source, and the threshold."""
    parts = []
    if isinstance(gold, list):
        parts.append("\n".join(long_text(_json(call), limit) for call in gold[:64]) if gold else "no call")
    elif gold is not None:
        parts.append(long_text(gold, limit))
    for name in ("reference", "checker"):
        if value := field(evaluation, name):
            parts.append(f"{name}:\n{long_text(value, limit)}")
    if (threshold := number(evaluation, "success_threshold")) not in (None, 1.0):
        parts.append(f"success from a score of {threshold:g}")
    return "\n\n".join(parts)


def _attempt(attempt: Any, limit: int) -> dict[str, Any]:
    success = field(attempt, "success")
    unscored = field(attempt, "scored") is False or not isinstance(success, bool)
    return {
        "response": long_text(field(attempt, "response"), limit),
        "score": number(attempt, "score"),
        "outcome": "unscored" if unscored else "success" if success else "failure",
        "reason": clipped(field(attempt, "reason"), MAX_NAME_CHARS),
        "tokens": number(attempt, "response_tokens"),
    }


def long_text(value: Any, limit: int = MAX_TEXT_CHARS) -> str:
    """A text, or any other value as JSON, cut to about ``limit`` characters; empty for ``None``."""
    if value is None or isinstance(value, str):
        return clipped(value, limit)
    flat = _json(value)
    return clipped(_indented(flat) if 100 < len(flat) < limit else flat, limit)


def _json(value: Any) -> str:
    try:
        return json.dumps(value, ensure_ascii=False)
    except RecursionError:
        return "(nested too deeply to be shown)"


@functools.lru_cache(maxsize=256)
def _indented(flat: str) -> str:
    """JSON over several lines. One epoch's tasks share their tools: they are laid out once."""
    try:
        return json.dumps(json.loads(flat), ensure_ascii=False, indent=1)
    except (RecursionError, ValueError):
        return flat
