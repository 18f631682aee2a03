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
"""Seeds, held-out validation and warm-start conversations from the records of a ``bfcl-eval`` wheel.

    python prepare_data.py WHEEL MODEL FOLDER

Writes ``seeds.parquet`` and ``validation.parquet`` (verl's rows) and ``warm_start.parquet`` (conversations for verl's
supervised trainer). MODEL gives the tokenizer by which lengths are measured.
"""

from __future__ import annotations

import argparse
import os
import random
import shutil
from collections import Counter
from collections.abc import Callable, Iterable
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
from bfcl_records import is_sound, read_wheel
from conversations import Conversations, Messages, environment_answer
from split import split_by_tools
from transformers import AutoTokenizer, PreTrainedTokenizerBase

from genenv_verl.rewards.solved import is_solved
from genenv_verl.tasks.novelty import SeenTasks
from genenv_verl.tasks.prompts import AgentPrompt, EnvironmentPrompt
from genenv_verl.tasks.records import write_tasks
from genenv_verl.tasks.schema import Task
from genenv_verl.tasks.validity import ValidityFilter

HERE = Path(__file__).parent

# Tokens: the limits of the run, and what is short enough to be worth its time on a CPU.
MAX_PROMPT_TOKENS, MAX_RESPONSE_TOKENS = 512, 160
SHORT_PROMPT_TOKENS, SHORT_ANSWER_TOKENS = 160, 96


def make_limits(tokenizer: PreTrainedTokenizerBase, agent_prompt: AgentPrompt) -> ValidityFilter:
    """The validity filter of the run."""
    return ValidityFilter(
        max_prompt_tokens=MAX_PROMPT_TOKENS,
        max_response_tokens=MAX_RESPONSE_TOKENS,
        count_prompt_tokens=lambda task: count_tokens(tokenizer, agent_prompt.messages(task)),
        count_response_tokens=lambda text: len(tokenizer.encode(text, add_special_tokens=False)),
        seen=SeenTasks(),
        solves=is_solved,
    )


def count_tokens(tokenizer: PreTrainedTokenizerBase, messages: Messages) -> int:
    """Tokens of a conversation, with the opening of the next answer if the last turn is the user's."""
    opens = messages[-1]["role"] == "user"
    return len(tokenizer.apply_chat_template(messages, add_generation_prompt=opens, return_dict=False))


def suits_model(task: Task, limits: ValidityFilter) -> bool:
    """Whether a task is cheap to pose and to solve, and in English, which is what SmolLM2 knows."""
    return (
        task.context.goal.isascii()
        and limits.count_response_tokens(environment_answer(task)) <= SHORT_ANSWER_TOKENS
        and limits.count_prompt_tokens(task) <= SHORT_PROMPT_TOKENS
    )


def take_tokens(conversations: Iterable[Messages], tokens: int, count: Callable[[Messages], int]) -> list[Messages]:
    """As many conversations as fit into ``tokens``."""
    taken: list[Messages] = []
    for conversation in conversations:
        tokens -= count(conversation)
        if tokens < 0:
            break
        taken.append(conversation)
    return taken


def prepare(wheel: Path, model: Path, folder: Path, *, seed: int, n_seeds: int, n_validation: int, tokens: int) -> None:
    """Writes the folder, whole or not at all."""
    draft = folder.with_name(folder.name + ".tmp")
    shutil.rmtree(draft, ignore_errors=True)
    rng = random.Random(seed)
    tokenizer = AutoTokenizer.from_pretrained(model)
    agent_prompt = AgentPrompt(str(HERE / "agent.jinja"))
    environment_prompt = EnvironmentPrompt(str(HERE / "environment.jinja"))
    limits = make_limits(tokenizer, agent_prompt)

    records, refused = read_wheel(wheel)
    sound = [task for task in records if is_sound(task, limits)]
    suitable = [task for task in sound if suits_model(task, limits)]
    print(f"{len(records) + refused} records: {len(sound)} sound, {len(suitable)} of them short and in English")

    split = split_by_tools(suitable, n_seeds, n_validation, rng)
    for name, tasks in vars(split).items():
        families = Counter(task.family.removeprefix("bfcl/") for task in tasks)
        print(f"{name}: {len(tasks)} records ({', '.join(f'{n} {family}' for family, n in sorted(families.items()))})")
    write_tasks(draft / "seeds.parquet", split.seeds, prompt=agent_prompt.messages)
    write_tasks(draft / "validation.parquet", split.validation, prompt=agent_prompt.messages, split="validation")

    conversations = take_tokens(
        Conversations(split.warm_start, agent_prompt, environment_prompt, limits, rng),
        tokens,
        lambda messages: count_tokens(tokenizer, messages),
    )
    pq.write_table(pa.Table.from_pylist([{"messages": each} for each in conversations]), draft / "warm_start.parquet")
    print(f"{len(conversations)} warm-start conversations in {tokens} tokens")
    os.replace(draft, folder)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("wheel", type=Path)
    parser.add_argument("model", type=Path)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--n-seeds", type=int, default=96)
    parser.add_argument("--n-validation", type=int, default=48)
    parser.add_argument("--tokens", type=int, default=64_000, help="size of the warm start, prompts included")
    arguments = vars(parser.parse_args())
    prepare(arguments.pop("wheel"), arguments.pop("model"), arguments.pop("folder"), **arguments)
