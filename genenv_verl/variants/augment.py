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
"""Writes a fixed training set once: the seeds, and variations of them by a model that is not trained.

The prompt, the parser and the validity rules are the loop's. Answers are kept on disk as they come, so that the same
command continues where it was stopped and pays for nothing twice.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Awaitable, Callable, Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass, replace
from typing import Any

from genenv_verl.evaluation.cache import AnswerCache
from genenv_verl.evaluation.cached_chat import CachedChat
from genenv_verl.evaluation.chat import Completion
from genenv_verl.evaluation.concurrency import for_each
from genenv_verl.evaluation.endpoint import LazyEndpoint
from genenv_verl.evaluation.http import RequestFailed
from genenv_verl.evaluation.plan import PlanError
from genenv_verl.evaluation.subject import Subject, find_subject, open_model
from genenv_verl.tasks.generation import Rejection, count_rejections
from genenv_verl.tasks.manifest import MANIFEST_FILE, TRAIN_FILE, Manifest, TokenCost, sha256_of
from genenv_verl.tasks.near_duplicates import NoveltyIndex
from genenv_verl.tasks.novelty import SeenTasks, fingerprint
from genenv_verl.tasks.prompts import AgentPrompt, TokenBudget
from genenv_verl.tasks.records import write_tasks
from genenv_verl.tasks.schema import Generator, Task
from genenv_verl.tasks.validity import ValidityFilter
from genenv_verl.tasks.writing import read_valid_task
from genenv_verl.trainer.run_directory import write_atomically
from genenv_verl.trainer.run_validity import AgentTokens, run_validity
from genenv_verl.variants.agent_limits import estimated_tokens, tokens_of
from genenv_verl.variants.plan import AugmentPlan, read_seeds, writer_plan
from genenv_verl.variants.requests import VariationRequest, variation_requests
from genenv_verl.variants.sizes import target_rows

RESPONSES_FILE = "responses.jsonl"
TASKS_FILE = "tasks.jsonl"
REJECTIONS_FILE = "rejections.jsonl"
MAX_TOLD_TOKENS = 10_000_000
"""A server that tells more for one answer tells nothing."""


MAX_REJECTED_CHARS = 20_000
"""Of a text in ``rejections.jsonl``; the whole answer stands in ``responses.jsonl``."""


@dataclass(frozen=True)
class Answer:
    """What came back for a request: a completion, or why there is none as (reason, message)."""

    request: VariationRequest
    completion: Completion | None = None
    failure: tuple[str, str] | None = None


@dataclass(frozen=True)
class Written:
    """A request's answer and, unless the request failed, what it is: a valid task or a rejection."""

    answer: Answer
    outcome: Task | Rejection | None


Ask = Callable[[VariationRequest], Awaitable[Answer]]
Watch = Callable[[Answer], None]


@dataclass(frozen=True)
class Job:
    """A plan with all that can be known before the model is asked."""

    plan: AugmentPlan
    seeds: list[tuple[Task, list[dict[str, str]]]]
    requests: list[VariationRequest]
    wanted: int | None
    target_rows: int | None
    tokens: AgentTokens
    validity: ValidityFilter
    seen: SeenTasks
    novelty: NoveltyIndex


def prepare(plan: AugmentPlan) -> Job:
    """Reads seeds, renders prompts, loads the tokenizer and the rules.

    Raises:
        PlanError, TaskFileError, TemplateError: What cannot work.
    """
    seeds = read_seeds(plan)
    seen = SeenTasks(fingerprint(task) for task, _ in seeds)
    agent = plan.agent_model or (plan.model if plan.base_url is None else None)
    try:
        rows = None if plan.target_multiple is None else target_rows(len(seeds), plan.target_multiple)
        tokens = estimated_tokens() if agent is None else tokens_of(agent)
        budget = TokenBudget(plan.max_prompt_tokens, tokens.count_prompt)
        requests = variation_requests([task for task, _ in seeds], plan.settings, budget)
        validity = run_validity(
            plan.settings,
            tokens,
            seen,
            max_prompt_tokens=plan.max_prompt_tokens,
            max_response_tokens=plan.max_response_tokens,
            val_files=None,
        )
    except ValueError as error:
        raise PlanError(str(error)) from None
    if rows is not None and rows > len(seeds) + len(requests):
        raise PlanError(
            f"--target-multiple {plan.target_multiple:g} wants {rows} rows, {len(seeds)} seeds with -n "
            f"{plan.settings.n_variations} give at most {len(seeds) + len(requests)}: give a larger -n"
        )
    wanted = None if rows is None else rows - len(seeds)
    novelty = NoveltyIndex([task for task, _ in seeds], plan.settings.novelty.near_duplicate)
    return Job(plan, seeds, requests, wanted, rows, tokens, validity, seen, novelty)


