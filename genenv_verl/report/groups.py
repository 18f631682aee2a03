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
"""Which runs repeat one experiment under other seeds, and what they say together."""

from __future__ import annotations

import functools
import math
import re
from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from genenv_verl.config.reference import default_block
from genenv_verl.report.run_config import flatten
from genenv_verl.report.run_files import Run

# Where a run lies, what it is called and how far it goes says nothing about what it does.
_OF_NO_EFFECT = {
    "trainer.total_epochs", "trainer.total_training_steps",
    "trainer.default_local_dir", "trainer.experiment_name", "trainer.project_name", "trainer.logger",
    "trainer.resume_mode", "trainer.resume_from_path", "trainer.rollout_data_dir", "trainer.validation_data_dir",
}  # fmt: skip

# Two-sided 95 % quantiles of Student's t for 1 … 30 degrees of freedom (standard table).
_T_95 = (
    12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228, 2.201, 2.179, 2.160, 2.145, 2.131,
    2.120, 2.110, 2.101, 2.093, 2.086, 2.080, 2.074, 2.069, 2.064, 2.060, 2.056, 2.052, 2.048, 2.045, 2.042,
)  # fmt: skip


@dataclass(frozen=True)
class RunGroup:
    """Runs that differ in nothing but seeds, names and folders."""

    name: str
    runs: list[Run]


@dataclass(frozen=True)
class Estimate:
    """A mean over runs with its 95 % interval (Student's t); ``half_width`` is ``None`` for a single run."""

    mean: float
    half_width: float | None
    runs: int


def estimate(values: Sequence[float]) -> Estimate:
    """Mean and 95 % interval of independent runs.

    Args:
        values: One figure a run, at least one.

    Raises:
        ValueError: Without any value.
    """
    if not values:
        raise ValueError("no values to average")
    n = len(values)
    mean = math.fsum(values) / n
    if n == 1:
        return Estimate(mean, None, 1)
    variance = math.fsum((value - mean) ** 2 for value in values) / (n - 1)
    t = _T_95[n - 2] if n - 2 < len(_T_95) else 1.96
    return Estimate(mean, t * math.sqrt(variance / n), n)


Series = list[tuple[float, float]]


def average(series: Sequence[Series]) -> list[tuple[float, Estimate]]:
    """Series of several runs as one, place by place. At a place that only some runs have, those are averaged."""
    values: dict[float, list[float]] = defaultdict(list)
    for points in series:
        for x, y in points:
            values[x].append(y)
    return [(x, estimate(values[x])) for x in sorted(values)]


def group_runs(runs: Sequence[Run]) -> list[RunGroup]:
    """Puts runs of one variant and configuration together, in the order in which they were given.

    A run without a configuration stands alone: nothing shows that it repeats another.
    """
    members: dict[Any, list[Run]] = defaultdict(list)
    keys: dict[Any, dict[str, Any]] = {}
    for run in runs:
        key = settings_that_matter(run)
        identity = (run.variant, tuple(sorted(key.items()))) if run.config else ("alone", run.name)
        members[identity].append(run)
        keys[identity] = key
    names = _group_names({identity: (group, keys[identity]) for identity, group in members.items()})
    return [RunGroup(names[identity], group) for identity, group in members.items()]


def settings_that_matter(run: Run) -> dict[str, str]:
    """The configuration without seeds, names and folders, values as text; empty if none was kept.

    Of a key that an older version of this package did not have, the default holds.
    """
    if not run.config:
        return {}
    values = _defaults() | run.config.values
    return {
        key: _without_folder(value)
        for key, value in values.items()
        if key not in _OF_NO_EFFECT and not re.search(r"(^|[._])seed$", key)
    }


@functools.cache
def _defaults() -> dict[str, Any]:
    return flatten({"genenv": default_block()})


def _without_folder(value: Any) -> str:
    """A path's last part; a hub's name ``organisation/model`` as it is."""
    text = str(value)
    is_path = text.startswith(("/", "./", "../", "~")) or text.count("/") > 1
    return re.sub(r"[^\s,]*/", "", text) if is_path and "://" not in text else text


def _group_names(groups: dict[Any, tuple[list[Run], dict[str, str]]]) -> dict[Any, str]:
    """The variant, with the settings that tell it from other groups of it; a run without configuration by its name."""
    names = {}
    for identity, (runs, key) in groups.items():
        variant = runs[0].variant
        if identity[0] == "alone":
            names[identity] = f"{variant}: {runs[0].name}" if len(groups) > 1 else variant
            continue
        rivals = [other for its_id, (_, other) in groups.items() if its_id != identity and its_id[0] == variant]
        shown = ", ".join(f"{_short(name)}={key.get(name, '–')[:24]}" for name in _telling(key, rivals))
        names[identity] = f"{variant} ({shown})" if shown else variant
    return _made_unique(names)


def _telling(key: dict[str, str], rivals: list[dict[str, str]], most: int = 3) -> list[str]:
    """The fewest settings, at most ``most``, that no rival shares; taken one by one, the most telling first."""
    chosen: list[str] = []
    everywhere = set(key).intersection(*rivals)
    names = sorted(set(key).union(*rivals), key=lambda name: (name not in everywhere, _relevance(name)))
    while rivals and len(chosen) < most:
        best = max(names, key=lambda name: sum(other.get(name) != key.get(name) for other in rivals))
        remaining = [other for other in rivals if other.get(best) == key.get(best)]
        if len(remaining) == len(rivals):
            break
        chosen.append(best)
        rivals = remaining
    return chosen


def _made_unique(names: dict[Any, str]) -> dict[Any, str]:
    taken: set[str] = set()
    unique = {}
    for identity, name in names.items():
        number, candidate = 2, name
        while candidate in taken:
            number, candidate = number + 1, f"{name} #{number}"
        taken.add(candidate)
        unique[identity] = candidate
    return unique


def _short(name: str) -> str:
    return name.removeprefix("genenv.").removeprefix("actor_rollout_ref.")


def _relevance(name: str) -> tuple[bool, int, str]:
    """Settings of GenEnv before those of verl, short names before long ones."""
    return (not name.startswith("genenv."), name.count("."), name)


def averaged(group: RunGroup, series_of: Callable[[Run], Series]) -> list[tuple[float, Estimate]]:
    """The average of one series over the runs of a group."""
    return average([series_of(run) for run in group.runs])
