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
"""What a model is asked to write for a fixed training set: n variations of every seed, with the loop's own prompt."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass

from genenv_verl.config.settings import Settings
from genenv_verl.tasks.prompts import EnvironmentPrompt, TokenBudget
from genenv_verl.tasks.schema import Message, Task
from genenv_verl.trainer.co_evolution import alpha_schedule


@dataclass(frozen=True)
class VariationRequest:
    """One task to be written: the name of the result, its seed, the prompt and the request's own sampling seed."""

    task_id: str
    seed: Task
    messages: tuple[Message, ...]
    sampling_seed: int


def variation_requests(seeds: Sequence[Task], settings: Settings, budget: TokenBudget) -> list[VariationRequest]:
    """The requests: the first variation of every seed, then the second of every seed, and so on.

    Whatever is left out at the end is then left out evenly. Nothing is known of an agent: its success is unknown in
    every prompt, the target is that of the loop's first epoch.

    Raises:
        ValueError: A seed has the name that a variation would get.
        TemplateError: The template fails.
    """
    template = EnvironmentPrompt(settings.environment_template, offer_checkers=settings.offer_checkers, budget=budget)
    target = alpha_schedule(settings.alpha).at(0)
    prompts = []
    for seed in seeds:
        unknown = {"seed_success": None, "family_success": None, "overall_success": None}
        messages = template.messages(seed, target_success=target, **unknown)
        prompts.append(tuple(Message(**message) for message in messages))
    taken = {seed.task_id for seed in seeds}
    requests = []
    for variation in range(settings.n_variations):
        for seed, prompt in zip(seeds, prompts, strict=True):
            name = f"{seed.task_id}.v{variation}"
            if name in taken:
                raise ValueError(f"--seeds: a seed is called {name!r}, as a variation would be: give original seeds")
            requests.append(VariationRequest(name, seed, prompt, _sampling_seed(settings.seed, name)))
    return requests


def _sampling_seed(seed: int, task_id: str) -> int:
    """A seed in [0, 2³¹) of the request's own, whatever other requests there are."""
    digest = hashlib.blake2b(f"{seed}/{task_id}".encode(), digest_size=8).digest()
    return int.from_bytes(digest, "big") % 2**31