async def augment(job: Job, watch: Watch) -> Manifest:
    """Writes ``train.parquet``, ``tasks.jsonl``, ``rejections.jsonl`` and, last, ``manifest.json`` into the folder.

    Args:
        job: From :func:`prepare`.
        watch: Called with every answer, those of the cache among them.

    Raises:
        EndpointError, ServerError: The endpoint or the local server does not work. What was answered is kept.
        CacheInUse: Another process writes there.
    """
    writer = writer_plan(job.plan)
    async with AsyncExitStack() as stack:
        cache = stack.enter_context(AnswerCache(job.plan.out / RESPONSES_FILE))
        endpoint = await stack.enter_async_context(LazyEndpoint(lambda: open_model(writer)))
        subject = await find_subject(writer, endpoint, cache)

        async def ask(request: VariationRequest) -> Answer:
            answer = await _ask(request, job.plan, subject, endpoint, cache)
            watch(answer)
            return answer

        written = await write_until(
            job.requests, ask, lambda answer: _read(answer, job, subject), job.wanted, job.plan.concurrency
        )
    return _write_files(job, subject, written)


async def write_until(
    requests: Sequence[VariationRequest],
    ask: Ask,
    read: Callable[[Answer], Written],
    wanted: int | None,
    concurrency: int,
) -> list[Written]:
    """Asks until enough tasks are valid, or nothing is left to ask.

    As many are asked at a time as tasks are missing: no answer is paid for and left out. Answers come in any order and
    are read in the order of the requests, so that of two equal tasks always the same one is the duplicate.

    Args:
        requests: What can be asked.
        ask: Asks for one.
        read: Makes a task or a rejection of an answer.
        wanted: Valid tasks at which to stop, None for all.
        concurrency: Most requests at a time.
    """
    written: list[Written] = []
    missing = len(requests) if wanted is None else wanted
    while missing > 0 and len(written) < len(requests):
        wave = requests[len(written) : len(written) + missing]
        answers: dict[str, Answer] = {}

        async def ask_one(request: VariationRequest, answers: dict[str, Answer] = answers) -> None:
            answers[request.task_id] = await ask(request)

        await for_each(wave, ask_one, concurrency)
        written += [read(answers[request.task_id]) for request in wave]
        if wanted is not None:
            missing = wanted - sum(isinstance(entry.outcome, Task) for entry in written)
    return written


async def _ask(
    request: VariationRequest, plan: AugmentPlan, subject: Subject, endpoint: LazyEndpoint, cache: AnswerCache
) -> Answer:
    # The name belongs to the key: endpoints that take no seed must still be asked n times for n variations.
    chat = CachedChat(
        endpoint,
        cache,
        model=subject.name,
        model_id=f"{subject.model_id}\n{request.task_id}",
        decoding=_decoding(plan, request),
        max_model_len=subject.max_model_len,
        count_tokens=subject.count_tokens,
    )
    try:
        return Answer(request, completion=await chat.complete(request.messages))
    except RequestFailed as failure:
        return Answer(request, failure=(failure.reason, str(failure)))


def _decoding(plan: AugmentPlan, request: VariationRequest) -> Any:
    return replace(plan.decoding, seed=request.sampling_seed)


