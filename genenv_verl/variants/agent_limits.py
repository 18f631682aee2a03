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
"""The agent's tokens where no run is there to count them: with its tokenizer if one is known, else estimated."""

from __future__ import annotations

from genenv_verl.benchmarks.harness import estimate_tokens
from genenv_verl.trainer.run_validity import AgentTokens

USUAL_CONTROL_TOKENS = frozenset(
    "<|im_start|> <|im_end|> <|endoftext|> <|begin_of_text|> <|end_of_text|> <|start_header_id|> <|end_header_id|> "
    "<|eot_id|> <|eom_id|> <|start|> <|end|> <|message|> <|channel|> <start_of_turn> <end_of_turn> "
    "[INST] [/INST]".split()
)
"""Special tokens of the usual chat templates, for an agent that is not known yet."""

_TEMPLATE_TOKENS = 16
"""What a chat template adds to a message, on the high side."""


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
            "counting the agent's tokens needs transformers, which is not installed: "
            "pip install '.[cpu]' (or '.[gpu]') in genenv_verl's folder"
        ) from None
    try:
        tokenizer = AutoTokenizer.from_pretrained(model)
    except (OSError, ValueError) as error:
        raise ValueError(f"--agent-model {model!r}: no tokenizer can be read there: {error}") from None
    return AgentTokens.of_tokenizer(tokenizer, model)
