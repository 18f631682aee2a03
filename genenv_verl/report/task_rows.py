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

import json
from collections.abc import Mapping
from typing import Any

from genenv_verl.report.fields import as_number, clipped, field, number

MAX_ATTEMPTS = 256
MAX_FLAGS = 16
MAX_NAME_CHARS = 300


def task_row(record: Mapping[str, Any]) -> dict[str, Any]:
    """One line of a task file as the page's row.

    Args:
        record: The line; any key may be missing or of another type.

    Returns:
        Text fields are texts (empty if missing), numbers are finite or ``None``, lists are lists; fit for strict JSON.
    """
    attempts = record.get("attempts")
    goal = _text(field(record, "task.context.goal"))
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
        "reason": clipped(field(record, "rejection.reason"), MAX_NAME_CHARS),
        "detail": clipped(field(record, "rejection.detail")),
        "flags": _flags(record),
        "trust": {name: value for name in TRUST_FIELDS if (value := _shown(field(record, f"trust.{name}")))},
        "novelty": {name: value for name in NOVELTY_FIELDS if (value := _shown(field(record, f"novelty.{name}")))},
        "goal": goal,
        "context": context_texts(field(record, "task.context")),
        "gold": gold_text(field(record, "task.gold_action"), field(record, "task.evaluation")),
        "text": _text(record.get("text")),
        "attempts": [_attempt(its) for its in attempts[:MAX_ATTEMPTS]] if isinstance(attempts, list) else [],
    }


TRUST_FIELDS = ("agreement", "consensus", "distinct_answers", "chance_level")
NOVELTY_FIELDS = ("similarity", "seed_similarity", "repeated", "near_duplicate_of", "template_uses")


def _flags(record: Mapping[str, Any]) -> list[str]:
    """The trust flags: in ``trust.flags``, or in ``flags`` as some writers have it."""
    flags = field(record, "trust.flags") or record.get("flags")
    return [clipped(flag, MAX_NAME_CHARS) for flag in flags[:MAX_FLAGS]] if isinstance(flags, list) else []


def _shown(value: Any) -> str:
    if isinstance(value, float):
        return "" if as_number(value) is None else f"{value:.3g}"
    return "" if value is None else clipped(value if isinstance(value, str) else _json(value), 2000)


def context_texts(context: Any) -> dict[str, str]:
    """What the agent reads beside the goal, each part as text; parts that are empty are left out."""
    parts = {name: field(context, name) for name in ("system", "constraints", "history", "tools")}
    return {name: _text(value) for name, value in parts.items() if value}


def gold_text(gold: Any, evaluation: Any) -> str:
    """The gold of a task as text: the calls, the reference answer or the checker's source, with the threshold."""
    parts = []
    if gold is not None:
        parts.append("no call" if gold == [] else _text(gold))
    kind = field(evaluation, "kind")
    for name in ("reference", "checker"):
        if value := field(evaluation, name):
            parts.append(f"{name}:\n{_text(value)}")
    if (threshold := number(evaluation, "success_threshold")) not in (None, 1.0):
        parts.append(f"success from a score of {threshold:g}")
    return "\n\n".join(parts + ([f"({clipped(kind, 60)})"] if kind else []))


def _attempt(attempt: Any) -> dict[str, Any]:
    scored = field(attempt, "scored") is not False
    return {
        "response": _text(field(attempt, "response")),
        "score": number(attempt, "score"),
        "outcome": "unscored" if not scored else "success" if field(attempt, "success") is True else "failure",
        "reason": clipped(field(attempt, "reason"), MAX_NAME_CHARS),
        "tokens": number(attempt, "response_tokens"),
    }


def _text(value: Any) -> str:
    if value is None:
        return ""
    return clipped(value if isinstance(value, str) else _json(value))


def _json(value: Any) -> str:
    """JSON for reading; short values on one line."""
    flat = json.dumps(value, ensure_ascii=False)
    return flat if len(flat) < 100 else json.dumps(value, ensure_ascii=False, indent=1)
