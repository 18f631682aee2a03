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
import pytest

from genenv_verl.curriculum.budget import Spent

TOKENS = {"agent_generate": 10, "agent_train": 30, "env_generate": 5, "env_train": 7}
NO_LIMITS = {"agent_steps": None, "agent_tokens": None, "total_tokens": None}


def test_agent_tokens_are_the_agents_and_total_tokens_those_of_both_players():
    assert Spent.of(3, TOKENS) == Spent(agent_steps=3, agent_tokens=40, total_tokens=52)
    assert Spent.of(0, {}) == Spent(0, 0, 0)


@pytest.mark.parametrize(
    ("limits", "reached"),
    [
        ({}, None),
        ({"agent_steps": 4}, None),
        ({"agent_steps": 3}, "agent_steps"),
        ({"agent_tokens": 41}, None),
        ({"agent_tokens": 40}, "agent_tokens"),
        ({"total_tokens": 53}, None),
        ({"total_tokens": 51}, "total_tokens"),
        ({"agent_tokens": 1, "total_tokens": 1}, "agent_tokens"),
    ],
)
def test_a_limit_is_reached_by_what_is_used_not_before(limits, reached):
    assert Spent.of(3, TOKENS).limit_reached({**NO_LIMITS, **limits}) == reached
