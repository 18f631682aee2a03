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
import time

import pytest

from genenv_verl.curriculum.ledger import PHASES, PLAYERS, Ledger, estimate_flops, total_ledger


class Probe:
    """Hands out the peaks that it is given; notes which measurements were forced."""

    def __init__(self, *peaks):
        self.peaks = list(peaks)
        self.forced = []

    def take(self, *, now):
        self.forced.append(now)
        return self.peaks.pop(0) if self.peaks else (None, None)


@pytest.mark.parametrize(
    ("phase", "tokens", "parameters", "flops"),
    [
        ("generate", 10, 7, 140),
        ("score", 10, 7, 140),
        ("train", 10, 7, 420),
        ("sync", 10, 7, 0),
        ("train", 10, None, None),
        ("train", 0, None, 0),
        ("train", 3 * 10**6, 7_615_616_512, 6 * 3 * 10**6 * 7_615_616_512),
    ],
)
def test_flops_are_two_a_parameter_and_token_forward_and_six_trained(phase, tokens, parameters, flops):
    assert estimate_flops(phase, tokens, parameters) == flops


def test_each_player_has_its_own_account_of_each_phase():
    ledger = Ledger({"agent": 100, "environment": 10})
    ledger.count("agent", "train", 5)
    ledger.count("agent", "train", 6)
    ledger.count("environment", "generate", 7)
    record = ledger.record()
    assert set(record) == set(PLAYERS) and all(set(record[player]["phases"]) == set(PHASES) for player in PLAYERS)
    assert record["agent"]["phases"]["train"]["tokens"] == 11
    assert record["agent"]["phases"]["train"]["flops"] == 6 * 11 * 100
    assert record["environment"]["phases"]["generate"]["flops"] == 2 * 7 * 10
    assert record["environment"]["phases"]["train"]["tokens"] == 0
    json.dumps(record, allow_nan=False)


def test_time_goes_to_the_phase_that_is_open_and_a_failing_phase_is_closed():
    ledger = Ledger({})
    with pytest.raises(RuntimeError), ledger.phase("agent", "generate"):
        time.sleep(0.02)
        raise RuntimeError
    time.sleep(0.02)
    ledger.begin("environment", "train")
    time.sleep(0.02)
    ledger.begin("environment", "score")  # closes the one before
    ledger.end()
    ledger.end()
    record = ledger.record()
    assert record["agent"]["phases"]["generate"]["seconds"] >= 0.02
    assert record["environment"]["phases"]["train"]["seconds"] >= 0.02
    assert record["environment"]["phases"]["score"]["seconds"] < 0.02
    assert record["agent"]["phases"]["train"]["seconds"] == 0.0


def test_peaks_only_rise_and_what_came_before_a_phase_is_not_its_own():
    probe = Probe((900, 900), (10, None), (900, 900), (5, 20))
    ledger = Ledger({}, probe)
    for _ in range(2):
        with ledger.phase("agent", "train"):
            pass
    cell = ledger.record()["agent"]["phases"]["train"]
    assert (cell["peak_host_bytes"], cell["peak_device_bytes"]) == (10, 20)
    assert probe.forced == [False, True, False, False]  # forced only while the phase has no measurement


def test_a_checkpoint_brings_the_account_back():
    ledger = Ledger({"agent": 3}, Probe((1, 1), (8, 9)))
    with ledger.phase("agent", "score"):
        ledger.count("agent", "score", 4)
    state = json.loads(json.dumps(ledger.state_dict()))
    other = Ledger({"agent": 3})
    other.count("agent", "score", 1000)
    other.load_state_dict(state)
    assert other.record() == ledger.record()
    other.load_state_dict({})
    assert other.record()["agent"]["phases"]["score"]["tokens"] == 0


def line(tokens, parameters=10, peak=None):
    ledger = Ledger({"agent": parameters}, None if peak is None else Probe((0, 0), (peak, None)))
    with ledger.phase("agent", "train"):
        ledger.count("agent", "train", tokens)
    return {"ledger": ledger.record()}


def test_a_run_is_the_sum_of_its_epochs_and_the_largest_of_their_peaks():
    cell = total_ledger([line(1, peak=5), line(2, peak=9), line(4)])["agent"]["train"]
    assert (cell["tokens"], cell["flops"], cell["peak_host_bytes"], cell["peak_device_bytes"]) == (7, 420, 9, None)


def test_a_part_is_no_total():
    total = total_ledger([line(1), line(2, parameters=None), line(4)])
    assert total["agent"]["train"]["flops"] is None and total["agent"]["train"]["tokens"] == 7
    assert total["agent"]["score"]["flops"] == 0


@pytest.mark.parametrize(
    "ledger",
    [
        None,
        [],
        "x",
        {"agent": 3},
        {"agent": {"phases": []}},
        {
            "agent": {
                "phases": {"train": {"tokens": "9", "seconds": float("nan"), "flops": -4, "peak_host_bytes": True}}
            }
        },
    ],
)
def test_what_is_no_number_is_passed_over(ledger):
    total = total_ledger([line(1), {"ledger": ledger}, {}])
    assert total["agent"]["train"]["tokens"] == 1 and total["agent"]["train"]["flops"] == 60
