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
"""The model that is evaluated: behind an endpoint, or in a local vLLM server."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import asdict, dataclass
from pathlib import Path

from genenv_verl.benchmarks.harness import TokenCounter, estimate_tokens
from genenv_verl.evaluation import local_model
from genenv_verl.evaluation.backoff import Backoff
from genenv_verl.evaluation.cache import AnswerCache
from genenv_verl.evaluation.endpoint import LazyEndpoint, ServedModel, find_model
from genenv_verl.evaluation.http import JsonClient, check_url, key_from_environment
from genenv_verl.evaluation.plan import Plan
from genenv_verl.evaluation.vllm_server import vllm_server

SERVER_LOG = "server.log"


@dataclass(frozen=True)
class Subject:
    """The model that is evaluated.

    Attributes:
        name: Under which it is asked for.
        model_id: What it is: the name, or the fingerprint of its folder.
        max_model_len: Longest prompt plus answer in tokens, None if unknown.
        count_tokens: Counts tokens.
        exact: Whether ``count_tokens`` is the model's own tokenizer.
    """

    name: str
    model_id: str
    max_model_len: int | None
    count_tokens: TokenCounter = estimate_tokens
    exact: bool = False


@asynccontextmanager
async def open_model(plan: Plan) -> AsyncIterator[JsonClient]:
    """The endpoint, or a local server: opened when the first answer is not in the cache."""
    async with AsyncExitStack() as stack:
        if plan.base_url is None:
            base_url = await stack.enter_async_context(
                vllm_server(
                    plan.model,
                    name=_served_name(plan),
                    log=plan.out / SERVER_LOG,
                    max_model_len=_local_length(plan),
                    arguments=plan.server_arguments,
                )
            )
            key = None
        else:
            base_url, key = check_url(plan.base_url, "--base-url"), key_from_environment(plan.api_key_env)
        yield await stack.enter_async_context(json_client(plan, base_url, key))


def json_client(plan: Plan, base_url: str, key: str | None, header: str = "Authorization") -> JsonClient:
    """A client for an endpoint with the plan's time limit and retries; the key goes into the header."""
    value = f"Bearer {key}" if header == "Authorization" else key
    return JsonClient(
        base_url,
        headers={header: value} if key else {},
        secret=key,
        timeout_s=plan.timeout_s,
        backoff=Backoff(retries=plan.retries),
    )


async def find_subject(plan: Plan, endpoint: LazyEndpoint, cache: AnswerCache) -> Subject:
    """What is evaluated. A folder tells it all; an endpoint is asked once and its answer kept with the others."""
    if plan.base_url is None and local_model.is_folder(plan.model):
        folder = Path(plan.model)
        counter = local_model.token_counter(folder)
        return Subject(
            _served_name(plan),
            local_model.fingerprint(folder),
            _local_length(plan),
            counter or estimate_tokens,
            exact=counter is not None,
        )
    key = f"model\n{plan.base_url or 'local server'}\n{plan.model or ''}"
    if (record := cache.get(key)) is None:
        model = await find_model(await endpoint.client(), plan.model)
        record = asdict(model)
        cache.put(key, record)
    served = ServedModel(**record)
    return Subject(served.name, served.name, served.max_model_len)


def _served_name(plan: Plan) -> str:
    return Path(plan.model).resolve().name if local_model.is_folder(plan.model) else plan.model


def _local_length(plan: Plan) -> int | None:
    """No longer than needed: the memory for the KV cache may not do for the model's own length."""
    if not local_model.is_folder(plan.model):
        return None
    length = local_model.context_length(Path(plan.model))
    wanted = plan.context_tokens + plan.decoding.max_tokens
    return wanted if length is None else min(length, wanted)