def _read(answer: Answer, job: Job, subject: Subject) -> Written:
    if answer.completion is None:
        return Written(answer, None)
    request = answer.request
    outcome, _ = read_valid_task(
        answer.completion.content,
        seed=request.seed,
        task_id=request.task_id,
        epoch=0,
        generator=Generator(model=subject.model_id, step=0, sampling=_decoding(job.plan, request).fields()),
        truncated=answer.completion.finish_reason == "length",
        success_threshold=job.plan.settings.success_threshold,
        validity=job.validity,
        novelty=job.novelty,
    )
    if isinstance(outcome, Task):
        job.seen.add(fingerprint(outcome))
    return Written(answer, outcome)


def token_cost(completions: Sequence[Completion]) -> TokenCost:
    """The token counts that the endpoint told, summed; what it tells is not trusted to be a sensible number."""
    prompt = completion = untold = 0
    for answer in completions:
        told = (answer.prompt_tokens, answer.completion_tokens)
        if all(type(count) is int and 0 <= count <= MAX_TOLD_TOKENS for count in told):
            prompt, completion = prompt + told[0], completion + told[1]
        else:
            untold += 1
    return TokenCost(prompt=prompt, completion=completion, untold=untold)


def _write_files(job: Job, subject: Subject, written: Sequence[Written]) -> Manifest:
    out, agent = job.plan.out, AgentPrompt(job.plan.settings.agent_template)
    own_prompts = {task.task_id: prompt for task, prompt in job.seeds}
    tasks = [task for task, _ in job.seeds] + [entry.outcome for entry in written if isinstance(entry.outcome, Task)]
    write_tasks(out / TASKS_FILE, tasks)
    rejections = [json.dumps(_rejection_record(entry)) for entry in written if not isinstance(entry.outcome, Task)]
    write_atomically(out / REJECTIONS_FILE, "".join(f"{line}\n" for line in rejections))
    write_tasks(out / TRAIN_FILE, tasks, prompt=lambda task: own_prompts.get(task.task_id) or agent.messages(task))
    manifest = _manifest(job, subject, written)
    write_atomically(out / MANIFEST_FILE, manifest.model_dump_json(indent=1) + "\n")
    return manifest


def _rejection_record(entry: Written) -> dict[str, Any]:
    request, completion = entry.answer.request, entry.answer.completion
    if entry.outcome is None:
        reason, detail = entry.answer.failure
    else:
        reason, detail = entry.outcome.reason, entry.outcome.detail
    return {
        "task_id": request.task_id,
        "seed_id": request.seed.task_id,
        "failed": completion is None,
        "reason": reason,
        "detail": detail,
        "text": None if completion is None else completion.content[:MAX_REJECTED_CHARS],
    }


def _manifest(job: Job, subject: Subject, written: Sequence[Written]) -> Manifest:
    plan = job.plan
    completions = [entry.answer.completion for entry in written if entry.answer.completion is not None]
    account = count_rejections(entry.outcome for entry in written if entry.outcome is not None)
    kept = {
        "environment_template", "offer_checkers", "agent_template", "success_threshold", "reward", "novelty",
        "validity_rules", "alpha", "seed",
    }  # fmt: skip
    return Manifest(
        variant=plan.variant,
        model=subject.model_id,
        endpoint=plan.base_url or "local vLLM server",
        served_models=sorted({answer.served_model for answer in completions if answer.served_model}),
        sampling={**plan.decoding.fields(), "seed": "of each request's own"},
        settings=plan.settings.model_dump(mode="json", include=kept),
        limits={
            "max_prompt_tokens": plan.max_prompt_tokens,
            "max_response_tokens": plan.max_response_tokens,
            "counted_by": job.tokens.name,
        },
        seed_files={str(path): sha256_of(path.expanduser()) for path in plan.seeds},
        seeds=len(job.seeds),
        n_variations=plan.settings.n_variations,
        target_multiple=plan.target_multiple,
        target_rows=job.target_rows,
        requested=len(job.requests),
        not_asked=len(job.requests) - len(written),
        failed=dict(sorted(Counter(e.answer.failure[0] for e in written if e.answer.failure is not None).items())),
        generated=account["generated"],
        valid=account["valid"],
        invalid_reasons=account["invalid_reasons"],
        rows=len(job.seeds) + account["valid"],
        tokens=token_cost(completions),
        train_sha256=sha256_of(plan.out / TRAIN_FILE),
    )
