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
"""What the environment wrote in an epoch, and what became of it. Plain Python: part of the checkpoint."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from genenv_verl.curriculum.difficulty import Attempts
from genenv_verl.tasks.generation import Rejection
from genenv_verl.tasks.near_duplicates import Novelty
from genenv_verl.tasks.schema import Task

REPETITIONS = {"duplicate", "near_duplicate", "same_template"}


@dataclass
class Attempt:
    """One attempt of the agent at a task: the response, R_agent in [0, 1] and its binary outcome."""

    response: str
    score: float
    success: bool
    scored: bool
    reason: str
    response_tokens: int
    prompt_tokens: int

    def to_json(self) -> dict[str, Any]:
        return dict(vars(self))


@dataclass
class Generation:
    """One generation of the environment policy.

    Attributes:
        task_id: ``<seed id>.e<epoch>.v<variation>``, unique in a run.
        seed_id: the seed task it was conditioned on.
        environment_step: weight version of the environment that wrote it.
        prompt_ids: the conditioning context, as sampled.
        response_ids: the generation, as sampled. RWR trains on these ids, never on re-tokenised text.
        outcome: the valid task, or why it was rejected.
        novelty: how new it is; None if it could not be read as a task.
        attempts: the agent's attempts, empty until its step has run.
        step: the agent step that attempted it.
    """

    task_id: str
    seed_id: str
    environment_step: int
    prompt_ids: list[int]
    response_ids: list[int]
    text: str
    outcome: Task | Rejection
    novelty: Novelty | None = None
    attempts: list[Attempt] = field(default_factory=list)
    step: int | None = None

    @property
    def task(self) -> Task | None:
        return self.outcome if isinstance(self.outcome, Task) else None

    @property
    def is_unique(self) -> bool:
        """Whether it could be read as a task, valid or not, that says something new."""
        repeats = isinstance(self.outcome, Rejection) and self.outcome.reason in REPETITIONS
        return self.novelty is not None and not self.novelty.repeated and not repeats

    def counted(self) -> Attempts:
        """The attempts as k, n and unscored (only for a valid task that was attempted)."""
        scored = [attempt for attempt in self.attempts if attempt.scored]
        return Attempts(
            task_id=self.task_id,
            seed_id=self.seed_id,
            step=self.step,
            successes=sum(attempt.success for attempt in scored),
            scored=len(scored),
            unscored=len(self.attempts) - len(scored),
            family=self.outcome.family,
        )

    def to_json(self) -> dict[str, Any]:
        rejection = self.outcome if isinstance(self.outcome, Rejection) else None
        return {
            "task_id": self.task_id,
            "seed_id": self.seed_id,
            "environment_step": self.environment_step,
            "prompt_ids": self.prompt_ids,
            "response_ids": self.response_ids,
            "text": self.text,
            "task": self.task.model_dump() if self.task else None,
            "rejection": {"reason": rejection.reason, "detail": rejection.detail} if rejection else None,
            "novelty": self.novelty.to_json() if self.novelty else None,
            "attempts": [attempt.to_json() for attempt in self.attempts],
            "step": self.step,
        }

    @classmethod
    def from_json(cls, record: dict[str, Any]) -> Generation:
        task, rejection, novelty = record["task"], record["rejection"], record.get("novelty")
        return cls(
            task_id=record["task_id"],
            seed_id=record["seed_id"],
            environment_step=record["environment_step"],
            prompt_ids=record["prompt_ids"],
            response_ids=record["response_ids"],
            text=record["text"],
            outcome=Rejection(**rejection) if task is None else Task.model_validate(task),
            novelty=None if novelty is None else Novelty(**novelty),
            attempts=[Attempt(**attempt) for attempt in record["attempts"]],
            step=record["step"],
        )
