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
"""R_agent as a yes or no, for whoever asks whether a response solves a task."""

from __future__ import annotations

from genenv_verl.rewards.agent_reward import PAPER_SCORING, Scoring, score_response
from genenv_verl.tasks.schema import Task


def is_solved(task: Task, response: str, *, scoring: Scoring = PAPER_SCORING) -> bool | None:
    """Whether R_agent of a response reaches the task's threshold; None if the response cannot be scored."""
    score = score_response(response, task.ground_truth(), task.context.tools, scoring=scoring)
    return score.success if score.scored else None
