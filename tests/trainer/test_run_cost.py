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

from genenv_verl.curriculum.ledger import Ledger
from genenv_verl.trainer.run_cost import RunCost

LIMITS = {"agent_steps": None, "agent_tokens": 100, "total_tokens": None}


def cost(**limits):
    return RunCost(Ledger({"agent": 2}), {**LIMITS, **limits})


def one_step(account, tokens=30):
    account.tokens["agent_generate"] += tokens
    account.ledger.count("agent", "generate", tokens)


def test_a_line_has_the_epochs_tokens_and_the_budget_of_the_whole_run():
    account = cost()
    one_step(account)
    account.close_epoch()
    one_step(account)
    account.tokens["env_train"] += 5
    fields = account.fields(2)
    assert fields["tokens"] == {"env_generate": 0, "env_train": 5, "agent_generate": 30, "agent_train": 0}
    assert fields["budget"] == {
        "used": {"agent_steps": 2, "agent_tokens": 60, "total_tokens": 65}, "limits": LIMITS, "reached": None,
    }  # fmt: skip
    assert fields["ledger"]["agent"]["phases"]["generate"] == {
        "seconds": 0.0, "tokens": 30, "peak_host_bytes": None, "peak_device_bytes": None, "flops": 120,
    }  # fmt: skip
    json.dumps(fields, allow_nan=False)


def test_the_run_ends_at_the_first_step_that_reaches_the_limit_and_a_resume_does_not_forget():
    account = cost()
    ended = []
    for step in range(1, 6):
        one_step(account)
        ended.append(account.limit_reached(step))
        state = json.loads(json.dumps(account.state_dict()))
        account = cost()  # killed and resumed after every step
        account.load_state_dict(state)
        if step % 2 == 0:
            account.close_epoch()
    assert ended == [None, None, None, "agent_tokens", "agent_tokens"]


def test_a_larger_budget_goes_on_where_the_smaller_one_ended():
    account = cost()
    for _ in range(4):
        one_step(account)
    state = account.state_dict()
    larger = cost(agent_tokens=121)
    larger.load_state_dict(state)
    assert larger.limit_reached(4) is None
    one_step(larger)
    assert larger.limit_reached(5) == "agent_tokens" and larger.spent(5).agent_tokens == 150


def test_a_checkpoint_from_before_there_was_a_ledger_is_read():
    account = cost()
    account.load_state_dict({"seconds": {"agent": 2.0}, "tokens": {"agent_generate": 7}})
    assert account.spent(1).agent_tokens == 7 and account.fields(1)["seconds"]["agent"] == 2.0


def test_time_is_added_to_its_part():
    account = cost()
    with account.timed("agent"):
        pass
    assert 0.0 < account.seconds["agent"] < 60.0
    assert account.fields(0)["seconds"]["total"] >= 0.0
