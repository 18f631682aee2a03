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
"""Equal budgets: what a run has used, and whether that ends it (``genenv.budget``)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

AGENT_TOKENS = ("agent_generate", "agent_train")
ENVIRONMENT_TOKENS = ("env_generate", "env_train")


@dataclass(frozen=True)
class Spent:
    """What a run has used, from its first step on, resumes included.

    Attributes:
        agent_steps: Optimizer batches of the agent.
        agent_tokens: Tokens that the agent wrote, and prompt and response tokens that it was trained on.
        total_tokens: The same of both players; for a fixed training set the tokens of its writing belong to it.
    """

    agent_steps: int
    agent_tokens: int
    total_tokens: int

    @classmethod
    def of(cls, agent_steps: int, tokens: Mapping[str, int]) -> Spent:
        """Counts from the epoch lines' ``tokens``, summed over the run."""
        agent = sum(tokens.get(name, 0) for name in AGENT_TOKENS)
        return cls(agent_steps, agent, agent + sum(tokens.get(name, 0) for name in ENVIRONMENT_TOKENS))

    def limit_reached(self, limits: Mapping[str, int | None]) -> str | None:
        """The first of the limits, by the names of the attributes, that is used up; None if there is none."""
        return next(
            (name for name, limit in limits.items() if limit is not None and getattr(self, name) >= limit), None
        )
