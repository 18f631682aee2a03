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
"""Which epoch a step belongs to: the one number that schedules, file names and reports share."""

from __future__ import annotations


def epoch_of_step(global_step: int, steps_per_epoch: int) -> int:
    """The epoch, counted from 0, of an agent step, counted from 1.

    After a resume pass the step that comes next, not the one that was completed last.

    Raises:
        ValueError: If either number is below 1.
    """
    if global_step < 1 or steps_per_epoch < 1:
        raise ValueError(f"steps and steps_per_epoch start at 1, got {global_step} and {steps_per_epoch}")
    return (global_step - 1) // steps_per_epoch
