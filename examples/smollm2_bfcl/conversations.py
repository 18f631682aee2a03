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
"""Supervised conversations of both players, made from records without any paraphrase."""

from __future__ import annotations

import json
import random
from collections import defaultdict
from collections.abc import Iterator

from variations import Values, join, substitute

from genenv_verl.tasks.prompts import AgentPrompt, EnvironmentPrompt
from genenv_verl.tasks.schema import Task
from genenv_verl.tasks.tool_calls import format_calls
from genenv_verl.tasks.validity import ValidityFilter

Messages = list[dict[str, str]]

_SHARE_OF_RECORDS, _SHARE_OF_SIBLINGS, _SHARE_OF_DOUBLES, _SHARE_OF_UNKNOWN = 0.4, 0.2, 0.25, 0.3


class Conversations:
    """Draws conversations, agent and environment in turn, without end.

    The agent's answer to a task is its gold. The environment's answer to a record is another record with the same
    tools, the record with other values, or two of those in one task. The statistics in its prompt are random, because
    what to write at which success rate is left for the reward to teach.

    Args:
        records: where conversations are drawn from.
        agent_prompt: of the run.
        environment_prompt: of the run.
        limits: the run's validity filter. What it rejects is not taught.
        rng: decides everything.
    """

    def __init__(
        self,
        records: list[Task],
        agent_prompt: AgentPrompt,
        environment_prompt: EnvironmentPrompt,
        limits: ValidityFilter,
        rng: random.Random,
    ):
        self.records = records
        self.agent_prompt = agent_prompt
        self.environment_prompt = environment_prompt
        self.limits = limits
        self.rng = rng
        self.values = Values(records)
        self.with_tools: dict[str, list[Task]] = defaultdict(list)
        for record in records:
            self.with_tools[_tools_key(record)].append(record)

    def __iter__(self) -> Iterator[Messages]:
        while True:
            yield self._agent()
            yield self._environment()

    def _agent(self) -> Messages:
        task = self.rng.choice(self.records)
        if self.rng.random() > _SHARE_OF_RECORDS:
            task = self.variation(task) or task
        return [*self.agent_prompt.messages(task), _answer(format_calls(task.gold_action))]

    def _environment(self) -> Messages:
        while True:
            record = self.rng.choice(self.records)
            task = self.variation(record)
            answer = "" if task is None else environment_answer(task)
            if answer and self.limits.count_response_tokens(answer) <= self.limits.max_response_tokens:
                break
        prompt = self.environment_prompt.messages(
            record,
            seed_success=self._success(),
            family_success=self._success(),
            overall_success=self._success(),
            target_success=0.5,
        )
        return [*prompt, _answer(answer)]

    def variation(self, record: Task) -> Task | None:
        """A variation of a record that the run would accept from the environment, or ``None``."""
        siblings = [other for other in self.with_tools[_tools_key(record)] if other is not record]
        if siblings and self.rng.random() < _SHARE_OF_SIBLINGS:
            variation = self.rng.choice(siblings)
        else:
            variation = substitute(record, self.values, self.rng)
            if variation is not None and len(record.gold_action) == 1 and self.rng.random() < _SHARE_OF_DOUBLES:
                second = substitute(record, self.values, self.rng)
                variation = None if second == variation else join(variation, second, self.rng)
        return None if variation is None or self.limits.check(variation, record) else variation

    def _success(self) -> float | None:
        return None if self.rng.random() < _SHARE_OF_UNKNOWN else self.rng.random()


def environment_answer(task: Task) -> str:
    """What the environment writes to pose a task with its seed's tools."""
    calls = [call.model_dump() for call in task.gold_action]
    return json.dumps({"goal": task.context.goal, "calls": calls}, ensure_ascii=False)


def _answer(text: str) -> dict[str, str]:
    return {"role": "assistant", "content": text}


def _tools_key(task: Task) -> str:
    return json.dumps([tool.model_dump() for tool in task.context.tools], sort_keys=True)
