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
"""The tiny players: one tokenizer, one Llama architecture, a supervised training loop and a batched sampler."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import torch
import world
from tokenizers import Regex, Tokenizer, decoders, pre_tokenizers
from tokenizers.models import BPE
from tokenizers.trainers import BpeTrainer
from torch.nn.functional import cross_entropy
from transformers import GenerationConfig, LlamaConfig, LlamaForCausalLM, PreTrainedTokenizerFast

from genenv_verl.tasks.schema import ToolCall
from genenv_verl.tasks.tool_calls import format_calls

PAD, END, USER, ASSISTANT = "<|pad|>", "<|end|>", "<|user|>", "<|assistant|>"
CALLS = '", "calls": ['  # the token that ends a generation's goal

WARMUP_STEPS = 30
MICRO_BATCH_TOKENS = 1024  # padded positions of a forward pass: about what a core's cache holds

# No turn begins with a token that a tokenizer would add by itself, so text and template give the same ids.
CHAT_TEMPLATE = (
    "{% for message in messages %}"
    "{% if message['role'] == 'user' %}" + USER + "{{ message['content'] }}"
    "{% elif message['role'] == 'assistant' %}" + ASSISTANT + "{{ message['content'] }}" + END + ""
    "{% else %}{{ raise_exception('the miniature world has user and assistant turns only') }}"
    "{% endif %}{% endfor %}"
    "{% if add_generation_prompt %}" + ASSISTANT + "{% endif %}"
)

# Every word, every number and the JSON between two of them is one token: a clause has three and a call has five. A
# number is the same token in the goal and in the call.
_PIECES = "|".join(
    [
        r'\{"goal": "|", "calls": \[|\{"id": "|"\}\}, \{"id": "|"\}\}\]\}',  # the environment's
        r'<tool_call>\n\{"id": "|"\}\}\n\{"id": "|"\}\}\n</tool_call>',  # the agent's
        r'", "name": "[a-z]+", "arguments": \{"n": "',  # of both
        r'<tool_call>\n\{"name": "|"\}\}\n\{"name": "|[a-z]+", "arguments": \{"n": "',  # the package's
        r"[0-9]{1,3}|[a-z]+ ?|, |: |[^a-z0-9]",
    ]
)


def build_tokenizer() -> PreTrainedTokenizerFast:
    """A byte-level BPE whose every piece of the world's texts is one token; any other text falls back to bytes."""
    goals = [f"{verb} {word}, {verb} {word}" for verb in world.TOOL_OF_VERB for word in world.NUMBER_OF_WORD]
    goals += [f"pay {number}, pay {number}" for number in range(100)]
    texts = [f"vary success ?: {goal}" for goal in goals]
    for goal in goals:
        calls = world.solve(goal)
        texts += [world.write_response(goal, calls), world.write_generation(goal, calls)]
        texts.append(format_calls([ToolCall.model_validate(call) for call in calls]))
    tokenizer = Tokenizer(BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence(
        [
            pre_tokenizers.Split(Regex(_PIECES), "isolated"),
            pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False),
        ]
    )
    tokenizer.decoder = decoders.ByteLevel()
    trainer = BpeTrainer(
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


def new_model(tokenizer: PreTrainedTokenizerFast, seed: int) -> LlamaForCausalLM:
    """An untrained player in float32, with heads of 32 (the smallest that vLLM's CPU kernels take).

    Llama and not Qwen2: for Qwen2 models ``AutoTokenizer`` puts Qwen's own word splitting in place of the folder's.
    """
    torch.manual_seed(seed)
    config = LlamaConfig(
        vocab_size=len(tokenizer),
        hidden_size=128,
        intermediate_size=256,
        num_hidden_layers=3,
        num_attention_heads=4,
        num_key_value_heads=2,
        max_position_embeddings=512,
        attention_bias=True,  # lets a head look a distance back whatever stands there
        tie_word_embeddings=True,
        initializer_range=0.05,
        bos_token_id=None,
        eos_token_id=tokenizer.eos_token_id,
        pad_token_id=tokenizer.pad_token_id,
        dtype=torch.float32,
    )
    model = LlamaForCausalLM(config)
    # Servers sample with these unless told otherwise.
    model.generation_config = GenerationConfig(
        do_sample=True, temperature=1.0, eos_token_id=tokenizer.eos_token_id, pad_token_id=tokenizer.pad_token_id
    )
    return model


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


def _loss(model: LlamaForCausalLM, batch: list[Example]) -> tuple[torch.Tensor, float]:
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


def train(
    model: LlamaForCausalLM,
    draw: Callable[[float], list[Example]],
    *,
    steps: int,
    learning_rate: float,
    cooldown: float,
    on_step: Callable[[int, float], None],
) -> None:
    """Supervised training with AdamW: a short warm-up, a constant rate and a linear cool-down.

    Args:
        model: trained in place.
        draw: gives the examples of a step from the training's progress in [0, 1).
        steps: optimizer steps, one for each drawn batch.
        learning_rate: of the constant phase.
        cooldown: share of the steps, in (0, 1], over which the rate falls to 5 % at the end.
        on_step: called after every step with the number of steps done and the mean negative log-likelihood (nats a
            token) of the response tokens of full weight.
    """
    optimizer = torch.optim.AdamW(model.parameters(), lr=learning_rate, betas=(0.9, 0.98), weight_decay=0.01)
    model.train()
    for step in range(steps):
        fade = min(1.0, max(0.05, (steps - step) / (cooldown * steps)))
        for group in optimizer.param_groups:
            group["lr"] = learning_rate * min(1.0, (step + 1) / WARMUP_STEPS) * fade
        examples = draw(step / steps)
        total = sum(sum(example.weights) for example in examples)
        full = sum(example.weights.count(1.0) for example in examples)
        nll = 0.0
        optimizer.zero_grad()
        for batch in _micro_batches(examples, MICRO_BATCH_TOKENS):
            loss, batch_nll = _loss(model, batch)
            (loss / total).backward()
            nll += batch_nll
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        on_step(step + 1, nll / full)
    model.eval()


@torch.inference_mode()
def sample(
    model: LlamaForCausalLM,
    tokenizer: PreTrainedTokenizerFast,
    chats: list[list[dict[str, str]]],
    *,
    max_new_tokens: int,
    batch_size: int = 128,
) -> list[str]:
    """One response a chat at temperature 1, as text without the end token; an unfinished response is cut."""
    prompts = tokenizer.apply_chat_template(chats, add_generation_prompt=True, return_dict=False)
    responses = [""] * len(prompts)
    order = sorted(range(len(prompts)), key=lambda i: len(prompts[i]))
    for start in range(0, len(order), batch_size):
        chunk = order[start : start + batch_size]
        inputs = tokenizer.pad({"input_ids": [prompts[i] for i in chunk]}, return_tensors="pt")
        output = model.generate(**inputs, do_sample=True, top_k=0, max_new_tokens=max_new_tokens)
        texts = tokenizer.batch_decode(output[:, inputs["input_ids"].shape[1] :], skip_special_tokens=True)
        for i, text in zip(chunk, texts, strict=True):
            responses[i] = text
    return responses


def save(model: LlamaForCausalLM, tokenizer: PreTrainedTokenizerFast, folder: Path) -> None:
    """Writes a Hugging Face folder: weights, config, generation config and tokenizer."""
    model.save_pretrained(folder)
    tokenizer.save_pretrained(folder)
