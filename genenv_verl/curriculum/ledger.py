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
"""The cost ledger: what each player costs in each phase, the environment's own compute beside the agent's.

Phases: ``generate`` (sampling), ``score`` (log-probabilities of what was sampled, under the policy and the reference),
``train`` (optimizer steps), ``sync`` (weights to the rollout servers and back to sleep).

Floating-point operations are estimates: 2 N a token for a forward pass, 6 N for forward and backward, N being the
parameters that multiply. Attention scores (quadratic in the length), recomputation under gradient checkpointing,
padding and validation are not in them, and prompt tokens count for every attempt, though a server that shares prefixes
computes them once. For mixtures of experts N is all experts, so the estimate is too high.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from typing import Any, Protocol

PLAYERS = ("agent", "environment")
PHASES = ("generate", "score", "train", "sync")
OPERATIONS_A_TOKEN = {"generate": 2, "score": 2, "train": 6, "sync": 0}
"""Multiplied with the number of parameters."""

Peaks = tuple[int | None, int | None]
"""Bytes of the host's and of the fullest device's memory; None where it was not measured."""


class MemoryProbe(Protocol):
    """Measures memory beside the run."""

    def take(self, *, now: bool) -> Peaks:
        """The peaks since the last call; with ``now`` a measurement of this instant is among them."""


@dataclass
class Cost:
    """One player in one phase: seconds, tokens, and peak memory in bytes."""

    seconds: float = 0.0
    tokens: int = 0
    peak_host_bytes: int | None = None
    peak_device_bytes: int | None = None

    def raise_peaks(self, peaks: Peaks) -> None:
        self.peak_host_bytes = _larger(self.peak_host_bytes, peaks[0])
        self.peak_device_bytes = _larger(self.peak_device_bytes, peaks[1])


def estimate_flops(phase: str, tokens: int, parameters: int | None) -> int | None:
    """Floating-point operations of a phase.

    Args:
        phase: One of ``PHASES`` (KeyError otherwise).
        tokens: Tokens that went through the model, prompt and response.
        parameters: N; None if it is not known.

    Returns:
        The estimate, None without N unless nothing was computed.
    """
    operations = OPERATIONS_A_TOKEN[phase] * tokens
    if operations == 0:
        return 0
    return None if parameters is None else operations * parameters


class Ledger:
    """The costs of one epoch. One phase is open at a time; opening another one closes it.

    Args:
        parameters: N by player, None where it is not known.
        memory: Measures memory; None for none.
    """

    def __init__(self, parameters: Mapping[str, int | None], memory: MemoryProbe | None = None):
        self._parameters = {player: parameters.get(player) for player in PLAYERS}
        self._memory = memory
        self._open: tuple[Cost, float] | None = None
        self.clear()

    def clear(self) -> None:
        """Begins an epoch."""
        self.end()
        self._costs = {(player, phase): Cost() for player in PLAYERS for phase in PHASES}

    def count(self, player: str, phase: str, tokens: int) -> None:
        """Adds tokens that went through the player's model."""
        self._costs[player, phase].tokens += tokens

    def begin(self, player: str, phase: str) -> None:
        """Opens a phase."""
        self.end()
        if self._memory is not None:
            self._memory.take(now=False)  # what came before belongs to no phase
        self._open = (self._costs[player, phase], time.monotonic())

    def end(self) -> None:
        """Closes the open phase, if there is one."""
        if self._open is None:
            return
        cost, started = self._open
        self._open = None
        cost.seconds += time.monotonic() - started
        if self._memory is not None:
            # a phase shorter than the probe's interval is measured once an epoch, not every time: it costs time
            cost.raise_peaks(self._memory.take(now=cost.peak_host_bytes is None))

    @contextmanager
    def phase(self, player: str, phase: str) -> Iterator[None]:
        """Opens a phase for the block."""
        self.begin(player, phase)
        try:
            yield
        finally:
            self.end()

    def record(self) -> dict[str, Any]:
        """The epoch line's ``ledger``: ``{player: {parameters, phases: {phase: {seconds, tokens, flops, …}}}}``."""
        return {
            player: {
                "parameters": self._parameters[player],
                "phases": {phase: self._cell(player, phase) for phase in PHASES},
            }
            for player in PLAYERS
        }

    def _cell(self, player: str, phase: str) -> dict[str, Any]:
        cost = self._costs[player, phase]
        flops = estimate_flops(phase, cost.tokens, self._parameters[player])
        return {**asdict(cost), "seconds": round(cost.seconds, 3), "flops": flops}

    def state_dict(self) -> dict[str, Any]:
        return {player: {phase: asdict(self._costs[player, phase]) for phase in PHASES} for player in PLAYERS}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Goes back to a checkpoint; an empty state is that of a run without a ledger."""
        self.clear()
        for player, phases in state.items():
            for phase, cost in phases.items():
                self._costs[player, phase] = Cost(**cost)


def total_ledger(lines: Iterable[Mapping[str, Any]]) -> dict[str, dict[str, dict[str, Any]]]:
    """The costs of a run: ``{player: {phase: {seconds, tokens, flops, peak_host_bytes, peak_device_bytes}}}``.

    Args:
        lines: Epoch lines. Those without a ledger, and whatever in one is no number, are passed over.

    Returns:
        Sums, and the largest peaks. ``flops`` is None if those of an epoch with tokens are not known: a part is no
        total.
    """
    total: dict[str, dict[str, dict[str, Any]]] = {
        player: {phase: {**asdict(Cost()), "flops": 0} for phase in PHASES} for player in PLAYERS
    }
    for line in lines:
        for player, phases in total.items():
            for phase, into in phases.items():
                _add(into, _inner(line, "ledger", player, "phases", phase))
    return total


def has_ledger(lines: Iterable[Mapping[str, Any]]) -> bool:
    """Whether any epoch line has the cost of any phase."""
    return any(
        _inner(line, "ledger", player, "phases", phase) for line in lines for player in PLAYERS for phase in PHASES
    )


def _add(into: dict[str, Any], cell: Mapping[str, Any]) -> None:
    into["seconds"] += _number(cell.get("seconds")) or 0.0
    tokens, flops = _number(cell.get("tokens")) or 0, _number(cell.get("flops"))
    into["tokens"] += tokens
    if flops is None and tokens:
        into["flops"] = None
    elif into["flops"] is not None:
        into["flops"] += flops or 0
    for peak in ("peak_host_bytes", "peak_device_bytes"):
        into[peak] = _larger(into[peak], _number(cell.get(peak)))


def _inner(record: Any, *keys: str) -> Mapping[str, Any]:
    for key in keys:
        record = record.get(key) if isinstance(record, Mapping) else None
    return record if isinstance(record, Mapping) else {}


def _number(value: Any) -> Any:
    return value if type(value) in (int, float) and 0 <= value < 1e300 else None


def _larger(first: int | None, second: int | None) -> int | None:
    known = [value for value in (first, second) if value is not None]
    return max(known, default=None)
