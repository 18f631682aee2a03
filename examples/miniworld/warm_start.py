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

The environment comes first, from nothing: it learns to solve goals, those that it is given and those that it writes.
The agent begins with the environment's weights, as both players of the paper begin with one model, and is shown noisy
demonstrations until its own answers are as unreliable as these.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import jinja2
import models
import world
from models import Example
from transformers import LlamaForCausalLM, PreTrainedTokenizerFast

AGENT_TEMPLATE = Path(__file__).with_name("agent.jinja")
ENVIRONMENT_TEMPLATE = Path(__file__).with_name("environment.jinja")

GROUP = 8  # examples of one shape: they are equally long, so that little is padded

Report = Callable[[str, int, int, float], None]


@dataclass(frozen=True)
class Schedule:
    """How long the warm start takes, in optimizer steps.

    Attributes:
        environment: steps of the environment, six groups of examples each.
        agent: further steps of the agent, eight groups each.
        short: share of the environment's steps, in [0, 1], that leave out the longer half of the goals.
        most_wrong_golds: share of wrong golds among its valid tasks above which an environment has not learned to
            solve, in [0, 1]. That happens with some initial weights; others are taken then.
    """

    environment: int
    agent: int
    short: float = 0.25
    most_wrong_golds: float = 0.3


FULL = Schedule(environment=600, agent=100)
FAST = Schedule(environment=200, agent=40, short=0.8, most_wrong_golds=1.0)


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
        return self.examples(
            [(self.agent_prompt(goal), world.write_response(goal, world.solve(goal))) for goal in goals]
        )

    def demonstrations(self, k: int) -> list[Example]:
        """The agent's prompt with a noisy demonstration, for goals of ``k`` clauses."""
        goals = [world.random_goal(self._rng, k) for _ in range(GROUP)]
        return self.examples(
            [
                (self.agent_prompt(goal), world.write_response(goal, world.demonstrate(goal, self._rng)))
                for goal in goals
            ]
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
            pairs.append((self.environment_prompt(seed, success), world.write_generation(goal, world.solve(goal))))
        return self.examples(pairs, goal_weight)

    def agent_prompt(self, goal: str) -> str:
        """The text of the agent's user turn."""
        return self._agent_template.render(task={"context": {"goal": goal}})

    def environment_prompt(self, seed: str, success: float | None) -> str:
        """The text of the environment's user turn: the seed's goal and the agent's success at it, in [0, 1]."""
        return self._environment_template.render(seed={"context": {"goal": seed}}, seed_success=success)

    def examples(self, pairs: list[tuple[str, str]], goal_weight: float = 1.0) -> list[Example]:
        """Pairs of user turn and response as token ids: the prompt as the chat template renders it, the end added."""
        ids = self._tokenizer([text for pair in pairs for text in pair])["input_ids"]
        examples = []
        for text, response in zip(ids[::2], ids[1::2], strict=True):
            response = [*response, self._tokenizer.eos_token_id]
            goal_tokens = response.index(self._calls) if self._calls in response else 0
            weights = [goal_weight] * goal_tokens + [1.0] * (len(response) - goal_tokens)
            examples.append(Example([self._user, *text, self._assistant], response, weights))
        return examples


def teach_environment(
    model: LlamaForCausalLM, lessons: Lessons, rng: random.Random, schedule: Schedule, report: Report
) -> None:
    """Trains an untrained model to write valid, correctly solved variations.

    Many lengths come at once, because a model that sees one at a time learns each by heart; short ones come first,
    because they teach the same for fewer tokens.
    """

    def draw(progress: float) -> list[Example]:
        longest = world.MAX_CLAUSES // 2 if progress < schedule.short else world.MAX_CLAUSES
        examples = []
        for _ in range(6):
            k = rng.randint(1, longest)
            if rng.random() < 1 / 3:
                examples += lessons.solutions(k)
            else:
                seed_k = max(1, min(longest, k + round(rng.gauss(0, 1.5))))
                examples += lessons.variations(seed_k, k, goal_weight=0.15 if progress < 0.6 else 0.5)
        return examples

    models.train(
        model,
        draw,
        steps=schedule.environment,
        learning_rate=2e-3,
        cooldown=0.5,
        on_step=lambda step, nll: report("environment", step, schedule.environment, nll),
    )


def teach_agent(
    model: LlamaForCausalLM, lessons: Lessons, rng: random.Random, schedule: Schedule, report: Report
) -> None:
    """Trains the environment's weights further, until the model answers as unreliably as the demonstrator."""

    def draw(progress: float) -> list[Example]:
        return [example for _ in range(8) for example in lessons.demonstrations(rng.randint(1, world.MAX_CLAUSES))]

    models.train(
        model,
        draw,
        steps=schedule.agent,
        learning_rate=1e-3,
        cooldown=0.6,
        on_step=lambda step, nll: report("agent", step, schedule.agent, nll),
    )
