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
"""What the rules read: a run's epoch lines, its settings as far as they are known, and a look at its last tasks."""

from __future__ import annotations

import statistics
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from itertools import islice
from typing import Any

from pydantic import ValidationError

from genenv_verl.curriculum.trust import chance_level
from genenv_verl.report.diagnose.trends import WINDOW
from genenv_verl.report.fields import as_number, counts, number
from genenv_verl.report.fields import field as value_at
from genenv_verl.report.json_lines import read_json_lines
from genenv_verl.report.run_files import Run
from genenv_verl.tasks.schema import Task

MAX_RECORDS = 2_000
"""Tasks of the last epoch that are looked at; the rest would say the same."""
MAX_CHANCE_LEVELS = 300
DEFAULT_N = 8
DEFAULT_K_MIN = 0.1
DEFAULT_ALPHA = 0.5


@dataclass(frozen=True)
class TaskSample:
    """What the tasks of the last epochs show.

    Attributes:
        attempts: Attempts at a task, the median; ``None`` if no task was attempted.
        unscored_reasons: Why attempts were not scored, with counts.
        chance_level: Mean probability that a guess solves a task, in [0, 1]; ``None`` where no task could be read.
    """

    attempts: int | None
    unscored_reasons: Counter[str]
    chance_level: float | None


@dataclass(frozen=True)
class Facts:
    """A run as the rules see it.

    Attributes:
        run: The run. Fields of its lines may be missing or of any type.
        assumed: Settings that are not recorded, and what is taken in their place; rules add to it.
    """

    run: Run
    assumed: dict[str, Any] = field(default_factory=dict)

    @property
    def epochs(self) -> list[dict[str, Any]]:
        return self.run.epochs

    @property
    def recent(self) -> list[dict[str, Any]]:
        """The last epoch lines."""
        return self.run.epochs[-WINDOW:]

    @property
    def trains_environment(self) -> bool:
        """Whether the variant is ``genenv``; where no line names it, whether any has an update."""
        if self.run.variant != "unknown":
            return self.run.variant == "genenv"
        return any(isinstance(line.get("env_update"), dict) for line in self.epochs)

    def series(self, path: str, *, out_of: str | None = None) -> list[float]:
        """A number of all epoch lines that have it.

        Args:
            path: Where it stands in a line.
            out_of: A count that it was taken over: where that is 0, the number says nothing and is left out.
        """
        lines = [line for line in self.epochs if out_of is None or number(line, out_of) != 0]
        return [value for line in lines if (value := number(line, path)) is not None]

    def setting(self, key: str) -> Any:
        """A value of the ``genenv`` block; ``None`` if it is not recorded."""
        return self.run.config.effective.get(f"genenv.{key}") if self.run.config else None

    @property
    def compares_variations(self) -> bool:
        """Whether the environment is trained with GRPO's advantages, which know neither λ nor seed groups."""
        return self.setting("objective") == "grpo"

    def number_setting(self, key: str, default: float) -> float:
        """A number of the ``genenv`` block; the default, noted as an assumption, where it is not recorded."""
        value = as_number(self.setting(key))
        if value is None:
            self.assumed[f"genenv.{key}"] = default
            return default
        return value

    def verl_number(self, key: str) -> float | None:
        """A number of verl's configuration, or ``None``."""
        return as_number(self.run.config.values.get(key)) if self.run.config else None

    @cached_property
    def attempts_per_task(self) -> int:
        """n, from the configuration, else from the last tasks, else :data:`DEFAULT_N` as an assumption."""
        configured = self.verl_number("actor_rollout_ref.rollout.n")
        if configured is not None and configured >= 1:
            return int(min(configured, 100_000))
        if self.tasks.attempts:
            return self.tasks.attempts
        self.assumed["actor_rollout_ref.rollout.n"] = DEFAULT_N
        return DEFAULT_N

    @property
    def alpha(self) -> float:
        """α of the last epoch, in (0, 1)."""
        alphas = [alpha for alpha in self.series("alpha") if 0.0 < alpha < 1.0]
        return alphas[-1] if alphas else DEFAULT_ALPHA

    @property
    def k_min(self) -> float:
        return min(1.0, max(0.0, self.number_setting("k_min", DEFAULT_K_MIN)))

    @property
    def filter(self) -> str:
        """The filter as configured, else ``band`` or ``other`` as the epoch lines show it."""
        configured = self.setting("filter")
        return configured if configured in ("band", "top_k", "none") else _filter_of(self.epochs)

    @cached_property
    def tasks(self) -> TaskSample:
        """The tasks of the last epochs that have any attempted one."""
        for epoch in sorted(self.run.task_files, reverse=True)[:WINDOW]:
            sample = _look_at(islice(self._records(epoch), MAX_RECORDS))
            if sample.attempts:
                return sample
        return TaskSample(None, Counter(), None)

    def _records(self, epoch: int) -> Iterator[dict[str, Any]]:
        try:
            yield from (record for record in read_json_lines(self.run.task_files[epoch]) if record)
        except OSError as error:
            self.run.notes.append(f"{self.run.task_files[epoch].name} cannot be read: {error.strerror}.")


def attempted_tasks(line: Mapping[str, Any]) -> float:
    """Fresh tasks of an epoch that were attempted: those in the histogram of p̂, or all valid ones."""
    bins = value_at(line, "p_hat_histogram")
    scored = sum(counts({"bins": dict(enumerate(bins))}, "bins").values()) if isinstance(bins, list) else 0.0
    return max(scored, number(line, "valid") or 0.0)


def total_counts(lines: list[dict[str, Any]], path: str) -> Counter[str]:
    """The mapping of counts under a path, added up over lines."""
    total: Counter[str] = Counter()
    for line in lines:
        total.update({name[:80]: int(count) for name, count in counts(line, path).items()})
    return total


def _filter_of(epochs: list[dict[str, Any]]) -> str:
    """``band`` if the lines can only, or may, come from it; ``other`` if more was accepted than the band holds."""
    chosen = False
    for line in epochs:
        accepted, rate, groups = (number(line, name) for name in ("accepted_groups", "acceptance_rate", "groups"))
        if value_at(line, "fallback") is True:
            return "band"
        if accepted is None or rate is None or not groups:
            continue
        if accepted > rate * groups + max(0.5, 0.05 * groups):  # a quarantine or a damaged line shifts a few
            return "other"
        chosen = chosen or accepted < groups
    return "band" if chosen else "other"


def _look_at(records: Iterator[dict[str, Any]]) -> TaskSample:
    attempts: list[int] = []
    reasons: Counter[str] = Counter()
    chances: list[float] = []
    for record in records:
        tries = record.get("attempts")
        tries = [entry for entry in tries if isinstance(entry, dict)] if isinstance(tries, list) else []
        if not tries:
            continue
        attempts.append(len(tries))
        unscored = [entry for entry in tries if entry.get("scored") is False]
        reasons.update(str(entry.get("reason") or "unnamed")[:80] for entry in unscored)
        if len(chances) < MAX_CHANCE_LEVELS and (chance := _chance_of(record)) is not None:
            chances.append(chance)
    return TaskSample(
        attempts=int(statistics.median(attempts)) if attempts else None,
        unscored_reasons=reasons,
        chance_level=statistics.fmean(chances) if chances else None,
    )


def _chance_of(record: dict[str, Any]) -> float | None:
    """The chance level that the run recorded for a task, else what its text says."""
    recorded = number(record, "trust.chance_level")
    if recorded is not None:
        return min(1.0, max(0.0, recorded))
    try:
        return chance_level(Task.model_validate(record.get("task")))
    except ValidationError:
        return None
