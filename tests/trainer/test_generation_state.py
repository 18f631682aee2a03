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
import json

import pytest

from genenv_verl.curriculum.difficulty import Attempts
from genenv_verl.tasks.generation import Rejection
from genenv_verl.tasks.schema import Task
from genenv_verl.trainer.generation import Attempt, Generation


def attempt(success=True, scored=True):
    return Attempt("<tool_call>", 0.75 * success, success, scored, "match", response_tokens=5, prompt_tokens=70)


def generation(outcome, attempts=(), step=None):
    return Generation(
        task_id="seed.e1.v0",
        seed_id="seed",
        environment_step=4,
        prompt_ids=[1, 2],
        response_ids=[3, 4, 5],
        text="{\ud83d",
        outcome=outcome,
        attempts=list(attempts),
        step=step,
    )


TASK = Task.model_validate(
    {
        "task_id": "seed.e1.v0",
        "seed_id": "seed",
        "epoch": 1,
        "family": "shelves",
        "generator": {"model": "m", "step": 4, "sampling": {"temperature": 1.0}},
        "context": {"goal": "Bring it."},
        "gold_action": [{"name": "fetch", "arguments": {"thing": "jar", "count": 2}}],
    }
)


@pytest.mark.parametrize(
    "written",
    [
        generation(TASK),
        generation(TASK, [attempt(), attempt(False), attempt(False, scored=False)], step=6),
        generation(Rejection("not_json", "line 1")),
    ],
    ids=["not attempted", "attempted", "rejected"],
)
def test_a_checkpoint_brings_back_the_same_generation(written):
    record = json.loads(json.dumps(written.to_json()))
    assert Generation.from_json(record) == written


def test_k_and_n_leave_unscored_attempts_out():
    tries = [attempt(True), attempt(False), attempt(False), attempt(False, scored=False)]
    assert generation(TASK, tries, step=6).counted() == Attempts(
        task_id="seed.e1.v0", seed_id="seed", step=6, successes=1, scored=3, unscored=1, family="shelves"
    )


def test_a_success_without_a_verdict_is_none():
    counted = generation(TASK, [attempt(True, scored=False)] * 2, step=6).counted()
    assert (counted.successes, counted.scored, counted.unscored) == (0, 0, 2)


def test_a_rejected_generation_has_no_task():
    assert generation(Rejection("empty")).task is None
    assert generation(TASK).task is TASK


def test_a_record_is_a_copy():
    tried = attempt()
    tried.to_json()["score"] = -1.0
    assert tried.score == 0.75
