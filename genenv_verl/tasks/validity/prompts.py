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
"""The rule on the agent's prompt as a whole: rendering and tokenising it costs more than all other rules."""

from __future__ import annotations

from genenv_verl.tasks.validity.registry import Candidate, rule


@rule("prompt_too_long")
def prompt_fits(candidate: Candidate) -> str | None:
    count = candidate.limits.count_prompt_tokens(candidate.task)
    if count > candidate.limits.max_prompt_tokens:
        return f"{count} tokens, at most {candidate.limits.max_prompt_tokens}"
    return None
