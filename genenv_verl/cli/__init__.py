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
"""``genenv-verl``: the command line. It needs neither torch nor verl.

One module a group of commands; all are imported when the command line starts, so heavy imports belong into functions.
"""

from __future__ import annotations

import typer

from genenv_verl.cli import augment, benchmarks, diagnose, evaluate, plan, report, runs, seeds, tasks

app = typer.Typer(
    no_args_is_help=True,
    rich_markup_mode="markdown",
    pretty_exceptions_show_locals=False,  # keys may be among them
    help="Tools around GenEnv runs. Training itself is started with verl: "
    "`python -m verl.trainer.main_ppo --config-name genenv …`",
)
app.command("epochs")(runs.epochs)
app.command("check-seeds")(seeds.check_seeds)
app.command("diagnose")(diagnose.diagnose)
app.command("plan")(plan.plan)
app.command("prepare")(benchmarks.prepare)
app.command("score")(benchmarks.score)
app.command("augment")(augment.augment)
app.command("evaluate")(evaluate.evaluate)
app.command("table")(evaluate.table)
app.command("compare")(evaluate.compare)
app.add_typer(tasks.app, name="tasks")
app.command("report")(report.report)
