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
"""The tiny players: one tokenizer, one Qwen2 architecture, a supervised training loop and a batched sampler."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import torch
import world
from tokenizers import Regex, Tokenizer, decoders, models, pre_tokenizers, trainers
from torch.nn.functional import cross_entropy
from transformers import PreTrainedTokenizerFast, Qwen2Config, Qwen2ForCausalLM

PAD, END, USER, ASSISTANT = "<|pad|>", "<|end|>", "<|user|>", "<|assistant|>"

# No turn begins with a token that a tokenizer would add by itself, so text and template give the same ids.
CHAT_TEMPLATE = (
    "{% for message in messages %}"
    "{% if message['role'] == 'user' %}" + USER + "{{ message['content'] }}"
    "{% elif message['role'] == 'assistant' %}" + ASSISTANT + "{{ message['content'] }}" + END + ""
    "{% else %}{{ raise_exception('the miniature world has user and assistant turns only') }}"
    "{% endif %}{% endfor %}"
    "{% if add_generation_prompt %}" + ASSISTANT + "{% endif %}"
)

# A clause is always three tokens and a call always four: the clause that a call belongs to is then a fixed stride away,
# which is what a model of this size can learn in a minute. The JSON between the words is one token a joint, and a number
# is the same token in the goal and in the call.
_PIECES = (
    r'\{"goal":"|","calls":\[\{"name":"|\[\{"name":"|","arguments":\{"n":"|"\}\},\{"name":"|"\}\}\]\}|"\}\}\]'
    r"|[0-9]{1,3}|[a-z]+ ?|, |: |[^a-z0-9]"
)


def build_tokenizer() -> PreTrainedTokenizerFast:
    """A byte-level BPE whose every piece of the world's texts is one token; any other text falls back to bytes."""
    goals = [f"{verb} {word}" for verb in world.TOOL_OF_VERB for word in world.NUMBER_OF_WORD]
    goals += [f"pay {number}, pay {number}" for number in range(100)]
    texts = [f"vary success ?: {goal}" for goal in goals]
    texts += [world.dump_calls(world.solve(goal)) for goal in goals]
    texts += [world.dump_generation(goal, world.solve(goal)) for goal in goals]
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence(
        [
            pre_tokenizers.Split(Regex(_PIECES), "isolated"),
            pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False),
        ]
    )
    tokenizer.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=2048,  # an upper bound: training ends earlier, when every piece is whole
        min_frequency=2,
        special_tokens=[PAD, END, USER, ASSISTANT],
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )
    tokenizer.train_from_iterator(texts, trainer)
    return PreTrainedTokenizerFast(
        tokenizer_object=tokenizer,
        pad_token=PAD,
        eos_token=END,
        additional_special_tokens=[USER, ASSISTANT],
        chat_template=CHAT_TEMPLATE,
        padding_side="left",
        model_max_length=512,
    )


def new_model(tokenizer: PreTrainedTokenizerFast, seed: int) -> Qwen2ForCausalLM:
    """An untrained player of 0.9M parameters in float32, with heads of 32 (the smallest that vLLM's CPU kernels take)."""
    torch.manual_seed(seed)
    config = Qwen2Config(
        vocab_size=len(tokenizer),
        hidden_size=128,
        intermediate_size=384,
        num_hidden_layers=4,
        num_attention_heads=4,
        num_key_value_heads=2,
        max_position_embeddings=512,
        tie_word_embeddings=True,
        initializer_range=0.05,
        bos_token_id=None,
        eos_token_id=tokenizer.eos_token_id,
        pad_token_id=tokenizer.pad_token_id,
        dtype=torch.float32,
    )
    return Qwen2ForCausalLM(config)


@dataclass(frozen=True)
class Example:
    """A prompt, the response to learn (with the end token) and a loss weight for every response token."""

    prompt: list[int]
    response: list[int]
    weights: list[float]

    def __len__(self) -> int:
        return len(self.prompt) + len(self.response)


def _micro_batches(examples: list[Example], tokens: int) -> Iterator[list[Example]]:
    """Examples of like length together, at most ``tokens`` padded positions each."""
    batch: list[Example] = []
    for example in sorted(examples, key=len):
        if batch and (len(batch) + 1) * len(example) > tokens:
            yield batch
            batch = []
        batch.append(example)
    yield batch


def _loss(model: Qwen2ForCausalLM, batch: list[Example]) -> tuple[torch.Tensor, float]:
    """The weighted negative log-likelihood summed over the responses, and its part of full weight."""
    width = max(map(len, batch))
    ids = torch.zeros(len(batch), width, dtype=torch.long)
    weights = torch.zeros(len(batch), width)
    for row, example in enumerate(batch):
        ids[row, : len(example)] = torch.tensor(example.prompt + example.response)
        weights[row, len(example.prompt) : len(example)] = torch.tensor(example.weights)
    learned = weights[:, 1:] > 0
    hidden = model.model(input_ids=ids[:, :-1], use_cache=False).last_hidden_state
    nll = cross_entropy(model.lm_head(hidden[learned]), ids[:, 1:][learned], reduction="none")
    weights = weights[:, 1:][learned]
    return (nll * weights).sum(), nll.detach()[weights == 1.0].sum().item()
