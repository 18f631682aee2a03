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
"""Benchmarks as verl's reward: rows are scored by the benchmark that their ``data_source`` names."""

import json

import pytest

from genenv_verl.benchmarks import get_benchmark
from genenv_verl.benchmarks.base import Record
from genenv_verl.benchmarks.rows import read_step, score_row, step_row
from genenv_verl.rewards import compute_score as module
from genenv_verl.rewards.compute_score import compute_score


@pytest.fixture
def step():
    record = Record("bamboogle_0", "test", {"question": "Who?", "answer": "James Madison"})
    return next(iter(get_benchmark("bamboogle").steps([record])))


@pytest.fixture
def row(step):
    messages = get_benchmark("bamboogle").messages(step)
    return json.loads(json.dumps(step_row("bamboogle", step, messages, split="validation", index=0)))


def scored(row, response):
    return compute_score(row["data_source"], response, row["reward_model"]["ground_truth"], row["extra_info"])


def test_a_row_gives_its_step_back(row, step):
    assert read_step(row["reward_model"]["ground_truth"], row["extra_info"]) == step


def test_the_official_score_is_verls_reward(row):
    right = scored(row, "<think> t </think><response> The james madison. </response>")
    assert right == {"score": 1.0, "success": 1.0, "scored": 1.0, "reason": "ok"}
    assert scored(row, "<response> x </response>") == {**right, "score": 0.0, "success": 0.0, "reason": "wrong_answer"}


def test_api_bank_is_lenient_inside_its_own_rows_only():
    record = Record(
        "Level1_0",
        "level1",
        {
            "system": "1. Name: Ping\nDescription: d\nParameters: {'a': {'type': 'str', 'description': 'b'}}",
            "user": "<user> Go. </user>",
            "gold": {"name": "Ping", "parameters": {"a": "1"}},
            "episode": "Go.",
            "defect": None,
        },
    )
    apibank = get_benchmark("apibank")
    step = next(iter(apibank.steps([record])))
    row = step_row("apibank", step, apibank.messages(step), split="validation", index=0)
    assert scored(row, '{"a": "1"}')["success"] == 1.0
    assert scored({**row, "data_source": "genenv/apibank"}, '{"a": "1"}')["success"] == 0.0


def test_what_the_prompt_says_scores_nothing(row):
    assert scored(row, "")["score"] == 0.0
    assert "Who?" in json.dumps(row["prompt"])


@pytest.mark.parametrize(
    "damage", [{"ground_truth": "{}"}, {"ground_truth": "[" * 9}, {"ground_truth": None}, {"info": {}}]
)
def test_a_broken_row_is_unscored(row, damage):
    module._warn_once.cache_clear()
    truth = damage.get("ground_truth", row["reward_model"]["ground_truth"])
    result = compute_score("bamboogle", "x", truth, damage.get("info", row["extra_info"]))
    assert (result["score"], result["scored"]) == (0.0, 0.0)
    assert result["reason"].startswith("scorer_error:")


def test_score_row_keeps_the_details(row):
    truth, info = row["reward_model"]["ground_truth"], row["extra_info"]
    assert score_row("bamboogle", "<response>James</response>", truth, info).details["f1"] == pytest.approx(2 / 3)
