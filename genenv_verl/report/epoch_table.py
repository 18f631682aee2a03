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

import json
from pathlib import Path
from typing import Any

from rich.table import Table

COLUMNS = (
    "epoch", "p̂", "valid", "unique", "in band", "trained on", "KL step", "KL init", "resp. tokens", "D_train",
    "env tok.", "agent tok.", "seconds",
)  # fmt: skip


def read_epochs(run: Path) -> list[dict[str, Any]]:
    """The epoch lines of a run.

    Args:
        run: ``trainer.default_local_dir``, or the ``genenv`` folder in it.

    Raises:
        FileNotFoundError: there is no ``epochs.jsonl``.
    """
    for folder in (run / "genenv", run):
        if (folder / "epochs.jsonl").is_file():
            lines = (folder / "epochs.jsonl").read_text(encoding="utf-8").splitlines(keepends=True)
            # a last line without its end is still being written
            return [json.loads(line) for line in lines if line.endswith("\n")]
    raise FileNotFoundError(f"{run}: no genenv/epochs.jsonl in it; give a run's trainer.default_local_dir")


def epoch_table(title: str, epochs: list[dict[str, Any]]) -> Table:
    """One row an epoch. ``in band`` is the share of groups within k_min of α, ``KL`` is in nats per token."""
    table = Table(title=title, caption=epochs[-1]["variant"] if epochs else "no epoch has finished")
    for name in COLUMNS:
        table.add_column(name, justify="right")
    for line in epochs:
        # runs without an environment have no curriculum to tell of
        update, tokens = line.get("env_update") or {}, line["tokens"]
        has_groups = line.get("groups") is not None
        table.add_row(
            str(line["epoch"]),
            _number(line.get("success_rate"), 2),
            _number(line.get("valid_fraction"), 2),
            _number(line.get("unique_fraction"), 2),
            f"{_number(line['acceptance_rate'], 2)} of {line['groups']}" if has_groups else "-",
            f"{line['accepted_groups']} groups" if has_groups else "-",
            _number(update.get("kl_step"), 4),
            _number(update.get("kl_initial"), 4),
            _number(line.get("response_tokens_mean"), 0),
            str(line.get("d_train_size", "-")),
            str(tokens["env_generate"] + tokens["env_train"]),
            str(tokens["agent_generate"] + tokens["agent_train"]),
            _number(line["seconds"]["total"], 0),
        )
    return table


def _number(value: float | None, digits: int) -> str:
    return "-" if value is None else f"{value:.{digits}f}"
