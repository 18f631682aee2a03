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
"""Does an evaluation accept its gold and reject wrong answers? The test that every generated task must pass.

Nobody else verifies what the environment writes: a checker that says yes to everything, or a similarity threshold that
any sentence reaches, makes a task whose difficulty is whatever its author likes. The battery is fixed (SPEC section 8):
the gold, which must succeed, and wrong answers, all of which must fail: silence, an echo of the goal, a refusal,
constants, another task's gold, the list of tools, words at random, and the gold corrupted in every way that
``genenv_verl.tasks.corruption`` knows.
"""

from __future__ import annotations

import json
import random
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from genenv_verl.tasks.answer_keys import calls_key, text_key
from genenv_verl.tasks.corruption import WORDS, corrupt_calls, corrupt_text, generator_of
from genenv_verl.tasks.generation import Rejection
from genenv_verl.tasks.sandbox.base import CheckerBackend, Outcome
from genenv_verl.tasks.schema import Task
from genenv_verl.tasks.tool_calls import format_calls

REFUSAL = "I'm sorry, but I can't help with that."
CONSTANTS = ("yes", "no", "true", "false", "0", "1", "none", "unknown", "ok", "a", "b", "{}", "[]", "I don't know.")
# Constants that mean the same as the gold are no wrong answers.
_SYNONYMS = ({"yes", "true", "1"}, {"no", "false", "0", "none"}, {"unknown", "i don't know"}, {"none", ""})

PROBES_AT_ONCE = 8
"""Probes that a checker gets in one go: one that hangs on wrong answers costs so many time limits, not all."""

MAX_BATTERY_SECONDS = 60.0
"""A checker with which the battery takes longer is refused: every attempt would wait for it as well."""

MAX_ECHO_CHARS = 4_096
MAX_SHOWN_CHARS = 120

Solves = Callable[[Task, str], bool | None]
"""Whether a response solves a task by its R_agent: True, False, or None where nothing can be said."""


@dataclass(frozen=True, slots=True)
class Probe:
    """A wrong answer: its kind, for the log, and the response."""

    kind: str
    response: str


def gold_response(task: Task) -> str:
    """The text with which the agent would solve the task; empty if the task names no gold."""
    return format_calls(task.gold_action) if task.gold_action else task.evaluation.reference or ""


def wrong_answers(task: Task, seed: Task) -> list[Probe]:
    """The battery of a task: responses that solve it in no reading, cheap and telling ones first.

    Deterministic: the corruptions are drawn by the task's id.

    Args:
        task: The task, with its gold.
        seed: The task that it was written from; its gold is the wrong answer of another task.
    """
    rng = generator_of(task)
    gold = gold_response(task)
    probes = [Probe("empty", ""), *general_answers(task, seed, rng)]
    if task.gold_action:
        corrupted = corrupt_calls(task.gold_action, task.context.tools, rng)
        probes += [Probe(kind, format_calls(calls)) for kind, calls in corrupted]
    elif gold:
        texts = corrupt_text(gold, rng)
        if task.evaluation.kind == "checker" and len(gold.split()) > 3:
            # Not every word of a sentence decides, and a checker may look for those that do.
            texts = [(kind, text) for kind, text in texts if kind != "changed_word"]
        probes += [Probe(kind, text) for kind, text in texts]
    same = _meanings(gold)
    return [probe for probe in dict.fromkeys(probes) if not probe.response or text_key(probe.response) not in same]


def general_answers(task: Task, seed: Task, rng: random.Random) -> list[Probe]:
    """Wrong answers that need no gold: whoever accepts one of them has not looked."""
    names = [tool.name for tool in task.context.tools]
    probes = [
        Probe("echo", task.context.goal[:MAX_ECHO_CHARS]),
        Probe("refusal", REFUSAL),
        *(Probe("constant", constant) for constant in CONSTANTS),
        Probe("random words", " ".join(rng.sample(WORDS, 5))),
        Probe("long answer", " ".join(rng.choices(WORDS, k=300))),
    ]
    if names:
        probes.append(Probe("tool list", json.dumps(names, ensure_ascii=False)))
    if (other := gold_response(seed)) and not _same_gold(task, seed):
        probes.append(Probe("another task's gold", other))
    return probes


def _meanings(gold: str) -> set[str]:
    """The keys of the texts that say what the gold says."""
    key = text_key(gold)
    return {key}.union(*(group for group in _SYNONYMS if key in group))


