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

from genenv_verl.config.settings import SettingsError, TrustSettings, read_settings
from genenv_verl.tasks.schema import Task
from genenv_verl.trainer.generation import Attempt, Generation
from genenv_verl.trainer.trust_policy import TrustPolicy

SHELF = {
    "function": {
        "name": "fetch",
        "parameters": {"type": "object", "properties": {"thing": {"type": "string"}}, "required": ["thing"]},
    }
}


def said(thing):
    return f"<tool_call>{json.dumps({'name': 'fetch', 'arguments': {'thing': thing}})}</tool_call>"


def generation(answers, name="s.e0.v0"):
    """A task whose gold is the lamp; each letter of the answers is a thing that was fetched, ``.`` is unscored."""
    task = {"task_id": name, "context": {"goal": "Fetch it.", "tools": [SHELF]}}
    attempts = [
        Attempt(said("lamp" if a == "+" else a), float(a == "+"), a == "+", a != ".", "", 3, 40) for a in answers
    ]
    outcome = Task.model_validate({**task, "gold_action": [{"name": "fetch", "arguments": {"thing": "lamp"}}]})
    return Generation(name, "s", 0, [1], [2], "", outcome, attempts=attempts, step=1)


def policy(**settings):
    return TrustPolicy(TrustSettings(**settings))


def test_by_default_a_suspected_wrong_gold_is_quarantined_and_the_rest_reported():
    trust = policy()
    wrong, scattered, hard, good = map(generation, ("aaaaaabc", "++++aabb", "abcdefgh", "++++++ab"))
    for place, entry in enumerate((wrong, scattered, hard, good)):
        entry.task_id = f"t{place}"
    assert [trust.is_quarantined(entry) for entry in (wrong, scattered, hard, good)] == [True, False, False, False]
    assert {trust.reward_factor(entry) for entry in (wrong, scattered, hard, good)} == {1.0}
    assert trust.task_fields(wrong)["trust"]["flags"] == ["suspected_wrong_gold"]
    assert trust.task_fields(wrong)["quarantined"] is True
    summary = trust.summary([wrong, scattered, hard, good])
    assert summary["trust"] == {
        "suspected_wrong_gold": 1, "ambiguous": 1, "lucky": 0, "unsolvable_for_now": 1,
        "quarantined": 1, "trusted": 2, "chance_level_mean": 0.0,
    }  # fmt: skip
    assert summary["success_rate_trusted"] == 6 / 16  # the hard and the good one


def test_the_action_of_each_flag_is_a_setting():
    doubtful = generation("aaaaaabc")
    assert not policy(suspected_wrong_gold="report").is_quarantined(doubtful)
    scaled = policy(suspected_wrong_gold="scale", reward_scale=0.25)
    assert (scaled.is_quarantined(doubtful), scaled.reward_factor(doubtful)) == (False, 0.25)
    assert policy(ambiguous="quarantine").is_quarantined(generation("++++aabb"))
    assert policy(unsolvable_for_now="scale").reward_factor(generation("abcdefgh")) == 0.5


def test_unscored_attempts_say_nothing():
    assert policy().evidence(generation("aaa.....")).attempts == 3
    assert policy().evidence(generation("aa......")).flags == ()
    assert policy().summary([generation("........")])["success_rate_trusted"] is None
    assert policy().task_fields(generation("")) == {"trust": None, "quarantined": False}


def test_an_agent_that_is_wrong_everywhere_is_suspected_before_the_environment():
    attempted = [generation("aaaaaaaa", name) for name in ("a", "b", "c")]
    (warning,) = policy().warnings(4, attempted)
    assert "epoch 4: at 3 of 3 tasks" in warning and "genenv.trust.suspected_wrong_gold=report" in warning
    assert policy().warnings(4, [*attempted[:1], *(generation("++++++++", str(n)) for n in range(5))]) == []
    assert policy().warnings(0, []) == []


@pytest.mark.parametrize(
    ("key", "value"), [("ambiguous", "delete"), ("agreement", 0.0), ("reward_scale", 0), ("lucky_chance", 2)]
)
def test_bad_settings_are_named(key, value):
    with pytest.raises(SettingsError, match=f"genenv.trust.{key}"):
        read_settings({"seeds": "s", "trust": {key: value}, "rwr": {}})
