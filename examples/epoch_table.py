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
"""Prints the epochs of one or more runs as a table: ``python examples/epoch_table.py RUN [RUN …]``.

RUN is a run's ``trainer.default_local_dir`` (the folder that holds ``genenv/epochs.jsonl``).
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path

from rich.console import Console
from rich.table import Table


def _share(value: float | None) -> str:
    return "-" if value is None else f"{value:.2f}"


def _small(value: float | None) -> str:
    return "-" if value is None else f"{value:.4f}"


def epoch_table(run: Path) -> Table:
    """The epoch lines of a run, one row an epoch."""
    lines = [json.loads(line) for line in (run / "genenv" / "epochs.jsonl").read_text(encoding="utf-8").splitlines()]
    table = Table(title=f"{run}  ({lines[-1]['variant'] if lines else 'no epoch finished'})")
    for name in ("epoch", "p̂", "valid", "unique", "in band", "trained on", "KL step", "KL init", "resp. tokens", "D_train",
                 "env tok.", "agent tok.", "seconds"):  # fmt: skip
        table.add_column(name, justify="right")
    for line in lines:
        update, tokens = line["env_update"] or {}, line["tokens"]
        table.add_row(
            str(line["epoch"]),
            _share(line["success_rate"]),
            _share(line["valid_fraction"]),
            _share(line["unique_fraction"]),
            f"{_share(line['acceptance_rate'])} of {line['groups']}",
            f"{line['accepted_groups']} groups",
            _small(update.get("kl_step")),
            _small(update.get("kl_initial")),
            "-" if line["response_tokens_mean"] is None else f"{line['response_tokens_mean']:.0f}",
            str(line["d_train_size"]),
            str(tokens["env_generate"] + tokens["env_train"]),
            str(tokens["agent_generate"] + tokens["agent_train"]),
            f"{line['seconds']['total']:.0f}",
        )
    return table


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("runs", nargs="+", type=Path, metavar="RUN")
    console = Console(width=150)
    for run in parser.parse_args().runs:
        console.print(epoch_table(run))


if __name__ == "__main__":
    main()