def _same_gold(task: Task, seed: Task) -> bool:
    if not task.gold_action or not seed.gold_action:
        return False  # Texts are compared with the others.
    tools = task.context.tools
    return calls_key(task.gold_action, tools) == calls_key(seed.gold_action, tools)


def judge_scorer(task: Task, seed: Task, solves: Solves) -> Rejection | None:
    """Tries R_agent on the gold of a task that no checker scores and, for a reference answer, on the battery.

    That no corrupted call matches the gold is a property of the matching, not of the task; it needs no test here.

    Returns:
        None if all is well; else ``gold_fails`` (R_agent rejects the task's own gold) or ``reference_undiscriminating``
        (a wrong answer reaches the threshold).
    """
    if gold_response(task) and not solves(task, gold_response(task)):
        return Rejection("gold_fails", "R_agent does not accept the task's own gold")
    if task.evaluation.kind != "reference_answer":
        return None
    accepted = [probe for probe in wrong_answers(task, seed) if solves(task, probe.response)]
    if not accepted:
        return None
    threshold = task.evaluation.success_threshold
    return Rejection("reference_undiscriminating", f"these reach the threshold {threshold:g}: {_shown(accepted)}")


def judge_checker(task: Task, seed: Task, backend: CheckerBackend) -> Rejection | None:
    """Runs a checker on its gold and on the battery, each answer twice and in a fresh state.

    Costs two checks for a checker that fails on its gold, about a hundred for one that passes; once a task, never once
    an attempt. After ``MAX_BATTERY_SECONDS`` no further answers are tried.

    Returns:
        None if the checker is sound; else ``checker_unavailable`` (nothing can run it), ``checker_without_gold``,
        ``checker_rejects_gold``, ``checker_undiscriminating`` (it accepts a wrong answer), ``checker_flaky`` (it judges
        one answer in two ways) or ``checker_<reason>`` where it gives no verdict (``checker_timeout``,
        ``checker_exception``, ``checker_bad_verdict`` …, see ``Outcome``), be it for a single wrong answer: an attempt
        without a verdict is not counted, so such a checker would hide failures.
    """
    gold = gold_response(task)
    if not gold:
        return Rejection("checker_without_gold", "neither calls nor an answer say what the checker must accept")
    begun = time.monotonic()
    for probes in _batches([Probe("gold", gold)], wrong_answers(task, seed)):
        if (spent := time.monotonic() - begun) > MAX_BATTERY_SECONDS:
            return Rejection("checker_timeout", f"too slow: {spent:.0f} s for a part of the self-test")
        outcomes = backend.check(task.evaluation.checker, [probe.response for probe in probes for _ in range(2)])
        pairs = list(zip(probes, outcomes[::2], outcomes[1::2], strict=True))
        if (rejection := _fault(pairs)) is not None:
            return rejection
    return None


def _batches(*groups: Sequence[Probe]) -> Iterator[Sequence[Probe]]:
    for group in groups:
        for start in range(0, len(group), PROBES_AT_ONCE):
            yield group[start : start + PROBES_AT_ONCE]


def _fault(pairs: Sequence[tuple[Probe, Outcome, Outcome]]) -> Rejection | None:
    """The gravest fault that the outcomes show, or None."""
    for probe, *outcomes in pairs:
        for outcome in outcomes:
            if outcome.accepted is None:
                why = outcome.detail or outcome.reason
                return Rejection(f"checker_{outcome.reason}", f"no verdict on {probe.kind}: {why}")
    for probe, first, second in pairs:
        if first.accepted is not second.accepted:
            return Rejection("checker_flaky", f"two verdicts on {probe.kind}")
    accepted = [probe for probe, first, _ in pairs if first.accepted]
    if pairs[0][0].kind == "gold":
        return None if accepted else Rejection("checker_rejects_gold", "the checker rejects the task's own gold")
    return Rejection("checker_undiscriminating", f"it accepts: {_shown(accepted)}") if accepted else None


def _shown(probes: Sequence[Probe]) -> str:
    """The kinds of some probes, and the first of their texts."""
    kinds = ", ".join(dict.fromkeys(probe.kind for probe in probes))
    return f"{kinds}, such as {probes[0].response[:MAX_SHOWN_CHARS]!r}"
