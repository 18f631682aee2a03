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
"""One chat completion: what is asked, how it is decoded, what came back, and the key under which it is cached."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import Any

from genenv_verl.evaluation.http import JsonClient, UnreadableAnswer
from genenv_verl.tasks.json_reader import replace_lone_surrogates
from genenv_verl.tasks.schema import Message

MIN_NEW_TOKENS = 64
"""Room for a short answer. A prompt that leaves less is too long, and the endpoint says so."""


@dataclass(frozen=True)
class Decoding:
    """How a model answers. The paper's protocol: near-greedy, at most 4,096 new tokens, the same for every model.

    Attributes:
        temperature: 0 is greedy.
        max_tokens: Most new tokens of an answer.
        seed: Sent with every request; it matters above temperature 0.
        extra: Further fields of the request's body. A None takes a field out again: ``{"max_tokens": None,
            "max_completion_tokens": 4096}`` is for endpoints that know only the newer name.
    """

    temperature: float = 0.0
    max_tokens: int = 4096
    seed: int = 0
    extra: Mapping[str, Any] = field(default_factory=dict)

    def fields(self) -> dict[str, Any]:
        """The fields of the request's body."""
        fields = {"temperature": self.temperature, "max_tokens": self.max_tokens, "seed": self.seed, **self.extra}
        return {name: value for name, value in fields.items() if value is not None}

    def fitting(self, prompt_tokens: int, max_model_len: int) -> Decoding:
        """The same with no more new tokens than the model has room for; never under ``MIN_NEW_TOKENS``."""
        return replace(self, max_tokens=min(self.max_tokens, max(max_model_len - prompt_tokens, MIN_NEW_TOKENS)))


@dataclass(frozen=True)
class Completion:
    """A model's answer. ``finish_reason`` is ``length`` if it was cut off; token counts are None if not told."""

    content: str
    finish_reason: str | None = None
    served_model: str | None = None
    prompt_tokens: int | None = None
    completion_tokens: int | None = None

    def as_record(self) -> dict[str, Any]:
        """What is cached."""
        return asdict(self)

    @classmethod
    def from_record(cls, record: Mapping[str, Any]) -> Completion:
        """Reads what was cached."""
        return cls(**{name: record.get(name) for name in cls.__dataclass_fields__})


def completion_key(model_id: str, messages: Sequence[Message], decoding: Decoding) -> str:
    """The key of a request: model, prompt and decoding, not the endpoint that happens to serve the model."""
    request = [model_id, [[message.role, message.content] for message in messages], decoding.fields()]
    return hashlib.sha256(json.dumps(request, sort_keys=True).encode()).hexdigest()


def read_completion(answer: Any) -> Completion:
    """Reads the JSON of a ``/chat/completions`` answer. An empty text is an answer, a missing one is not.

    A ``content`` of null is an empty text: a model that thinks elsewhere and runs out of tokens sends it. A ``usage``
    that cannot be read tells no token counts; the answer has been paid for and counts.

    Raises:
        UnreadableAnswer: The JSON has no first choice with a message.
    """
    try:
        choice = answer["choices"][0]
        content = choice["message"]["content"]
        usage = answer.get("usage")
        if not isinstance(content, str | None):
            raise TypeError
    except (KeyError, IndexError, TypeError, AttributeError):
        raise UnreadableAnswer(f"the answer has no message: {json.dumps(answer)}") from None
    if not isinstance(usage, dict):
        usage = {}
    return Completion(
        content=replace_lone_surrogates(content or ""),
        finish_reason=_typed(choice.get("finish_reason"), str),
        served_model=_typed(answer.get("model"), str),
        prompt_tokens=_typed(usage.get("prompt_tokens"), int),
        completion_tokens=_typed(usage.get("completion_tokens"), int),
    )


def _typed(value: Any, kind: type) -> Any:
    if isinstance(value, str):
        value = replace_lone_surrogates(value)[:200]
    return value if isinstance(value, kind) else None


async def ask(client: JsonClient, model: str, messages: Sequence[Message], decoding: Decoding) -> Completion:
    """Asks an endpoint (RequestFailed, EndpointError as :meth:`JsonClient.post`)."""
    body = {
        "model": model,
        "messages": [{"role": message.role, "content": message.content} for message in messages],
        **decoding.fields(),
    }
    return await client.post("/chat/completions", body, read_completion)
