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
"""What the page says in words and tables about a run, beside its figures."""

from __future__ import annotations

from typing import Any

from genenv_verl.curriculum.ledger import has_ledger
from genenv_verl.report.cost_table import COLUMNS, budget_used, cost_rows
from genenv_verl.report.fields import clipped, field, number
from genenv_verl.report.run_files import Run
from genenv_verl.report.series import SECOND_PHASES, TOKEN_PHASES, epoch_series, totals, validation_series

MAX_WARNINGS = 100
MAX_EPOCH_ROWS = 1000
NOT_RECORDED = "–"

EPOCH_COLUMNS = (
    ("epoch", "epoch", 0), ("p̂", "success_rate", 2), ("p̂ trusted", "success_rate_trusted", 2),
    ("in band", "acceptance_rate", 2), ("R_env", "env_reward_mean", 3), ("generated", "generated", 0),
    ("valid", "valid_fraction", 2), ("unique", "unique_fraction", 2), ("unscored", "unscored", 0),
    ("KL step", "env_update.kl_step", 4), ("KL initial", "env_update.kl_initial", 4),
    ("tokens", "response_tokens_mean", 0), ("D_train", "d_train_size", 0), ("seconds", "seconds.total", 0),
)  # fmt: skip


def shown(value: float | None, digits: int) -> str:
    """A number for reading, with thousands separated; a dash where there is none."""
    return NOT_RECORDED if value is None else f"{value:,.{digits}f}"


def headline(run: Run) -> list[tuple[str, str]]:
    """The few figures that stand at the top of a run: name and value."""
    last = run.epochs[-1] if run.epochs else {}
    tokens = totals(run, "tokens", TOKEN_PHASES)
    validation = validation_series(run)
    facts = [
        ("epochs", f"{len(run.epochs):,}"),
        ("p̂, first → last", _first_to_last(epoch_series(run, "success_rate"))),
        ("valid, last epoch", shown(number(last, "valid_fraction"), 2)),
        ("groups in the band", shown(number(last, "acceptance_rate"), 2)),
        ("KL to the start", shown(number(last, "env_update.kl_initial"), 4)),
        ("tokens, both players", shown(sum(tokens.values()), 0) if tokens else NOT_RECORDED),
        ("the environment's share", _environment_share(tokens)),
    ]
    if isinstance(field(last, "budget.used"), dict):
        facts.append(("budget", clipped(budget_used(run.epochs), 300)))
    return facts + ([("validation, first → last", _first_to_last(validation))] if validation else [])


def _environment_share(tokens: dict[str, float]) -> str:
    environment = sum(value for phase, value in tokens.items() if phase.startswith("env_"))
    total = sum(tokens.values())
    return f"{environment / total:.1%}" if total else NOT_RECORDED


def _first_to_last(points: list[tuple[float, float]]) -> str:
    return f"{points[0][1]:.2f} → {points[-1][1]:.2f}" if points else NOT_RECORDED


def epoch_rows(run: Run) -> list[list[str]]:
    """The last :data:`MAX_EPOCH_ROWS` epochs of a run as text, in the order of ``EPOCH_COLUMNS``."""
    last = run.epochs[-MAX_EPOCH_ROWS:]
    return [[shown(number(line, path), digits) for _, path, digits in EPOCH_COLUMNS] for line in last]


def cost_table(run: Run) -> dict[str, Any] | None:
    """What the run cost, by player and phase: ``columns`` and ``rows`` of text; ``None`` if nothing was recorded."""
    if has_ledger(run.epochs):
        return {
            "columns": list(COLUMNS),
            "rows": [(f"{player}, {phase}", cells) for player, phase, cells in cost_rows(run.epochs)],
        }
    tokens, seconds = totals(run, "tokens", TOKEN_PHASES), totals(run, "seconds", SECOND_PHASES)
    if not tokens and not seconds:
        return None
    agent = sum(value for phase, value in tokens.items() if phase.startswith("agent_"))
    rows = [
        ("environment writes", tokens.get("env_generate"), seconds.get("env_generate")),
        ("environment trains", tokens.get("env_train"), seconds.get("env_update")),
        ("agent attempts", tokens.get("agent_generate"), None),
        ("agent trains", tokens.get("agent_train"), None),
        ("agent, both", agent if tokens else None, seconds.get("agent")),
        ("saving", None, seconds.get("checkpoint")),
    ]
    return {
        "columns": ["tokens", "seconds"],
        "rows": [(name, [shown(a, 0), shown(b, 0)]) for name, a, b in rows],
    }


def warnings(run: Run) -> list[str]:
    """The warnings of the epoch lines, the last :data:`MAX_WARNINGS`."""
    found: list[str] = []
    for line in run.epochs:
        sentences = field(line, "warnings")
        if isinstance(sentences, list):
            found += [clipped(sentence, 600) for sentence in sentences[:20]]
    return found[-MAX_WARNINGS:]


def config_rows(run: Run) -> list[tuple[str, str]]:
    """The whole configuration as the run worked with it, key and value as text, GenEnv's part first."""
    values: dict[str, Any] = run.config.effective if run.config else {}
    ordered = sorted(values, key=lambda key: (not key.startswith("genenv."), key))
    return [(key, "null" if values[key] is None else clipped(values[key], 2000)) for key in ordered]
