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
"""The command that says before training what a band will accept."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated

import typer
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from genenv_verl.report import band_plan


def plan(
    alpha: Annotated[float, typer.Option(help="Target success rate, in (0, 1).")] = 0.5,
    k_min: Annotated[float, typer.Option(help="Half width of the band, in (0, 1).")] = 0.1,
    n: Annotated[int, typer.Option("--n", "-n", min=2, max=1024, help="Attempts at each task.")] = 8,
    variations: Annotated[int, typer.Option(min=1, max=64, help="Tasks of a seed (genenv.n_variations).")] = 4,
    batch_tasks: Annotated[int, typer.Option(min=1, max=1024, help="Fresh tasks of an agent step.")] = 32,
    skill: Annotated[
        list[float] | None, typer.Option(help="Success rate of the agent to look at, in [0, 1]; may be repeated.")
    ] = None,
):
    """Prints what a band accepts at several skill levels and how well R_env ranks tasks, and warns.

    Example: `genenv-verl plan --alpha 0.5 --k-min 0.1 --n 8 --variations 4`
    """
    for name, value in (("--alpha", alpha), ("--k-min", k_min)):
        if not 0.0 < value < 1.0:
            raise typer.BadParameter(f"must be in (0, 1), got {value:g}", param_hint=name)
    for value in skill or ():
        if not 0.0 <= value <= 1.0:
            raise typer.BadParameter(f"must be in [0, 1], got {value:g}", param_hint="--skill")
    its_plan = band_plan.Plan(alpha, k_min, n, variations, batch_tasks)
    console = Console(width=120)
    console.print(_acceptance_table(its_plan, skill or band_plan.SKILLS))
    console.print(_ranking_table(its_plan))
    for warning in band_plan.plan_warnings(its_plan):
        console.print(f"[bold]warning[/bold]  {escape(warning)}", highlight=False)


def _acceptance_table(plan: band_plan.Plan, skills: Sequence[float]) -> Table:
    table = Table(
        title=f"Acceptance by |p̂ − {plan.alpha:g}| <= {plan.k_min:g}: share of the groups that pass, all of whose "
        "tasks are solved at rate p",
        caption="exact; shrunk is simulated (standard error 2 %). Of a task whose attempts all end alike GRPO learns "
        "nothing.",
    )
    table.add_column("p")
    for name, attempts in plan.attempts.items():
        table.add_column(f"{name}\nn={attempts}", justify="right")
    table.add_column("shrunk\ntask, its seed", justify="right")
    table.add_column("a task's\nattempts differ", justify="right")
    for row in band_plan.skill_rows(plan, skills):
        cells = map(band_plan.percent, [*row.acceptance.values(), row.mixed_outcomes])
        table.add_row(f"{row.p:g}{' = α' if row.p == plan.alpha else ''}", *cells)
    return table


def _ranking_table(plan: band_plan.Plan) -> Table:
    n, seed_n = plan.n, plan.attempts["seed"]
    table = Table(
        title="How often R_env fails to prefer a task on target to one that is off by Δ₂",
        caption="bound: Theorem 1, 100 % where it says nothing; exact: the probability itself, ties included",
    )
    for name in (
        "Δ₂", f"task n={n}\nbound", "\nexact", f"seed n={seed_n}\nbound", "\nexact",
        f"n for a bound of\n{band_plan.WANTED_MISRANKING:.0%}",
    ):  # fmt: skip
        table.add_column(name, justify="right")
    for row in band_plan.ranking_rows(plan):
        shares = (row.bound, row.exact, row.seed_bound, row.seed_exact)
        table.add_row(f"{row.gap:g}", *map(band_plan.percent, shares), f"{row.needed:,}")
    return table
