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
"""A fixed training set, written by a real local server and trained on by a real run within a budget."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pyarrow.parquet as pq
import pytest

pytestmark = pytest.mark.integration


def test_a_set_is_written_once_and_trained_on_until_the_budget_is_used_up(world, finished, tmp_path):
    fixed = tmp_path / "fixed"
    templates = Path(__file__).parents[2] / "examples" / "miniworld"
    command = [
        sys.executable, "-m", "genenv_verl", "augment", "--seeds", str(world / "seeds.parquet"), "--out", str(fixed),
        "--model", str(world / "environment"), "-n", "2", "--max-tokens", "96", "--max-prompt-tokens", "64",
        "--max-response-tokens", "64", "--set", f"environment_template={templates}/environment.jinja",
        "--set", f"agent_template={templates}/agent.jinja", "--set", "novelty.near_duplicate=null",
    ]  # fmt: skip
    environment = {**os.environ, "VERL_PLATFORM": "cpu", "HF_HUB_OFFLINE": "1", "VLLM_CPU_KVCACHE_SPACE": "1"}
    written = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=600)
    assert written.returncode == 0, written.stdout + written.stderr
    manifest = json.loads((fixed / "manifest.json").read_text())
    assert manifest["requested"] == 64 == manifest["generated"]
    assert manifest["rows"] == 32 + manifest["valid"] == pq.read_metadata(fixed / "train.parquet").num_rows
    assert manifest["valid"] > 32 and manifest["tokens"]["completion"] > 0

    job = finished(
        "static", "genenv.variant=static", f"data.train_files={fixed / 'train.parquet'}", "genenv.budget.agent_steps=3",
        "trainer.test_freq=3", "trainer.save_freq=-1",
    )  # fmt: skip
    assert "genenv.budget.agent_steps is used up after step 3" in job.text()
    [line] = job.epochs()
    assert line["variant"] == "static" and line["global_step"] == 3
    assert line["budget"]["reached"] == "agent_steps" and line["budget"]["used"]["agent_steps"] == 3
    # what the writing cost stands beside the agent's tokens
    assert line["tokens"]["env_generate"] == manifest["tokens"]["completion"]
    exam = (job.run / "genenv" / "validation.jsonl").read_text().splitlines()
    assert [json.loads(entry)["step"] for entry in exam] == [3]
    assert json.loads((job.run / "versions.json").read_text())["verl"] == "0.9.1"
