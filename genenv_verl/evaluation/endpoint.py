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
"""An OpenAI-compatible endpoint: reached when it is needed, and asked which models it serves."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from contextlib import AbstractAsyncContextManager, AsyncExitStack
from dataclasses import dataclass
from typing import Any

from genenv_verl.evaluation.http import EndpointError, JsonClient, RequestFailed


class LazyEndpoint:
    """An endpoint that is reached, or a server that is started, at the first question to it.

    A run whose answers are all cached needs neither. An asynchronous context manager that closes what was opened.
    """

    def __init__(self, open_client: Callable[[], AbstractAsyncContextManager[JsonClient]]):
        self._open_client = open_client
        self._client: JsonClient | None = None
        self._failure: Exception | None = None
        self._lock = asyncio.Lock()
        self._stack = AsyncExitStack()

    async def __aenter__(self) -> LazyEndpoint:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._stack.aclose()

    async def client(self) -> JsonClient:
        """The client, opened by the first who asks (EndpointError and ServerError of the opening)."""
        async with self._lock:
            if self._failure is not None:
                raise self._failure  # who waited must not start another server
            if self._client is None:
                try:
                    self._client = await self._stack.enter_async_context(self._open_client())
                except Exception as failure:
                    self._failure = failure
                    raise
        return self._client


@dataclass(frozen=True)
class ServedModel:
    """A model of an endpoint, with its longest prompt plus answer in tokens where the endpoint tells it (vLLM does)."""

    name: str
    max_model_len: int | None


async def find_model(client: JsonClient, name: str | None) -> ServedModel:
    """The model that is asked for, or the only one that the endpoint serves.

    An endpoint that lists no models is believed to serve the one that is asked for.

    Raises:
        EndpointError: It does not serve the model, or none is asked for and there is a choice.
    """
    models = await _served_models(client)
    if models is None:
        if name is None:
            raise EndpointError(f"{client.base_url} does not list its models: name one with --model")
        return ServedModel(name, None)
    if name is None and len(models) == 1:
        name = next(iter(models))
    if name not in models:
        served = ", ".join(sorted(models)[:20]) or "none"
        wanted = "name one of its models with --model" if name is None else f"it does not serve the model {name!r}"
        raise EndpointError(f"{client.base_url}: {wanted}; it serves: {served}")
    return models[name]


async def _served_models(client: JsonClient) -> Mapping[str, ServedModel] | None:
    """The models by name, None where the endpoint keeps no readable list."""
    try:
        answer = await client.get("/models")
    except RequestFailed as failure:
        if failure.reason in ("http_401", "http_403"):
            raise EndpointError(
                f"{client.base_url}/models: the key was refused (it is read from an environment variable, see "
                f"--api-key-env): {failure}"
            ) from None
        if failure.reason in ("connection", "timeout"):
            raise EndpointError(f"{client.base_url} cannot be reached: {failure}") from None
        return None
    entries = answer.get("data") if isinstance(answer, dict) else None
    if not isinstance(entries, list):
        return None
    models = [_read_model(entry) for entry in entries if isinstance(entry, dict) and isinstance(entry.get("id"), str)]
    return {model.name: model for model in models} or None


def _read_model(entry: Mapping[str, Any]) -> ServedModel:
    length = entry.get("max_model_len")
    return ServedModel(entry["id"], length if isinstance(length, int) and length > 0 else None)
