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
"""The validity filter of a fixed training set: the loop's, with the agent's tokenizer where there is one."""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from genenv_verl.benchmarks.harness import estimate_tokens
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

USUAL_CONTROL_TOKENS = frozenset(
    "<|im_start|> <|im_end|> <|endoftext|> <|begin_of_text|> <|end_of_text|> <|start_header_id|> <|end_header_id|> "
    "<|eot_id|> <|eom_id|> <|start|> <|end|> <|message|> <|channel|> <start_of_turn> <end_of_turn> "
    "[INST] [/INST]".split()
)
"""Special tokens of the usual chat templates, for an agent that is not known yet."""

_TEMPLATE_TOKENS = 16
"""What a chat template adds to a message, on the high side."""


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


def estimated_tokens() -> AgentTokens:
    """Counts without a tokenizer, rather too high than too low."""
    return AgentTokens(
        count_prompt=lambda messages: sum(estimate_tokens(turn["content"]) + _TEMPLATE_TOKENS for turn in messages),
        count_text=estimate_tokens,
        control=USUAL_CONTROL_TOKENS,
        name="estimate",
    )


def tokens_of(model: str) -> AgentTokens:
    """Counts with a model's own tokenizer and chat template.

    Args:
        model: Hugging Face folder or name.

    Raises:
        ValueError: It has no tokenizer that can be read, or transformers is not installed.
    """
    try:
        from transformers import AutoTokenizer
    except ImportError:
        raise ValueError(
            "counting the agent's tokens needs transformers, which is not installed: pip install 'genenv_verl[cpu]' "
            "(or [gpu])"
        ) from None
    try:
        tokenizer = AutoTokenizer.from_pretrained(model)
    except (OSError, ValueError) as error:
        raise ValueError(f"--agent-model {model!r}: no tokenizer can be read there: {error}") from None
    special = {token.content for token in tokenizer.added_tokens_decoder.values() if token.special}
    return AgentTokens(
        count_prompt=lambda messages: len(
            tokenizer.apply_chat_template(messages, add_generation_prompt=True, return_dict=False)
        ),
        count_text=lambda text: len(tokenizer.encode(text, add_special_tokens=False)),
        control=frozenset(tokenizer.all_special_tokens) | special,
        name=model,
    )


def validity_filter(
    settings: Settings, tokens: AgentTokens, seen: SeenTasks, *, max_prompt_tokens: int, max_response_tokens: int
) -> ValidityFilter:
    """The filter that the loop applies; what is evaluated on are the ``novelty.evaluation_files`` of the settings.

    Raises:
        ValueError: A rule of ``settings.validity_rules`` cannot be loaded, or an evaluation file cannot be read.
    """
    load_rules(settings.validity_rules)
    prompt = AgentPrompt(settings.agent_template)

    def count_prompt_tokens(task: Task) -> int:
        return tokens.count_prompt(prompt.messages(task))

    scoring: dict[str, Any] = settings.reward.model_dump()
    return ValidityFilter(
        max_prompt_tokens=max_prompt_tokens,
        max_response_tokens=max_response_tokens,
        count_prompt_tokens=count_prompt_tokens,
        count_response_tokens=tokens.count_text,
        seen=seen,
        solves=functools.partial(is_solved, scoring=Scoring(**scoring)),
        checkers=shared_backend(settings.sandbox),
        evaluation=evaluation_set(settings, None),
        max_same_template=settings.novelty.max_same_template,
        control_tokens=tokens.control,
    )
