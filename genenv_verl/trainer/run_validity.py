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
"""The validity filter of a run, and of a fixed training set: one set of rules, with the agent's tokens counted."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

from genenv_verl.config.settings import Settings
from genenv_verl.rewards.agent_reward import Scoring
from genenv_verl.rewards.solved import is_solved
from genenv_verl.tasks.novelty import SeenTasks
from genenv_verl.tasks.prompts import AgentPrompt
from genenv_verl.tasks.sandbox.backends import shared_backend
from genenv_verl.tasks.schema import Task
from genenv_verl.tasks.validity import ValidityFilter, load_rules
from genenv_verl.trainer.evaluation_files import evaluation_set

Messages = list[dict[str, str]]


@dataclass(frozen=True)
class AgentTokens:
    """How the agent's tokens are counted.

    Attributes:
        count_prompt: Tokens of messages with the chat template around them.
        count_text: Tokens of a text.
        control: Texts of special tokens.
        name: Whose tokenizer it is, or ``estimate``.
    """

    count_prompt: Callable[[Messages], int]
    count_text: Callable[[str], int]
    control: frozenset[str]
    name: str

    @classmethod
    def of_tokenizer(cls, tokenizer: Any, name: str, template_options: Mapping[str, Any] = MappingProxyType({})):
        """Counts with a tokenizer of transformers; the options are those of its chat template."""
        special = {token.content for token in tokenizer.added_tokens_decoder.values() if token.special}
        return cls(
            count_prompt=lambda messages: len(
                tokenizer.apply_chat_template(
                    messages, add_generation_prompt=True, return_dict=False, **template_options
                )
            ),
            count_text=lambda text: len(tokenizer.encode(text, add_special_tokens=False)),
            control=frozenset(tokenizer.all_special_tokens) | special,
            name=name,
        )


def run_validity(
    settings: Settings,
    tokens: AgentTokens,
    seen: SeenTasks,
    *,
    max_prompt_tokens: int,
    max_response_tokens: int,
    val_files: str | Sequence[str] | None,
) -> ValidityFilter:
    """The filter of the ``genenv`` block.

    Args:
        settings: The block.
        tokens: The agent's.
        seen: The tasks seen so far; the caller adds to it.
        max_prompt_tokens: Limit of an agent's prompt.
        max_response_tokens: Limit of its response.
        val_files: verl's ``data.val_files``, against which generated tasks are held; None outside a run.

    Raises:
        ValueError: A rule of ``settings.validity_rules`` cannot be loaded, or an evaluation file cannot be read.
    """
    load_rules(settings.validity_rules)
    prompt = AgentPrompt(settings.agent_template)

    def count_prompt_tokens(task: Task) -> int:
        return tokens.count_prompt(prompt.messages(task))

    return ValidityFilter(
        max_prompt_tokens=max_prompt_tokens,
        max_response_tokens=max_response_tokens,
        count_prompt_tokens=count_prompt_tokens,
        count_response_tokens=tokens.count_text,
        seen=seen,
        solves=functools.partial(is_solved, scoring=Scoring(**settings.reward.model_dump())),
        checkers=shared_backend(settings.sandbox),
        evaluation=evaluation_set(settings, val_files),
        max_same_template=settings.novelty.max_same_template,
        control_tokens=tokens.control,
    )
