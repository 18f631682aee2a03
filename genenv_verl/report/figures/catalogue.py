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
"""All figures of the report with their titles, captions and the paper's counterpart."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from matplotlib.figure import Figure

from genenv_verl.report.figures import comparison_figures, run_figures
from genenv_verl.report.figures.style import NotRecorded, report_style, save
from genenv_verl.report.groups import RunGroup
from genenv_verl.report.run_files import Run


@dataclass(frozen=True)
class Chart:
    """A kind of figure.

    Attributes:
        name: Its file name without suffix.
        title: Its heading.
        caption: What is seen, and how to read it.
        draw: Makes the figure of a run or of groups of runs, or raises :class:`NotRecorded`.
    """

    name: str
    title: str
    caption: str
    draw: Callable[[Any], Figure]


@dataclass(frozen=True)
class Panel:
    """A drawn figure for the page: ``svg`` is ``None`` where nothing was recorded, then ``missing`` says what."""

    title: str
    caption: str
    svg: str | None
    missing: str = ""
    file: str = ""


RUN_CHARTS = (
    Chart("training", "Training dynamics",
          "Paper Fig. 4. Validation score and, with verl's file logger, GRPO reward over agent steps; without either p̂ "
          "on fresh tasks and the environment's reward over epochs.", run_figures.training),
    Chart("length", "Response length and success",
          "Paper Fig. 5. Tokens of an attempt at a fresh task, and the share of attempts that succeed.",
          run_figures.length),
    Chart("calibration", "Success rate and the band",
          "Paper Fig. 7. Does p̂ on fresh tasks enter the band around α, and stay? Below, the share of tasks by their "
          "own p̂: a mean of ½ can hide tasks at 0 and 1.", run_figures.calibration),
    Chart("validity", "Validity of the generations",
          "Share that became tasks, and the others by the reason of their rejection.", run_figures.validity),
    Chart("trust", "What the attempts say about the tasks",
          "Tasks with a flag, an epoch. A task at p̂ = ½ may be half as hard, or mislabelled, ambiguous or guessed.",
          run_figures.trust),
    Chart("novelty", "Novelty and coverage",
          "How new the generations are, and the effective number of families and tools (exp of the entropy).",
          run_figures.novelty),
    Chart("update", "KL and acceptance",
          "How far each update moved the environment, and the share of groups inside the band and trained on.",
          run_figures.update),
    Chart("cost", "Cost", "Tokens and seconds of both players, an epoch.", run_figures.cost),
)  # fmt: skip

COMPARISON_CHARTS = (
    Chart("compare_validation", "Validation score",
          "Paper Fig. 6. The unweighted mean over data sources. Line: mean over runs that differ in seeds only; shade: "
          "95 % interval of the mean (Student's t).", comparison_figures.validation),
    Chart("compare_last_validation", "Last validation score",
          "Paper Fig. 6 (b). Bar: mean; whisker: 95 % interval; dots: runs.", comparison_figures.last_validation),
    Chart("compare_success", "Success rate on generated tasks",
          "Mean and 95 % interval over seeds. Every run has its own tasks, so this shows calibration, not skill.",
          comparison_figures.success),
    Chart("compare_length", "Response length", "Mean and 95 % interval over seeds.",
          comparison_figures.response_length),
    Chart("compare_tokens", "Score over tokens spent",
          "Generated and trained-on tokens of agent and environment together, every run a line. The score is that of "
          "the validation; without one it is p̂ on fresh tasks.",
          comparison_figures.over_tokens),
)  # fmt: skip


def run_panels(run: Run, place: int, folder: Path | None) -> list[Panel]:
    """The figures of a run; its files are called ``run1_training.svg`` … (``place`` counts from 0)."""
    return _panels(RUN_CHARTS, run, folder, f"run{place + 1}_")


def comparison_panels(groups: Sequence[RunGroup], folder: Path | None) -> list[Panel]:
    """The figures over all runs."""
    return _panels(COMPARISON_CHARTS, groups, folder, "")


def _panels(charts: Sequence[Chart], subject: Any, folder: Path | None, prefix: str) -> list[Panel]:
    panels = []
    with report_style():
        for chart in charts:
            name = prefix + chart.name
            try:
                svg = save(chart.draw(subject), name, folder)
                panels.append(Panel(chart.title, chart.caption, svg, file=name))
            except NotRecorded as missing:
                panels.append(Panel(chart.title, chart.caption, None, missing=str(missing)))
    return panels
