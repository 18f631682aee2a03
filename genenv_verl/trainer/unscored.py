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
"""Attempts without a verdict (the checker timed out, the scorer broke) must not count as failures of the agent."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence


def neutral_scores(scores: Sequence[float], scored: Sequence[bool], groups: Sequence[str]) -> list[float]:
    """Gives attempts without a verdict the mean score of their group.

    GRPO's advantage is then 0 for them, and the baseline of the others is the mean over scored attempts alone. (The
    standard deviation of a group with such attempts becomes a little smaller; its sign and order stay.)

    Args:
        scores: R_agent of each attempt, in [0, 1].
        scored: whether it has a verdict.
        groups: name of its GRPO group.

    Returns:
        The scores, those without a verdict replaced; 0 in a group that has no verdict at all.
    """
    known: dict[str, list[float]] = defaultdict(list)
    for score, has_verdict, group in zip(scores, scored, groups, strict=True):
        if has_verdict:
            known[group].append(score)
    return [
        score if has_verdict else (sum(known[group]) / len(known[group]) if known[group] else 0.0)
        for score, has_verdict, group in zip(scores, scored, groups, strict=True)
    ]
