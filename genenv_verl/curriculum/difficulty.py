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
"""Difficulty: the success rate p̂ = k / n of the agent (Eq. 2), over the group of tasks that shares it.

The paper leaves open over which group p̂ is taken; SPEC section 2 names four choices, ``granularity`` here.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal

Granularity = Literal["task", "seed", "batch", "shrunk"]

MIN_EFFECTIVE_ATTEMPTS = 2


@dataclass(frozen=True)
class Attempts:
    """All attempts of the agent at one task, in three outcomes: success, failure (scored, no success) and unscored.

    Attributes:
        task_id: The task.
        seed_id: The seed task that it was written from.
        step: The agent's step that attempted it, counted from 1.
        successes: k, binary successes, 0 <= k <= scored; never a shaped reward.
        scored: n, attempts with a verdict.
        unscored: Attempts whose scorer broke or timed out. They are in neither k nor n.
        family: The benchmark or domain of the task.
    """

    task_id: str
    seed_id: str
    step: int
    successes: int
    scored: int
    unscored: int = 0
    family: str = "default"

    def __post_init__(self):
        if not 0 <= self.successes <= self.scored:
            raise ValueError(
                f"task {self.task_id!r}: successes must be in [0, scored], "
                f"got successes={self.successes}, scored={self.scored}"
            )
        if self.unscored < 0:
            raise ValueError(f"task {self.task_id!r}: unscored must not be negative, got {self.unscored}")

    @property
    def p_hat(self) -> float | None:
        """The task's own success rate (Eq. 2), or None where nothing was scored."""
        return self.successes / self.scored if self.scored else None

    @property
    def has_variance(self) -> bool:
        """Whether both outcomes occur. Without that, rewards of 0 and 1 give GRPO no advantage."""
        return 0 < self.successes < self.scored


@dataclass(frozen=True)
class Group:
    """Tasks that share one success rate.

    Attributes:
        key: What the members have in common: the task's, the seed's or the step's name.
        members: Positions in the attempts that were grouped.
        p_hat: The success rate in [0, 1].
        n_effective: Scored attempts behind it, at least ``MIN_EFFECTIVE_ATTEMPTS``.
    """

    key: str
    members: tuple[int, ...]
    p_hat: float
    n_effective: int


_KEYS: dict[str, Callable[[Attempts], str]] = {
    "task": lambda attempts: attempts.task_id,
    "seed": lambda attempts: attempts.seed_id,
    "batch": lambda attempts: f"step {attempts.step}",
}


def group_attempts(attempts: Sequence[Attempts], granularity: Granularity) -> list[Group]:
    """Groups the epoch's tasks and gives every group its p̂ (Eq. 2; SPEC section 2, open points).

    - ``task``: every task alone.
    - ``seed``: all variations of a seed.
    - ``batch``: all tasks of one agent step.
    - ``shrunk``: every task alone, its own p̂ drawn towards its seed's (see :func:`shrink_to_seed`).

    A task without a scored attempt is in no group: nothing was learned about it, whatever its siblings did. A group
    with fewer than two scored attempts has no p̂ that means anything and is left out. Groups come in the order in which
    their first member does.

    Args:
        attempts: One entry a task.
        granularity: One of the four names above.

    Raises:
        ValueError: If a task occurs twice, or the granularity is unknown.
    """
    if len({entry.task_id for entry in attempts}) < len(attempts):
        raise ValueError("a task occurs twice in the attempts; add up its successes and attempts first")
    if granularity == "shrunk":
        return shrink_to_seed(attempts)
    if granularity not in _KEYS:
        raise ValueError(f"granularity must be one of {[*_KEYS, 'shrunk']}, got {granularity!r}")
    members_of: dict[str, list[int]] = {}
    for position, entry in enumerate(attempts):
        if entry.scored:
            members_of.setdefault(_KEYS[granularity](entry), []).append(position)
    groups = []
    for key, members in members_of.items():
        scored = sum(attempts[position].scored for position in members)
        if scored >= MIN_EFFECTIVE_ATTEMPTS:
            successes = sum(attempts[position].successes for position in members)
            groups.append(Group(key, tuple(members), successes / scored, scored))
    return groups


def shrink_to_seed(attempts: Sequence[Attempts]) -> list[Group]:
    """One group a task, with p̂ the Beta–binomial posterior mean of the task's own p given its seed (empirical Bayes).

    The m tasks of a seed have p_i ~ Beta(Mμ, M(1−μ)), and k_i ~ Binomial(n_i, p_i). The prior comes from the same
    tasks by the method of moments (analysis of variance), N = Σ n_i::

        μ  = Σ k_i / N
        W  = Σ n_i p̂_i (1 − p̂_i) / (N − m)                  noise within a task
        n₀ = (N − Σ n_i² / N) / (m − 1)
        B  = (Σ n_i (p̂_i − μ)² / (m − 1) − W) / n₀           variance between tasks
        M  = W / B
        p̂_i, shrunk = (k_i + M μ) / (n_i + M)

    Fallbacks, both limits of the last line: tasks that differ by no more than their noise (B <= 0) all get μ; a seed
    with a single task says nothing about a prior, so its task keeps k / n.
    """
    tasks_of: dict[str, list[Group]] = {}
    for task in group_attempts(attempts, "task"):
        tasks_of.setdefault(attempts[task.members[0]].seed_id, []).append(task)
    shrunk = [
        Group(task.key, task.members, _posterior_mean(task, siblings), task.n_effective)
        for siblings in tasks_of.values()
        for task in siblings
    ]
    return sorted(shrunk, key=lambda group: group.members)


def _posterior_mean(task: Group, siblings: Sequence[Group]) -> float:
    m = len(siblings)
    if m == 1:
        return task.p_hat
    total = sum(sibling.n_effective for sibling in siblings)
    mean = sum(sibling.n_effective * sibling.p_hat for sibling in siblings) / total
    within = sum(s.n_effective * s.p_hat * (1.0 - s.p_hat) for s in siblings) / (total - m)
    spread = sum(s.n_effective * (s.p_hat - mean) ** 2 for s in siblings) / (m - 1)
    n_0 = (total - sum(s.n_effective**2 for s in siblings) / total) / (m - 1)
    between = (spread - within) / n_0
    # Sums of rounded numbers: equal rates must count as "no spread", not as a spread of 1e-17.
    if between <= 1e-12:
        return mean
    concentration = within / between
    return (task.n_effective * task.p_hat + concentration * mean) / (task.n_effective + concentration)
