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
"""What an epoch and a run have used so far: seconds, tokens, the ledger, the budget. Part of every checkpoint."""

from __future__ import annotations

import time
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from genenv_verl.curriculum.budget import AGENT_TOKENS, ENVIRONMENT_TOKENS, Spent
from genenv_verl.curriculum.ledger import Ledger

SECONDS = ("env_generate", "agent", "env_update", "checkpoint")


class RunCost:
    """Counts an epoch, and the run's tokens over all epochs.

    Args:
        ledger: The epoch's ledger.
        limits: The ``genenv.budget`` block: limits by the names of :class:`Spent`, None for no limit.
    """

    def __init__(self, ledger: Ledger, limits: Mapping[str, int | None]):
        self.ledger = ledger
        self.limits = dict(limits)
        self._finished: Counter[str] = Counter()
        self._clear()

    def _clear(self) -> None:
        self.seconds: dict[str, float] = defaultdict(float)
        self.tokens: dict[str, int] = defaultdict(int)
        self.ledger.clear()
        self._started = time.monotonic()

    def start(self) -> None:
        """Begins to count time: set-up, and the time between a kill and this start, belong to no epoch."""
        self._started = time.monotonic() - sum(self.seconds.values())

    @contextmanager
    def timed(self, part: str) -> Iterator[None]:
        """Adds the block's time to ``seconds[part]``."""
        started = time.monotonic()
        try:
            yield
        finally:
            self.seconds[part] += time.monotonic() - started

    def spent(self, agent_steps: int) -> Spent:
        """What the run has used after ``agent_steps`` steps."""
        return Spent.of(agent_steps, self._finished + Counter(self.tokens))

    def limit_reached(self, agent_steps: int) -> str | None:
        """The budget's limit that is used up, None if none is."""
        return self.spent(agent_steps).limit_reached(self.limits)

    def fields(self, agent_steps: int) -> dict[str, Any]:
        """``tokens``, ``seconds``, ``ledger`` and ``budget`` of the epoch line."""
        spent = self.spent(agent_steps)
        seconds = {part: round(self.seconds[part], 3) for part in SECONDS}
        return {
            "tokens": {name: self.tokens[name] for name in (*ENVIRONMENT_TOKENS, *AGENT_TOKENS)},
            "seconds": {**seconds, "total": round(time.monotonic() - self._started, 3)},
            "ledger": self.ledger.record(),
            "budget": {"used": vars(spent), "limits": self.limits, "reached": spent.limit_reached(self.limits)},
        }

    def close_epoch(self) -> None:
        """Begins the next epoch."""
        self._finished.update(self.tokens)
        self._clear()

    def state_dict(self) -> dict[str, Any]:
        return {
            "seconds": dict(self.seconds),
            "tokens": dict(self.tokens),
            "finished_tokens": dict(self._finished),
            "ledger": self.ledger.state_dict(),
        }

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Goes back to a checkpoint. One that was written before there was a ledger has counted nothing in it."""
        self._clear()
        self.seconds.update(state["seconds"])
        self.tokens.update(state["tokens"])
        self._finished = Counter(state.get("finished_tokens", {}))
        self.ledger.load_state_dict(state.get("ledger", {}))
