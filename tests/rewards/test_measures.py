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

from genenv_verl.rewards.agent_reward import SCORERS, Scoring, score_response, scorer
from genenv_verl.rewards.compute_score import compute_score
from genenv_verl.rewards.measures import MEASURES, find_measure


@pytest.mark.parametrize("name", MEASURES)
def test_a_measure_keeps_below_1_what_is_not_the_same_answer(name):
    measure = find_measure(name)
    for predicted in ("the dog bites the man", "a man", "the man bites the dogs" * 200):
        assert 0.0 <= measure(predicted=predicted, gold="the man bites the dog") < 1.0


def test_the_run_chooses_the_measure():
    truth = {"evaluation": {"kind": "reference_answer", "reference": "the man bites the dog"}, "gold_action": None}
    values = {
        name: score_response("the dog bites the man", truth, scoring=Scoring(text=name)).value for name in MEASURES
    }
    assert values["exact"] == 0.0 < values["ratio"] < values["token_f1"] == 0.9999


def test_a_measure_of_ones_own_is_one_function(tmp_path, monkeypatch):
    (tmp_path / "my_reward.py").write_text(
        "def first_letter(*, predicted, gold):\n    return float(predicted[0] == gold[0])\n"
    )
    monkeypatch.syspath_prepend(tmp_path)
    truth = {"evaluation": {"kind": "reference_answer", "reference": "Oslo"}, "gold_action": None}
    scoring = Scoring(text="my_reward:first_letter")
    assert score_response("Over there", truth, scoring=scoring).success
    assert not score_response("Bergen", truth, scoring=scoring).success


@pytest.mark.parametrize("body", ["float('nan')", "1.5", "-0.1", "None", "[][0]"])
def test_a_measure_that_leaves_its_range_leaves_the_attempt_unscored(tmp_path, monkeypatch, body):
    name = f"broken_{abs(hash(body))}"
    (tmp_path / f"{name}.py").write_text(f"def measure(*, predicted, gold):\n    return {body}\n")
    monkeypatch.syspath_prepend(tmp_path)
    row = compute_score("x", "Bergen", "Oslo", text=f"{name}:measure")
    assert (row["scored"], row["score"]) == (0.0, 0.0)
    assert row["reason"].startswith("scorer_error:")


@pytest.mark.parametrize("name", ["levenshtein", "no_such_module:f", "json:no_such_function", ":f", "..:f"])
def test_an_unknown_measure_is_refused(name):
    with pytest.raises(ValueError, match="is none of|cannot be loaded"):
        Scoring(text=name)


def test_each_kind_has_one_scorer():
    assert set(SCORERS) == {"exact_match", "reference_answer", "checker"}
    with pytest.raises(ValueError, match="have a scorer already: score_calls"):
        scorer("exact_match")(lambda parsed, target, scoring: None)
