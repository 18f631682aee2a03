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
"""How wide the environment's tasks are spread: over families and tools, and away from what was there."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from genenv_verl.tasks.near_duplicates import Novelty
from genenv_verl.tasks.schema import Task


def effective_number(counts: Iterable[int]) -> float:
    """exp of the Shannon entropy of a distribution: n for n equally frequent kinds, near 1 if one kind is nearly all.

    Args:
        counts: How often each kind occurs, >= 0.

    Returns:
        At least 1; 0 if there is nothing.
    """
    counts = [count for count in counts if count > 0]
    total = sum(counts)
    return math.exp(-sum(count / total * math.log(count / total) for count in counts)) if total else 0.0


def coverage(tasks: Iterable[Task]) -> dict[str, Any]:
    """The spread of tasks over families and over the tools that their golds call.

    Returns:
        ``families`` and ``tools``, how many different ones, and ``families_effective`` and ``tools_effective``, their
        effective numbers (a tool counts once a task).
    """
    families: Counter[str] = Counter()
    tools: Counter[str] = Counter()
    for task in tasks:
        families[task.family] += 1
        tools.update({call.name for call in task.gold_action or ()})
    return {
        "families": len(families),
        "families_effective": effective_number(families.values()),
        "tools": len(tools),
        "tools_effective": effective_number(tools.values()),
    }


def novelty_summary(novelties: Sequence[Novelty]) -> dict[str, Any]:
    """Where an epoch's readable generations stand.

    Args:
        novelties: One for each generation that could be read as a task, valid or not.

    Returns:
        ``parsed``, their number; ``repeated``, how many of them say what seeds, pool or an earlier one of the epoch
        said; ``same_template``, how many fill a template that a valid task has used; ``similarity_mean``, to the
        nearest of seeds, pool and epoch; ``seed_distance``, 1 minus the similarity to the own seed: ``mean``, ``q10``,
        ``median``, ``q90``. Shares are in [0, 1], None without any generation.
    """
    distances = np.array([1.0 - novelty.seed_similarity for novelty in novelties])
    quantiles = np.quantile(distances, [0.1, 0.5, 0.9]).tolist() if novelties else [None] * 3
    return {
        "parsed": len(novelties),
        "repeated": sum(novelty.repeated for novelty in novelties),
        "same_template": sum(novelty.template_uses > 0 for novelty in novelties),
        "similarity_mean": sum(its.similarity for its in novelties) / len(novelties) if novelties else None,
        "seed_distance": {
            "mean": distances.mean().item() if novelties else None,
            **dict(zip(("q10", "median", "q90"), quantiles, strict=True)),
        },
    }
