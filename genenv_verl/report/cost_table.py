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
"""The cost ledger of a run as a table for a terminal: both players, every phase."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from rich.table import Table

from genenv_verl.curriculum.ledger import has_ledger, total_ledger

GIB = 2**30


COLUMNS = ("seconds", "tokens", "FLOPs", "host GiB", "device GiB")


def cost_table(title: str, epochs: list[dict[str, Any]]) -> Table:
    """One row a player and phase, summed over the epochs, and one a player.

    ``FLOPs`` are estimates (see ``curriculum.ledger``), ``host`` and ``device`` peaks of memory while the phase ran,
    over everything on the trainer's node.
    """
    kept = has_ledger(epochs)
    table = Table(
        "player", "phase", title=title, caption=("" if kept else "no ledger was kept, ") + budget_used(epochs)
    )
    for name in COLUMNS:
        table.add_column(name, justify="right")
    for player, phase, cells in cost_rows(epochs) if kept else ():
        table.add_row(player, phase, *cells, end_section=phase == "total")
    return table


def cost_rows(epochs: Iterable[Mapping[str, Any]]) -> list[tuple[str, str, list[str]]]:
    """Player, phase (``total`` for the player's sum) and the cells of ``COLUMNS``, a dash where nothing is known."""
    rows = []
    for player, phases in total_ledger(epochs).items():
        rows += [(player, phase, _cells(cost)) for phase, cost in phases.items()]
        rows.append((player, "total", _cells(_sum(list(phases.values())))))
    return rows


def _sum(cells: list[dict[str, Any]]) -> dict[str, Any]:
    flops = [cell["flops"] for cell in cells]
    peaks = {
        name: max((cell[name] for cell in cells if cell[name] is not None), default=None)
        for name in ("peak_host_bytes", "peak_device_bytes")
    }
    return {
        "seconds": sum(cell["seconds"] for cell in cells),
        "tokens": sum(cell["tokens"] for cell in cells),
        "flops": None if None in flops else sum(flops),
        **peaks,
    }


def _cells(cost: dict[str, Any]) -> list[str]:
    return [
        f"{cost['seconds']:,.1f}",
        f"{cost['tokens']:,}",
        "-" if cost["flops"] is None else f"{cost['flops']:.3g}",
        *(
            "-" if cost[peak] is None else f"{cost[peak] / GIB:.2f}"
            for peak in ("peak_host_bytes", "peak_device_bytes")
        ),
    ]


def budget_used(epochs: list[dict[str, Any]]) -> str:
    """The budget that the last epoch's line tells, in words."""
    budget = epochs[-1].get("budget") if epochs else None
    used = budget.get("used") if isinstance(budget, dict) else None
    if not isinstance(used, dict):
        return "no budget was counted"
    words = [f"{name.replace('_', ' ')} {value:,}" for name, value in used.items() if isinstance(value, int)]
    reached = budget.get("reached")
    ended = f"; ended by genenv.budget.{reached}" if isinstance(reached, str) else ""
    return f"used: {', '.join(words)}{ended}"
