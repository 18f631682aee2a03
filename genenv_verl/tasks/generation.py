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
"""What the environment policy wrote, read as a task or rejected under a named reason.

The environment writes one JSON object::

    {"goal": "...", "calls": [{"name": "...", "arguments": {...}}]}

``system``, ``tools``, ``constraints`` and ``history`` are optional: a missing one is the seed's. Exactly one kind of
evaluation is needed: ``calls`` (alias ``gold_action``), ``answer`` (reference text), or ``checker`` (Python source,
with ``calls`` or ``answer`` as its gold, if any). The nested form of the task schema (``context``, ``evaluation``,
``gold_action``) says the same. Other keys are passed over.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from pydantic import ValidationError

from genenv_verl.tasks.json_reader import MAX_JSON_CHARS, FoundJson, scan_json
from genenv_verl.tasks.schema import Generator, Task, first_problem
from genenv_verl.tasks.tool_calls import CallError, read_calls

MAX_DETAIL_CHARS = 200

_CONTEXT_KEYS = ("goal", "system", "tools", "constraints", "history")


@dataclass(frozen=True)
class Rejection:
    """Why a generation is no task: a reason that is counted, and a detail for the reader of the log."""

    reason: str
    detail: str = ""

    def __post_init__(self) -> None:
        object.__setattr__(self, "detail", self.detail[:MAX_DETAIL_CHARS])


def read_generation(
    text: str,
    *,
    seed: Task,
    task_id: str,
    epoch: int,
    generator: Generator,
    truncated: bool,
    success_threshold: float | None,
) -> Task | Rejection:
    """Reads one generation of the environment policy.

    Args:
        text: The generation, decoded. Thoughts, prose and a fence may stand around the object; of several objects the
            first that has a goal counts.
        seed: The seed task. What the generation leaves out of the context (``system``, ``tools``, ``constraints``,
            ``history``) is taken from it.
        task_id: The new task's identifier.
        epoch: The epoch, from 0.
        generator: Who wrote the text.
        truncated: Whether the token limit ended the text.
        success_threshold: The configured threshold in (0, 1], or None for the seed's. The environment never sets it.

    Returns:
        The task, or a ``Rejection``: ``truncated`` (cut off, and not readable for that), ``empty``, ``refusal``,
        ``not_json``, ``too_long``, ``too_deep``, ``duplicate_key``, ``missing_goal``, ``missing_evaluation``,
        ``ambiguous_evaluation`` or ``schema``.

    Raises:
        Nothing, whatever the text.
    """
    written = _find_object(text)
    if isinstance(written, Rejection):
        # The remedy for a cut text is another than for a broken one: the limit is named before all else.
        return Rejection("truncated", f"{written.reason}: {written.detail}") if truncated else written
    context = {**seed.context.model_dump(include=set(_CONTEXT_KEYS[1:])), **written.context}
    threshold = seed.evaluation.success_threshold if success_threshold is None else success_threshold
    solution = _read_solution(written.solution)
    if isinstance(solution, Rejection):
        return solution
    try:
        return Task.model_validate(
            {
                "task_id": task_id,
                "seed_id": seed.task_id,
                "epoch": epoch,
                "family": seed.family,
                "generator": generator,
                "context": context,
                "evaluation": {**solution["evaluation"], "success_threshold": threshold},
                "gold_action": solution["gold_action"],
            }
        )
    except ValidationError as error:
        return Rejection("schema", first_problem(error))


def count_rejections(outcomes: Iterable[Task | Rejection]) -> dict[str, Any]:
    """The epoch's account: ``generated`` = ``valid`` + the sum of ``invalid_reasons`` (SPEC section 8).

    Args:
        outcomes: The final outcome of every generation of the epoch: the task, or why it never reached the agent.

    Returns:
        ``generated``, ``valid``, ``valid_fraction`` in [0, 1] (0 without generations) and ``invalid_reasons``.
    """
    reasons: Counter[str] = Counter()
    valid = 0
    for outcome in outcomes:
        if isinstance(outcome, Rejection):
            reasons[outcome.reason] += 1
        else:
            valid += 1
    generated = valid + reasons.total()
    return {
        "generated": generated,
        "valid": valid,
        "valid_fraction": valid / generated if generated else 0.0,
        "invalid_reasons": dict(sorted(reasons.items())),
    }


@dataclass(frozen=True)
class _Written:
    """The two halves of a generation: what the agent reads, and what the reward reads."""

    context: dict[str, Any]
    solution: dict[str, Any]


_REFUSAL = re.compile(
    r"""\W*(?:unfortunately,?\ )?
    (?:i['’]?m\ (?:very\ |really\ |so\ )?sorry | sorry | i\ apologi[sz]e | as\ an\ ai
    | i\ (?:can\ ?not|can['’]?t|won['’]?t) | i(?:\ a|['’])m\ (?:not\ able|unable))\b""",
    re.IGNORECASE | re.VERBOSE,
)
_JSON_REASONS = {"too_deep", "duplicate_key"}


def _find_object(text: str) -> _Written | Rejection:
    """The object that holds the task, or why there is none."""
    if len(text) > MAX_JSON_CHARS:
        return Rejection("too_long", f"{len(text)} characters, at most {MAX_JSON_CHARS}")
    text = _after_thoughts(text)
    if not text.strip():
        return Rejection("empty")
    failed: FoundJson | None = None
    without_goal = False
    for found in scan_json(text):
        if found.error is not None:
            failed = failed or found
        elif isinstance(found.value, dict):
            written = _halves(found.value)
            if "goal" in written.context:
                return written
            without_goal = True
    if failed is not None:
        reason = failed.error.reason if failed.error.reason in _JSON_REASONS else "not_json"
        return Rejection(reason, f"{failed.error}: {text[failed.start : failed.start + 80]}")
    if without_goal:
        return Rejection("missing_goal", text)
    return Rejection("refusal" if _REFUSAL.match(text) else "not_json", text)


_THOUGHT_END = re.compile(r"</think(?:ing)?>")
_THOUGHT_STARTS = ("<think>", "<thinking>")


def _after_thoughts(text: str) -> str:
    """Cuts leading thoughts, also those that the template opened; a thought without an end leaves nothing."""
    close = _THOUGHT_END.search(text)
    if close is None:
        return "" if text.lstrip().startswith(_THOUGHT_STARTS) else text
    thought, answer = text[: close.start()], text[close.end() :]
    # A tag that an object quotes ends no thought.
    opened = thought.lstrip()
    return answer if opened.startswith(_THOUGHT_STARTS) or not opened.startswith(("{", "[", "```")) else text


def _halves(value: dict[str, Any]) -> _Written:
    """Splits an object, flat or in the nested form of the task schema. A null or blank entry counts as missing."""
    nested = value.get("context") if isinstance(value.get("context"), dict) else {}
    context = {**_given(nested, _CONTEXT_KEYS), **_given(value, _CONTEXT_KEYS)}
    evaluation = value.get("evaluation") if isinstance(value.get("evaluation"), dict) else {}
    solution = {**_given(evaluation, ("reference", "checker")), **_given(value, ("answer", "checker"))}
    if "reference" in solution:
        solution.setdefault("answer", solution.pop("reference"))
    solution.update(_given(value, ("calls", "gold_action")))
    return _Written(context, solution)


def _given(value: dict[str, Any], keys: tuple[str, ...]) -> dict[str, Any]:
    return {
        key: value[key]
        for key in keys
        if value.get(key) is not None and not (isinstance(value[key], str) and not value[key].strip())
    }


def _read_solution(written: dict[str, Any]) -> dict[str, Any] | Rejection:
    """The evaluation (without its threshold) and the gold, as the task schema wants them."""
    answer, checker = written.get("answer"), written.get("checker")
    try:
        golds = [read_calls(written[key]) for key in ("calls", "gold_action") if key in written]
    except CallError as error:
        return Rejection("schema", f"calls: {error.reason}")
    if len(golds) == 2 and golds[0] != golds[1]:
        return Rejection("ambiguous_evaluation", "calls and gold_action differ")
    gold = golds[0] if golds else None
    if isinstance(answer, int | float) and not isinstance(answer, bool):
        answer = str(answer)
    if checker is not None:
        return {"evaluation": {"kind": "checker", "checker": checker, "reference": answer}, "gold_action": gold}
    if gold is not None and answer is not None:
        return Rejection("ambiguous_evaluation", "both calls and answer are given, and no checker")
    if gold is not None:
        return {"evaluation": {"kind": "exact_match"}, "gold_action": gold}
    if answer is not None:
        return {"evaluation": {"kind": "reference_answer", "reference": answer}, "gold_action": None}
    return Rejection("missing_evaluation", f"none of calls, answer, checker; the keys are {sorted(written)}")
