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
"""Rules on tasks that exist already."""

from __future__ import annotations

from genenv_verl.tasks.novelty import fingerprint
from genenv_verl.tasks.validity.registry import Candidate, rule


@rule("duplicate")
def is_new(candidate: Candidate) -> str | None:
    mark = fingerprint(candidate.task)
    if mark == fingerprint(candidate.seed):
        return "goal and gold are the seed's"
    return "an earlier task has this goal and gold" if mark in candidate.limits.seen else None
