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
"""From what a model wrote to a valid task or a counted rejection: the one way in, for the loop and for fixed data."""

from __future__ import annotations

import jinja2

from genenv_verl.tasks.generation import Rejection, read_generation
from genenv_verl.tasks.near_duplicates import Novelty, NoveltyIndex
from genenv_verl.tasks.prompts import TemplateError
from genenv_verl.tasks.schema import Generator, Task
from genenv_verl.tasks.validity import ValidityFilter


def read_valid_task(
    text: str,
    *,
    seed: Task,
    task_id: str,
    epoch: int,
    generator: Generator,
    truncated: bool,
    success_threshold: float | None,
    validity: ValidityFilter,
    novelty: NoveltyIndex,
) -> tuple[Task | Rejection, Novelty | None]:
    """Reads a generation (see ``read_generation``, whose arguments these are) and applies the validity rules.

    Args:
        validity: The rules. A valid task is not added to what they have seen: that is the caller's.
        novelty: What the task is compared with; it is added, valid or not.

    Returns:
        The task, or the reason why it is none (``prompt_failed`` if a template of the user's, or the model's chat
        template, fails on it); and how new it is, None for what is no task at all.
    """
    outcome = read_generation(
        text,
        seed=seed,
        task_id=task_id,
        epoch=epoch,
        generator=generator,
        truncated=truncated,
        success_threshold=success_threshold,
    )
    if isinstance(task := outcome, Rejection):
        return task, None
    measured = novelty.measure(task, seed)
    try:
        outcome = validity.check(task, seed, measured) or task
    except (TemplateError, jinja2.TemplateError) as error:
        outcome = Rejection("prompt_failed", str(error))
    novelty.add(task, valid=outcome is task)
    return outcome, measured
