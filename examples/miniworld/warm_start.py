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

The environment comes first, from nothing: it learns to solve goals, those that it is given and those that it writes,
longer ones as soon as it masters the shorter; then it practises writing. The agent begins with the environment's
weights, as both players of the paper begin with one model, and is shown noisy demonstrations until its own answers are
as unreliable as these.
"""

from __future__ import annotations

import random
from collections import deque
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

GROUP = 16  # examples of one shape: they are equally long, so that none is padded

Report = Callable[[str, int, int, float], None]


@dataclass(frozen=True)
class Schedule:
    """How long the warm start takes, in optimizer steps.

    Attributes:
        solve: at most, of the curriculum; it ends earlier when goals of all lengths are mastered.
        write: of practising variations of all lengths.
        imitate: of the agent's imitation of the demonstrator.
    """

    solve: int
    write: int
    imitate: int


FULL = Schedule(solve=700, write=240, imitate=120)
FAST = Schedule(solve=200, write=120, imitate=40)


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
        return self.examples([(self.agent_prompt(goal), world.write_response(world.solve(goal))) for goal in goals])

    def demonstrations(self, k: int) -> list[Example]:
        """The agent's prompt with a noisy demonstration, for goals of ``k`` clauses."""
        goals = [world.random_goal(self._rng, k) for _ in range(GROUP)]
        return self.examples(
            [(self.agent_prompt(goal), world.write_response(world.demonstrate(goal, self._rng))) for goal in goals]
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


class Curriculum:
    """Goals up to a length that grows when the model masters it.

    A short goal teaches a model to look up the clause that a call belongs to at a fraction of a long one's tokens, and
    each further length is then learnt in some fifty steps.

    Attributes:
        longest: the clause count that is being learnt.
    """

    MASTERED = 0.15  # nats a token
    WINDOW = 10  # steps

    def __init__(self, lessons: Lessons, rng: random.Random):
        self.longest = 2
        self._lessons = lessons
        self._rng = rng
        self._recent: deque[float] = deque(maxlen=self.WINDOW)

    def draw(self) -> list[Example]:
        """A group of the longest goals and two of any length so far; two of three groups are written, one is given."""
        examples = []
        for k in (self.longest, self._shorter(), self._shorter()):
            if self._rng.random() < 2 / 3:
                examples += self._lessons.variations(self._shorter(), k, goal_weight=0.15)
            else:
                examples += self._lessons.solutions(k)
        return examples

    def note(self, nll: float) -> bool:
        """Takes a step's loss in nats a token; returns whether goals of all lengths are mastered."""
        self._recent.append(nll)
        if len(self._recent) < self.WINDOW or sum(self._recent) / self.WINDOW > self.MASTERED:
            return False
        if self.longest == world.MAX_CLAUSES:
            return True
        self.longest += 1
        self._recent.clear()
        return False

    def _shorter(self) -> int:
        return self._rng.randint(1, self.longest)


def teach_environment(
    model: LlamaForCausalLM, lessons: Lessons, rng: random.Random, schedule: Schedule, report: Report
) -> None:
    """Trains an untrained model to write valid, correctly solved variations."""
    curriculum = Curriculum(lessons, rng)

    def after_lesson(step: int, nll: float) -> bool:
        report(f"environment, up to {curriculum.longest} clauses", step, schedule.solve, nll)
        return curriculum.note(nll)

    models.train(
        model,
        lambda progress: curriculum.draw(),
        steps=schedule.solve,
        learning_rate=2e-3,
        cooldown=0.0,
        on_step=after_lesson,
    )

    def variations(progress: float) -> list[Example]:
        examples = []
        for _ in range(3):
            seed_k = rng.randint(1, world.MAX_CLAUSES)
            k = max(1, min(world.MAX_CLAUSES, seed_k + round(rng.gauss(0, 1.5))))
            examples += lessons.variations(seed_k, k, goal_weight=0.5)
        return examples

    def after_writing(step: int, nll: float) -> bool:
        report("environment, all lengths", step, schedule.write, nll)
        return False

    models.train(model, variations, steps=schedule.write, learning_rate=2e-3, cooldown=0.6, on_step=after_writing)


def teach_agent(
    model: LlamaForCausalLM, lessons: Lessons, rng: random.Random, schedule: Schedule, report: Report
) -> None:
    """Trains the environment's weights further, until the model answers as unreliably as the demonstrator."""

    def demonstrations(progress: float) -> list[Example]:
        return [example for _ in range(4) for example in lessons.demonstrations(rng.randint(1, world.MAX_CLAUSES))]

    def after_imitating(step: int, nll: float) -> bool:
        report("agent", step, schedule.imitate, nll)
        return False

    models.train(
        model, demonstrations, steps=schedule.imitate, learning_rate=1e-3, cooldown=0.6, on_step=after_imitating
    )
