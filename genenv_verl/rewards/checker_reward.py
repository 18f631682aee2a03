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
"""R_agent of a task that a checker scores: the checker runs in the sandbox, or the attempt is unscored."""

from __future__ import annotations

from genenv_verl.rewards.agent_reward import Score
from genenv_verl.tasks.sandbox.base import CheckerBackend
from genenv_verl.tasks.tool_calls import format_calls, parse_response


def score_by_checker(response: str, source: str, backend: CheckerBackend) -> Score:
    """Has a checker judge a response: 1 if it returns True, 0 if it returns False.

    The checker gets what the agent does, without its thoughts: the calls as ``format_calls`` writes them, in which form
    the self-test has shown it the gold, or the answer in words. A malformed or empty response is a failure, as it is
    for every kind of evaluation, and no checker is asked.

    Args:
        response: What the model wrote after the prompt.
        source: The checker.
        backend: What runs it.

    Returns:
        The score; unscored with the reason ``checker_<reason of the Outcome>`` if the checker gives no verdict.
    """
    parsed = parse_response(response)
    if parsed.status == "malformed":
        return _failure(f"malformed:{parsed.reason}")
    answer = format_calls(parsed.calls) or parsed.text
    if not answer:
        return _failure("empty_answer")
    (outcome,) = backend.check(source, [answer])
    if outcome.accepted is None:
        return Score.unscored(f"checker_{outcome.reason}")
    return (
        Score(value=1.0, success=True, scored=True, reason="correct") if outcome.accepted else _failure("wrong_answer")
    )


def _failure(reason: str) -> Score:
    return Score(value=0.0, success=False, scored=True, reason=reason)
