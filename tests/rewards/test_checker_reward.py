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
from __future__ import annotations

import json

import pytest
from omegaconf import OmegaConf

from genenv_verl.rewards import compute_score as compute_score_module
from genenv_verl.rewards.agent_reward import Scoring, score_response
from genenv_verl.rewards.compute_score import compute_score
from genenv_verl.tasks.sandbox.backends import open_backend
from genenv_verl.tasks.sandbox.base import Outcome, Unavailable
from genenv_verl.tasks.sandbox.settings import SandboxSettings


def score(response: str, backend):
    truth = {"evaluation": {"kind": "checker", "checker": "source"}, "gold_action": None}
    return score_response(response, truth, scoring=Scoring(checkers=backend))


class Recorder:
    """A backend that says what it is told to, and keeps what it was asked."""

    name = "recorder"

    def __init__(self, outcome: Outcome):
        self.outcome = outcome
        self.asked: list[tuple[str, list[str]]] = []

    def check(self, source, answers):
        self.asked.append((source, list(answers)))
        return [self.outcome for _ in answers]

    def close(self):
        pass


@pytest.mark.parametrize(
    ("response", "answer"),
    [
        ("<think>Oslo? No: Rome.</think>Rome", "Rome"),
        ("<think>x</think><response> Rome </response>", "Rome"),
        (
            '<think>{"name": "no"}</think><tool_call>{"name":"book","arguments":{"b":1}}</tool_call>',
            '<tool_call>\n{"name": "book", "arguments": {"b": 1}}\n</tool_call>',
        ),
    ],
)
def test_checker_gets_the_action_without_the_thought(response, answer):
    backend = Recorder(Outcome(True, "accepted"))
    found = score(response, backend)
    assert backend.asked == [("source", [answer])]
    assert (found.value, found.success, found.scored, found.reason) == (1.0, True, True, "correct")


def test_a_rejected_answer_is_a_failure():
    found = score("Rome", Recorder(Outcome(False, "rejected")))
    assert (found.value, found.success, found.scored, found.reason) == (0.0, False, True, "wrong_answer")


@pytest.mark.parametrize("reason", ["timeout", "memory", "exception", "exit", "bad_verdict", "unavailable"])
def test_c13_no_verdict_is_unscored_and_no_failure(reason):
    found = score("Rome", Recorder(Outcome(None, reason)))
    assert (found.value, found.success, found.scored, found.reason) == (0.0, False, False, f"checker_{reason}")


@pytest.mark.parametrize(
    ("response", "reason"),
    [("", "empty_answer"), ("<think>Rome</think>", "empty_answer"), ("<tool_call>{", "malformed:")],
)
def test_responses_without_an_action_are_failures_that_no_checker_sees(response, reason):
    backend = Recorder(Outcome(True, "accepted"))
    found = score(response, backend)
    assert backend.asked == []
    assert found.outcome == "failure"
    assert found.reason.startswith(reason)


def row(source: str) -> str:
    return json.dumps({"evaluation": {"kind": "checker", "checker": source, "reference": "Rome"}, "gold_action": None})


def test_compute_score_runs_the_checker_in_the_sandbox():
    if isinstance(backend := open_backend(SandboxSettings()), Unavailable):
        pytest.skip(backend.why)
    backend.close()
    sandbox = OmegaConf.create({"timeout_s": 20.0, "sandbox_fusion_url": None})
    source = "def check(response):\n    return response == 'Rome'"
    assert compute_score("genenv", "Rome", row(source), sandbox=sandbox)["score"] == 1.0
    assert compute_score("genenv", "Oslo", row(source), sandbox=sandbox) == {
        "score": 0.0,
        "success": 0.0,
        "scored": 1.0,
        "reason": "wrong_answer",
    }
    broken = compute_score("genenv", "Rome", row("def check(response):\n    raise ValueError"), sandbox=sandbox)
    assert (broken["scored"], broken["reason"]) == (0.0, "checker_exception")


def test_compute_score_without_a_sandbox_is_unscored(monkeypatch):
    monkeypatch.setattr(compute_score_module, "shared_backend", lambda settings: Unavailable("install something"))
    found = compute_score("genenv", "Rome", row("def check(response):\n    return True"))
    assert (found["score"], found["scored"], found["reason"]) == (0.0, 0.0, "checker_unavailable")
