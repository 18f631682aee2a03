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
"""What follows from the evidence of the attempts: quarantine, a scaled reward, and the counts of the epoch's line."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

from genenv_verl.config.settings import TrustAction, TrustSettings
from genenv_verl.curriculum.trust import FLAGS, Evidence, TrustLimits, read_trial, weigh
from genenv_verl.trainer.generation import Generation

DOUBTS = {"suspected_wrong_gold", "ambiguous", "lucky"}
"""Flags that doubt what a success at the task means. A task that nobody solves is doubted by nothing."""

SUSPICIOUS_SHARE = 1 / 3


class TrustPolicy:
    """Applies ``genenv.trust``. Evidence is a pure function of the attempts; it is kept for one epoch to be read once.

    Args:
        settings: The ``genenv.trust`` block.
    """

    def __init__(self, settings: TrustSettings):
        self.settings = settings
        self._limits = TrustLimits(
            agreement=settings.agreement,
            max_success=settings.max_success,
            ambiguous_band=settings.ambiguous_band,
            lucky_chance=settings.lucky_chance,
        )
        self._known: dict[str, Evidence] = {}

    def forget(self) -> None:
        """A new epoch begins."""
        self._known = {}

    def evidence(self, generation: Generation) -> Evidence:
        """The evidence of a valid task that was attempted."""
        if generation.task_id not in self._known:
            scored = [attempt for attempt in generation.attempts if attempt.scored]
            trials = [read_trial(generation.task, attempt.response, attempt.success) for attempt in scored]
            self._known[generation.task_id] = weigh(generation.task, trials, self._limits)
        return self._known[generation.task_id]

    def is_quarantined(self, generation: Generation) -> bool:
        """Whether a task must stay out of D_train, D_env and the environment's update."""
        return "quarantine" in self._actions(generation)

    def reward_factor(self, generation: Generation) -> float:
        """What the task's R_env is multiplied with, in (0, 1]."""
        return self.settings.reward_scale if "scale" in self._actions(generation) else 1.0

    def task_fields(self, generation: Generation) -> dict[str, Any]:
        """The evidence in the task file's line of a generation."""
        if not generation.attempts:
            return {"trust": None, "quarantined": False}
        return {"trust": self.evidence(generation).to_json(), "quarantined": self.is_quarantined(generation)}

    def summary(self, attempted: Sequence[Generation]) -> dict[str, Any]:
        """The epoch line's ``trust`` (tasks by flag, tasks in quarantine, tasks without a doubt, mean chance level) and
        ``success_rate_trusted``, p̂ over the attempts at tasks without a doubt; None without any."""
        counts = Counter(flag for generation in attempted for flag in self.evidence(generation).flags)
        trusted = [g for g in attempted if not DOUBTS & set(self.evidence(g).flags)]
        scored = [attempt for generation in trusted for attempt in generation.attempts if attempt.scored]
        chances = [self.evidence(generation).chance_level for generation in attempted]
        return {
            "success_rate_trusted": sum(attempt.success for attempt in scored) / len(scored) if scored else None,
            "trust": {
                **{flag: counts[flag] for flag in FLAGS},
                "quarantined": sum(self.is_quarantined(generation) for generation in attempted),
                "trusted": len(trusted),
                "chance_level_mean": sum(chances) / len(chances) if chances else None,
            },
        }

    def warnings(self, epoch: int, attempted: Sequence[Generation]) -> list[str]:
        """A warning where so many golds are doubted that a habit of the agent explains it as well."""
        doubted = sum("suspected_wrong_gold" in self.evidence(generation).flags for generation in attempted)
        if doubted <= max(1, SUSPICIOUS_SHARE * len(attempted)):
            return []
        return [
            f"epoch {epoch}: at {doubted} of {len(attempted)} tasks the attempts agree on another answer than the "
            "gold: the environment writes wrong golds, or the agent makes one mistake everywhere; look at the task "
            "file, and set genenv.trust.suspected_wrong_gold=report if it is the agent"
        ]

    def _actions(self, generation: Generation) -> set[TrustAction]:
        return {getattr(self.settings, flag) for flag in self.evidence(generation).flags}
