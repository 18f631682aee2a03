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
"""An evaluation from its plan to its files."""

from __future__ import annotations

import importlib.metadata
import platform
from collections.abc import Callable, Mapping
from contextlib import AsyncExitStack
from dataclasses import replace
from pathlib import Path
from typing import Any

from genenv_verl.benchmarks.harness import Harness
from genenv_verl.evaluation.cache import AnswerCache
from genenv_verl.evaluation.cached_chat import CachedChat
from genenv_verl.evaluation.chat import Decoding
from genenv_verl.evaluation.corpus_search import CorpusSearch
from genenv_verl.evaluation.endpoint import LazyEndpoint
from genenv_verl.evaluation.http import check_url, key_from_environment
from genenv_verl.evaluation.plan import Chosen, Plan
from genenv_verl.evaluation.results import (
    RESULT_FILE,
    ResultError,
    answer_lines,
    check_same_row,
    read_result,
    summarise,
    write_result,
)
from genenv_verl.evaluation.run import Outcome, Setting, evaluate, prompt_sha256
from genenv_verl.evaluation.search import HttpSearch, Search
from genenv_verl.evaluation.styles import get_style
from genenv_verl.evaluation.subject import Subject, find_subject, json_client, open_model
from genenv_verl.evaluation.vllm_server import vllm_version

RESPONSES_FILE = "responses.jsonl"
RESPONSE_TOKENS = 1_024
"""What the prompt's budget keeps free for the answer: the harness's own number."""


Watch = Callable[[str, Outcome], None]


async def run_plan(plan: Plan, chosen: Mapping[str, Chosen], watch: Watch) -> dict[str, dict[str, Any]]:
    """Evaluates a model on the chosen steps and writes ``<out>/<benchmark>/``.

    Args:
        plan: The options, checked.
        chosen: The benchmarks' steps.
        watch: Called with the benchmark's name and each outcome.

    Returns:
        The results by benchmark.

    Raises:
        EndpointError, ServerError: The endpoint or the local server does not work.
        CacheInUse: Another evaluation writes there.
        ResultError: The folder holds results of another model or of other settings.
    """
    async with AsyncExitStack() as stack:
        cache = stack.enter_context(AnswerCache(plan.out / RESPONSES_FILE))
        endpoint = await stack.enter_async_context(LazyEndpoint(lambda: open_model(plan)))
        subject = await find_subject(plan, endpoint, cache)
        chat = CachedChat(
            endpoint,
            cache,
            model=subject.name,
            model_id=subject.model_id,
            decoding=plan.decoding,
            max_model_len=subject.max_model_len,
            count_tokens=subject.count_tokens,
        )
        setting = _setting(plan, subject)
        settings = {name: setting for name in chosen}
        if "bamboogle" in chosen:
            search, judge = await _search(plan, cache, stack), await _judge(plan, cache, stack)
            settings["bamboogle"] = replace(setting, search=search, judge_chat=judge)
        _check_folder(plan.out, {name: _describe(plan, subject, settings[name], name) for name in chosen})
        return {
            name: await _run_benchmark(plan, name, part, subject, chat, settings[name], watch)
            for name, part in chosen.items()
        }


async def _run_benchmark(
    plan: Plan, name: str, part: Chosen, subject: Subject, chat: CachedChat, setting: Setting, watch: Watch
) -> dict[str, Any]:
    outcomes = await evaluate(part.benchmark, part.steps, chat, setting, lambda outcome: watch(name, outcome))
    result = {
        **summarise(part.benchmark, outcomes, release_records=part.release_records, limit=plan.limit, seed=plan.seed),
        "settings": _describe(plan, subject, setting, name),
        "prompt_sha256": prompt_sha256([outcome.prompt for outcome in outcomes]),
        "served_models": sorted(chat.served_models),
        "versions": versions(local_server=plan.base_url is None),
    }
    write_result(plan.out / name, result, answer_lines(outcomes))
    return result


def versions(*, local_server: bool) -> dict[str, str]:
    """Versions of what a result depends on, as far as it is installed."""
    found = {"python": platform.python_version()}
    for distribution in ("genenv_verl", "bfcl-eval", "textworld", "alfworld"):
        try:
            found[distribution] = importlib.metadata.version(distribution)
        except importlib.metadata.PackageNotFoundError:
            continue
    return {**found, "vllm": vllm_version()} if local_server else found


async def _search(plan: Plan, cache: AnswerCache, stack: AsyncExitStack) -> Search | None:
    if plan.search is None:
        return None
    if not plan.search_is_url:
        return CorpusSearch(Path(plan.search), plan.out)
    url, key = check_url(plan.search, "--search"), key_from_environment(plan.search_key_env)
    endpoint = await stack.enter_async_context(LazyEndpoint(lambda: json_client(plan, url, key, "X-API-KEY")))
    return HttpSearch(url, endpoint, cache)


async def _judge(plan: Plan, cache: AnswerCache, stack: AsyncExitStack) -> CachedChat | None:
    if plan.judge_url is None:
        return None
    url, key = check_url(plan.judge_url, "--judge-url"), key_from_environment(plan.judge_key_env)
    endpoint = await stack.enter_async_context(LazyEndpoint(lambda: json_client(plan, url, key)))
    return CachedChat(endpoint, cache, model=plan.judge_model, model_id=plan.judge_model, decoding=Decoding())


def _setting(plan: Plan, subject: Subject) -> Setting:
    style = get_style(plan.style)
    harness = Harness(
        style=style.messages,
        max_tokens=min(plan.context_tokens, subject.max_model_len or plan.context_tokens),
        response_tokens=min(RESPONSE_TOKENS, plan.decoding.max_tokens),
        count_tokens=subject.count_tokens,
    )
    return Setting(style, harness, plan.concurrency)


def _describe(plan: Plan, subject: Subject, setting: Setting, name: str) -> dict[str, Any]:
    """What the figures depend on, as it is written beside them. No key is among it."""
    return {
        "model": subject.model_id,
        "endpoint": plan.base_url or "local vLLM server",
        "server_arguments": list(plan.server_arguments),
        "style": plan.style,
        "decoding": plan.decoding.fields(),
        "context_tokens": setting.harness.max_tokens,
        "max_model_len": subject.max_model_len,
        "token_counter": "tokenizer" if subject.exact else "estimate",
        "limit": plan.limit,
        "data": None if plan.data is None else str(plan.data.resolve()),
        "options": dict(plan.options.get(name, {})),
        "search": None if setting.search is None else setting.search.name,
        "judge": None if setting.judge_chat is None else setting.judge_chat.model_id,
        "bootstrap_seed": plan.seed,
    }


def _check_folder(out: Path, settings_of: Mapping[str, Mapping[str, Any]]) -> None:
    """ResultError if what the folder holds was run with another model or other settings than these benchmarks."""
    for path in sorted(out.glob(f"*/{RESULT_FILE}")):
        try:
            result = read_result(path)
        except ResultError:
            if path.parent.name in settings_of:
                continue  # it is written anew
            raise
        for name, settings in settings_of.items():
            check_same_row(result, {"benchmark": name, "settings": settings}, out)
