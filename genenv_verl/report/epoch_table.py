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
"""The epochs of a run as a table for a terminal."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from rich.table import Table
from rich.text import Text

from genenv_verl.report.fields import clipped, counts, field, number
from genenv_verl.report.json_lines import read_json_lines
from genenv_verl.report.run_files import is_begun
from genenv_verl.report.task_text import printable

COLUMNS = (
    "epoch", "p̂", "valid", "unique", "in band", "trained on", "KL step", "KL init", "resp. tokens", "D_train",
    "env tok.", "agent tok.", "seconds",
)  # fmt: skip


def read_epochs(run: Path) -> list[dict[str, Any]]:
    """The epoch lines of a run in order of their epoch, the later one of two; last those that name none.

    Args:
        run: ``trainer.default_local_dir``, or the ``genenv`` folder in it.

    Raises:
        FileNotFoundError: there is no ``epochs.jsonl``.
    """
    for folder in (run / "genenv", run):
        if (folder / "epochs.jsonl").is_file():
            lines: dict[Any, dict[str, Any]] = {}
            for place, line in enumerate(read_json_lines(folder / "epochs.jsonl")):
                if line is not None:  # a damaged line, or a last one that is still being written
                    epoch = number(line, "epoch")
                    lines[(epoch is None, place if epoch is None else epoch)] = line
            return [lines[key] for key in sorted(lines)]
    if is_begun(run):
        raise FileNotFoundError(f"{run}: the run has not ended an epoch yet; there is nothing to show")
    raise FileNotFoundError(f"{run}: no genenv/epochs.jsonl in it; give a run's trainer.default_local_dir")


def epoch_table(title: str, epochs: list[dict[str, Any]]) -> Table:
    """One row an epoch. ``in band`` is the share of groups within k_min of α, ``KL`` is in nats per token.

    A field that is missing or no number shows as ``-``: runs without an environment have no curriculum to tell of, and
    files may be damaged.
    """
    variant = printable(clipped(field(epochs[-1], "variant"), 60)) if epochs else ""
    table = Table(title=Text(title), caption=Text(f"variant {variant}" if epochs else "no epoch has finished"))
    for name in COLUMNS:
        table.add_column(name, justify="right")
    for line in epochs:
        table.add_row(*_cells(line))
    return table


def _cells(line: dict[str, Any]) -> list[str]:
    tokens = counts(line, "tokens")
    has_groups = number(line, "groups") is not None
    return [
        _number(line, "epoch", 0),
        _number(line, "success_rate", 2),
        _number(line, "valid_fraction", 2),
        _number(line, "unique_fraction", 2),
        f"{_number(line, 'acceptance_rate', 2)} of {_number(line, 'groups', 0)}" if has_groups else "-",
        f"{_number(line, 'accepted_groups', 0)} groups" if has_groups else "-",
        _number(line, "env_update.kl_step", 4),
        _number(line, "env_update.kl_initial", 4),
        _number(line, "response_tokens_mean", 0),
        _number(line, "d_train_size", 0),
        f"{tokens.get('env_generate', 0) + tokens.get('env_train', 0):.0f}",
        f"{tokens.get('agent_generate', 0) + tokens.get('agent_train', 0):.0f}",
        _number(line, "seconds.total", 0),
    ]


def _number(line: dict[str, Any], path: str, digits: int) -> str:
    value = number(line, path)
    return "-" if value is None else f"{value:.{digits}f}"
