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
"""A model behind an endpoint, with every answer kept on disk."""

from __future__ import annotations

import asyncio
from collections import defaultdict
from collections.abc import Sequence

from genenv_verl.benchmarks.harness import TokenCounter, estimate_tokens
from genenv_verl.evaluation.cache import AnswerCache
from genenv_verl.evaluation.chat import Completion, Decoding, ask, completion_key
from genenv_verl.evaluation.endpoint import LazyEndpoint
from genenv_verl.tasks.schema import Message

_TEMPLATE_TOKENS = 16
"""What a chat template adds to a message, on the high side."""


class CachedChat:
    """Asks a model, each prompt once.

    Args:
        endpoint: Where it is asked.
        cache: Where answers are kept.
        model: The name under which the endpoint serves the model.
        model_id: What the model is in the cache: a name, or a fingerprint of its files.
        decoding: How it answers.
        max_model_len: The model's longest prompt plus answer in tokens, None if unknown: an answer then may be as long
            as ``decoding`` says, whatever the prompt.
        count_tokens: Counts the tokens of a text.
    """

    def __init__(
        self,
        endpoint: LazyEndpoint,
        cache: AnswerCache,
        *,
        model: str,
        model_id: str,
        decoding: Decoding,
        max_model_len: int | None = None,
        count_tokens: TokenCounter = estimate_tokens,
    ):
        self.model = model
        self.model_id = model_id
        self.decoding = decoding
        self.served_models: set[str] = set()
        self._max_model_len = max_model_len
        self._count_tokens = count_tokens
        self._endpoint = endpoint
        self._cache = cache
        self._locks: dict[str, asyncio.Lock] = defaultdict(asyncio.Lock)

    async def complete(self, messages: Sequence[Message]) -> Completion:
        """The answer to a prompt. Two equal prompts at the same time are asked once: a repeated run must agree.

        Raises:
            RequestFailed, EndpointError: As :meth:`JsonClient.post`.
        """
        decoding = self._fitting(messages)
        key = completion_key(self.model_id, messages, decoding)
        async with self._locks[key]:
            record = self._cache.get(key)
            if record is not None and isinstance(record.get("content"), str):
                completion = Completion.from_record(record)
            else:
                completion = await ask(await self._endpoint.client(), self.model, messages, decoding)
                self._cache.put(key, completion.as_record())
        if completion.served_model:
            self.served_models.add(completion.served_model)
        return completion

    def _fitting(self, messages: Sequence[Message]) -> Decoding:
        if self._max_model_len is None:
            return self.decoding
        prompt_tokens = sum(self._count_tokens(message.content) + _TEMPLATE_TOKENS for message in messages)
        return self.decoding.fitting(prompt_tokens + _TEMPLATE_TOKENS, self._max_model_len)
