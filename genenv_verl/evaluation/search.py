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
"""Search for multi-round question answering: an HTTP endpoint in Serper's form, or a corpus on this machine."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from genenv_verl.evaluation.cache import AnswerCache
from genenv_verl.evaluation.endpoint import LazyEndpoint
from genenv_verl.evaluation.http import UnreadableAnswer
from genenv_verl.tasks.json_reader import replace_lone_surrogates

TOP = 5
"""Passages that a search returns (the paper's protocol)."""

MAX_QUERY_CHARACTERS = 512
MAX_PASSAGE_CHARACTERS = 2_000


@dataclass(frozen=True)
class Passage:
    """One search result."""

    title: str
    text: str


class Search(ABC):
    """A search engine. ``name`` says which one, in results and cache keys."""

    name: str

    @abstractmethod
    async def find(self, query: str) -> list[Passage]:
        """The best passages, best first, at most ``TOP``.

        Raises:
            RequestFailed: The search has failed, which says nothing about the model that searched.
            EndpointError: It does not work at all.
        """


class HttpSearch(Search):
    """A search endpoint in Serper's form: ``POST {"q", "num"}`` answered by ``{"organic": [{"title", "snippet"}]}``.

    Results are cached: the web changes, and a repeated run must agree with the first.
    """

    def __init__(self, url: str, endpoint: LazyEndpoint, cache: AnswerCache):
        self.name = url
        self._endpoint = endpoint
        self._cache = cache

    async def find(self, query: str) -> list[Passage]:
        query = query[:MAX_QUERY_CHARACTERS]
        key = f"search\n{self.name}\n{query}"
        if (record := self._cache.get(key)) is None:
            passages = await (await self._endpoint.client()).post("", {"q": query, "num": TOP}, _read_results)
            record = {"passages": [[passage.title, passage.text] for passage in passages]}
            self._cache.put(key, record)
        return [Passage(title, text) for title, text in record["passages"]]


def _read_results(answer: Any) -> list[Passage]:
    results = answer.get("organic", []) if isinstance(answer, dict) else None
    if not isinstance(results, list):
        raise UnreadableAnswer("the search's answer has no list 'organic'")
    found = [result for result in results if isinstance(result, dict)]
    return [Passage(_text(result.get("title")), _text(result.get("snippet"))) for result in found[:TOP]]


def _text(value: Any) -> str:
    return replace_lone_surrogates(value)[:MAX_PASSAGE_CHARACTERS] if isinstance(value, str) else ""


def show(passages: Sequence[Passage]) -> str:
    """The passages as the model reads them."""
    if not passages:
        return "No results."
    return "\n".join(
        f"[{number}] {passage.title}: {passage.text}" if passage.title else f"[{number}] {passage.text}"
        for number, passage in enumerate(passages, start=1)
    )
