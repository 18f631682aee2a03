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
"""The warm start of both players: what they are shown, and in which order.

The environment comes first, from nothing: it learns to solve goals (short ones before long ones) and then to write
variations of a seed with their calls. The agent begins with the environment's weights, as both players of the paper
begin with one model, and is then shown noisy demonstrations only, until its own answers are as unreliable as these.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import jinja2
from transformers import PreTrainedTokenizerFast, Qwen2ForCausalLM

import models
import world
from models import Example

AGENT_TEMPLATE = Path(__file__).with_name("agent.jinja")
ENVIRONMENT_TEMPLATE = Path(__file__).with_name("environment.jinja")

GROUP = 16  # examples of one shape: they are equally long, so that none is padded

OnStep = Callable[[int, float], None]


@dataclass(frozen=True)
class Schedule:
    """How long the warm start takes, in optimizer steps.

    Attributes:
        environment_steps: of three groups of examples each.
        agent_steps: of four groups of examples each.
        solving: share of the environment's steps in which it only solves goals.
        longest_from: share of the environment's steps after which goals of all lengths occur.
    """

    environment_steps: int
    agent_steps: int
    solving: float = 0.4
    longest_from: float = 0.35


FULL = Schedule(environment_steps=700, agent_steps=150)
FAST = Schedule(environment_steps=220, agent_steps=50)


class Lessons:
    """Draws examples of the warm start. No exam goal occurs in any of them."""

    def __init__(self, tokenizer: PreTrainedTokenizerFast, rng: random.Random):
        self._tokenizer = tokenizer
        self._rng = rng
        self._agent_template = jinja2.Template(AGENT_TEMPLATE.read_text())
        self._environment_template = jinja2.Template(ENVIRONMENT_TEMPLATE.read_text())
        self._user, self._assistant = tokenizer.convert_tokens_to_ids([models.USER, models.ASSISTANT])
        [self._calls] = tokenizer(models.CALLS)["input_ids"]

    def solutions(self, k: int) -> list[Example]:
        """The agent's prompt with the true calls, for goals of ``k`` clauses."""
        goals = [world.random_goal(self._rng, k) for _ in range(GROUP)]
        return self._examples([(self._agent_text(goal), world.write_response(world.solve(goal))) for goal in goals])

    def demonstrations(self, k: int) -> list[Example]:
        """The agent's prompt with a noisy demonstration, for goals of ``k`` clauses."""
        goals = [world.random_goal(self._rng, k) for _ in range(GROUP)]
        return self._examples(
            [(self._agent_text(goal), world.write_response(world.demonstrate(goal, self._rng))) for goal in goals]
        )

    def variations(self, seed_k: int, k: int, goal_weight: float) -> list[Example]:
        """The environment's prompt for a seed of ``seed_k`` clauses with a solved variation of ``k`` clauses.

        The success rate in the prompt is random: at the start the environment does not know what makes a task hard.

        Args:
            seed_k: clauses of the seed.
            k: clauses of the variation.
            goal_weight: loss weight of the goal's tokens in [0, 1]; a goal is mostly chance, its calls are not.
        """
        pairs = []
        for _ in range(GROUP):
            seed = world.random_goal(self._rng, seed_k)
            success = self._rng.choice([None, *(tenth / 10 for tenth in range(11))])
            goal = world.vary(self._rng, seed, k)
            pairs.append((self._environment_text(seed, success), world.write_generation(goal, world.solve(goal))))
        return self._examples(pairs, goal_weight)

    def _agent_text(self, goal: str) -> str:
        return self._agent_template.render(task={"context": {"goal": goal}})

    def _environment_text(self, seed: str, success: float | None) -> str:
        return self._environment_template.render(seed={"context": {"goal": seed}}, seed_success=success)

    def _examples(self, pairs: list[tuple[str, str]], goal_weight: float = 1.0) -> list[Example]:
        """Prompts as the chat template renders them, and responses with their end."""
        ids = self._tokenizer([text for pair in pairs for text in pair])["input_ids"]
        examples = []
        for text, response in zip(ids[::2], ids[1::2], strict=True):
            response = [*response, self._tokenizer.eos_token_id]
            goal_tokens = response.index(self._calls) if self._calls in response else 0
            weights = [goal_weight] * goal_tokens + [1.0] * (len(response) - goal_tokens)
            examples.append(Example([self._user, *text, self._assistant], response, weights))
        return examples


def teach_environment(
    model: Qwen2ForCausalLM, lessons: Lessons, rng: random.Random, schedule: Schedule, on_step: OnStep
) -> None:
    """Trains an untrained model to write valid, correctly solved variations."""

    def draw(progress: float) -> list[Example]:
        longest = min(world.MAX_CLAUSES, int(2 + (world.MAX_CLAUSES - 1) * progress / schedule.longest_from))
        examples = []
        for _ in range(3):
            k = rng.randint(1, longest)
            if progress < schedule.solving or rng.random() < 0.2:
                examples += lessons.solutions(k)
            else:
                near = max(1, min(world.MAX_CLAUSES, k + round(rng.gauss(0, 1.5))))
                examples += lessons.variations(k, near, goal_weight=0.15 if progress < 0.7 else 0.5)
        return examples

    models.train(model, draw, steps=schedule.environment_steps, on_step=on_step)


def teach_agent(
    model: Qwen2ForCausalLM, lessons: Lessons, rng: random.Random, schedule: Schedule, on_step: OnStep
) -> None:
    """Trains the environment's weights further, until the model answers as unreliably as the demonstrator."""

    def draw(progress: float) -> list[Example]:
        return [example for _ in range(4) for example in lessons.demonstrations(rng.randint(1, world.MAX_CLAUSES))]

    models.train(model, draw, steps=schedule.agent_steps, learning_rate=1e-3, on_step=on_step)
