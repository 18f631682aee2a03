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
"""From a step to a final answer: one prompt, or several with a search in between."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from genenv_verl.benchmarks.bamboogle import Bamboogle, search_query
from genenv_verl.benchmarks.base import Benchmark, Step
from genenv_verl.evaluation.cached_chat import CachedChat
from genenv_verl.evaluation.chat import Completion
from genenv_verl.evaluation.search import Search, show
from genenv_verl.evaluation.styles import Style
from genenv_verl.tasks.schema import Message


@dataclass(frozen=True)
class Answered:
    """A step's final answer.

    Attributes:
        completions: Of every round.
        step: The step of the last round.
        canonical: The last answer in the shared form.
    """

    completions: list[Completion]
    step: Step
    canonical: str


async def answer_step(
    chat: CachedChat,
    benchmark: Benchmark,
    step: Step,
    messages: Sequence[Message],
    *,
    prompt: Callable[[Step], list[Message]],
    style: Style,
    search: Search | None = None,
) -> Answered:
    """Puts a step to the model; a question of Bamboogle in as many rounds as the model searches and may.

    The first search of a round is run, further calls are ignored. The last round offers no tool.

    Args:
        chat: The model.
        benchmark: The step's benchmark.
        step: What is asked.
        messages: Its prompt.
        prompt: Writes the steps of further rounds.
        style: How answers are read.
        search: The search engine; without one there is one round.

    Raises:
        RequestFailed, EndpointError: Of the model or of the search.
    """
    completions: list[Completion] = []
    while True:
        completions.append(await chat.complete(messages))
        canonical = style.canonical(completions[-1].content)
        rounds = benchmark.max_rounds if isinstance(benchmark, Bamboogle) and search is not None else 1
        query = search_query(canonical) if len(completions) < rounds else None
        if query is None:
            return Answered(completions, step, canonical)
        step = benchmark.next_round(step, canonical, show(await search.find(query)))
        messages = prompt(step)
