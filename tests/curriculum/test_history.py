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
from genenv_verl.curriculum.history import SuccessHistory


def attempts(seed, k, n, family="f"):
    return Attempts(f"{seed}-{k}-{n}", seed, 1, k, n, 0, family)


def test_nothing_is_known_before_the_first_attempt():
    history = SuccessHistory(0.5)
    assert history.overall_success() is None
    assert history.seed_success("a") is None
    history.update([attempts("a", 0, 0)])
    assert history.seed_success("a") is None


def test_rates_per_seed_family_and_overall():
    history = SuccessHistory(0.5)
    history.update([attempts("a", 1, 4), attempts("a", 3, 4), attempts("b", 4, 4), attempts("c", 0, 4, family="g")])
    assert history.seed_success("a") == 0.5
    assert history.family_success("f") == pytest.approx(8 / 12)
    assert history.family_success("g") == 0.0
    assert history.overall_success() == 0.5


def test_older_epochs_count_less():
    history = SuccessHistory(0.5)
    history.update([attempts("a", 0, 4)])
    history.update([attempts("a", 4, 4)])
    assert history.seed_success("a") == pytest.approx(4 / 6)


def test_an_absent_seed_keeps_its_rate_and_loses_weight():
    history = SuccessHistory(0.5)
    history.update([attempts("a", 1, 4)])
    for _ in range(3):
        history.update([attempts("b", 2, 2)])
    assert history.seed_success("a") == 0.25
    history.update([attempts("a", 4, 4)])
    assert history.seed_success("a") == pytest.approx((1 / 16 + 4) / (4 / 16 + 4))


def test_a_seed_of_long_ago_is_unknown_and_never_hard():
    """One success in eight, halved a thousand times: the successes would become 0 before the attempts do."""
    history = SuccessHistory(0.5)
    history.update([attempts("a", 1, 8)])
    for _ in range(1200):
        assert history.seed_success("a") in (0.125, None)
        history.update([attempts("b", 1, 2)])
    assert history.seed_success("a") is None and history.seed_success("b") == 0.5


@pytest.mark.parametrize(("decay", "expected"), [(0.0, 1.0), (1.0, 0.5)])
def test_decay_at_its_ends(decay, expected):
    history = SuccessHistory(decay)
    history.update([attempts("a", 0, 4)])
    history.update([attempts("a", 4, 4)])
    assert history.overall_success() == expected


def test_state_survives_json():
    history = SuccessHistory(0.7)
    for k in range(4):
        history.update([attempts("a", k, 4), attempts("b", 1, 3, family="g")])
    restored = SuccessHistory(0.7)
    restored.load_state_dict(json.loads(json.dumps(history.state_dict())))
    for each in (history, restored):
        each.update([attempts("a", 2, 4)])
    assert restored.state_dict() == history.state_dict()


@pytest.mark.parametrize("decay", [-0.1, 1.1])
def test_decay_out_of_range_is_refused(decay):
    with pytest.raises(ValueError, match="decay"):
        SuccessHistory(decay)
