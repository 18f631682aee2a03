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
"""One model on one benchmark: answers first, then verdicts, then figures."""

from __future__ import annotations

import hashlib
import json
import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from genenv_verl.benchmarks.bamboogle import extract_answer
from genenv_verl.benchmarks.base import Benchmark, ScorerUnavailable, Step, Verdict
from genenv_verl.benchmarks.harness import Harness
from genenv_verl.evaluation.cached_chat import CachedChat
from genenv_verl.evaluation.concurrency import for_each
from genenv_verl.evaluation.http import RequestFailed
from genenv_verl.evaluation.judge import judge
from genenv_verl.evaluation.rounds import Answered, answer_step
from genenv_verl.evaluation.search import Search
from genenv_verl.evaluation.styles import Style
from genenv_verl.tasks.schema import Message

logger = logging.getLogger(__name__)

SCORER_ERROR = "scorer_error:"
"""Begins the reason of a verdict that is no finding about the model: the scorer itself has failed."""


@dataclass(frozen=True)
class Outcome:
    """What became of a step: an answer and its verdict, or a request that failed and no verdict.

    Attributes:
        step: The step.
        prompt: Its first prompt.
        answered: What the model said, None if a request has failed.
        failure: Why, as (reason, message); a failed judgement is one, too.
        verdict: Of an answered step.
        judged: The judge's verdict, None without one.
    """

    step: Step
    prompt: list[Message]
    answered: Answered | None = None
    failure: tuple[str, str] | None = None
    verdict: Verdict | None = None
    judged: bool | None = None


@dataclass(frozen=True)
class Setting:
    """How steps are put to the model.

    Attributes:
        style: The prompt style.
        harness: Budget and style of prompts.
        concurrency: Most requests at a time.
        search: For Bamboogle, None for a closed book.
        judge_chat: For Bamboogle, None for exact match.
    """

    style: Style
    harness: Harness
    concurrency: int = 16
    search: Search | None = None
    judge_chat: CachedChat | None = None


Progress = Callable[[Outcome], None]


async def evaluate(
    benchmark: Benchmark, steps: Sequence[Step], chat: CachedChat, setting: Setting, progress: Progress
) -> list[Outcome]:
    """Asks, scores and judges every step; the outcomes come in the order of the steps.

    Args:
        benchmark: The benchmark.
        steps: Its steps.
        chat: The model.
        setting: How it is asked.
        progress: Called with every outcome of the asking.

    Raises:
        EndpointError: The endpoint does not work. What was answered is in the cache.
        ScorerUnavailable: What the scorer runs on is missing.
    """
    outcomes: dict[str, Outcome] = {}

    async def ask_step(step: Step) -> None:
        outcomes[step.step_id] = outcome = await _ask(benchmark, step, chat, setting)
        progress(outcome)

    await for_each(steps, ask_step, setting.concurrency)
    scored = [_score(benchmark, outcomes[step.step_id]) for step in steps]
    if setting.judge_chat is None:
        return scored
    judged: dict[str, Outcome] = {}

    async def judge_outcome(outcome: Outcome) -> None:
        judged[outcome.step.step_id] = await _judge(outcome, setting.judge_chat)

    await for_each(scored, judge_outcome, setting.concurrency)
    return [judged[step.step_id] for step in steps]


async def _ask(benchmark: Benchmark, step: Step, chat: CachedChat, setting: Setting) -> Outcome:
    def prompt(step: Step) -> list[Message]:
        return benchmark.messages(step, setting.harness)

    outcome = Outcome(step, prompt(step))
    how = {"prompt": prompt, "style": setting.style, "search": setting.search}
    try:
        answered = await answer_step(chat, benchmark, step, outcome.prompt, **how)
    except RequestFailed as failure:
        return replace(outcome, failure=(failure.reason, str(failure)))
    return replace(outcome, answered=answered)


def _score(benchmark: Benchmark, outcome: Outcome) -> Outcome:
    if outcome.answered is None:
        return outcome
    step = outcome.answered.step
    answer = {**step.answer_fields, **benchmark.parse(step, outcome.answered.canonical)}
    try:
        verdict = benchmark.score(step.record, answer)
    except ScorerUnavailable:
        raise
    except Exception as error:  # The boundary where one broken record must not end the run; it is reported by its id.
        logger.warning("the scorer of %s failed at step %s", benchmark.name, step.step_id, exc_info=True)
        verdict = Verdict(0.0, f"{SCORER_ERROR}{type(error).__name__}")
    return replace(outcome, verdict=verdict)


async def _judge(outcome: Outcome, chat: CachedChat) -> Outcome:
    if outcome.answered is None:
        return outcome
    data = outcome.step.record.data
    answer = extract_answer(outcome.answered.canonical)
    if not answer:
        return replace(outcome, judged=False)
    try:
        judged = await judge(chat, question=data["question"], reference=data["answer"], answer=answer)
    except RequestFailed as failure:
        return replace(outcome, failure=(f"judge_{failure.reason}", str(failure)))
    return replace(outcome, judged=judged)


def prompt_sha256(prompts: Sequence[Sequence[Message]]) -> str:
    """Hash of prompts, in hexadecimal digits."""
    text = json.dumps([[[message.role, message.content] for message in prompt] for prompt in prompts])
    return hashlib.sha256(text.encode()).hexdigest()
