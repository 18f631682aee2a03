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

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from genenv_verl.tasks.prompts import AgentPrompt
from genenv_verl.tasks.records import read_tasks, write_tasks
from genenv_verl.tasks.schema import Evaluation
from genenv_verl.tasks.tool_calls import format_calls, parse_response

pytestmark = pytest.mark.integration

RINGS = """
def check(response):
    return '"ring"' in response
"""


def seeds_with_checkers(world: Path, template: Path, path: Path) -> Path:
    """The world's seeds, and as many that are right if something rings."""
    evaluation = Evaluation.model_validate({"kind": "checker", "checker": RINGS})
    seeds = read_tasks(world / "seeds.parquet")
    checked = [
        seed.model_copy(update={"task_id": f"rings-{i}", "evaluation": evaluation}) for i, seed in enumerate(seeds)
    ]
    write_tasks(path, [*seeds, *checked], prompt=AgentPrompt(str(template)).messages)
    return path


def benchmark_rows(folder: Path) -> Path:
    """Two rows of a benchmark as ``prepare`` writes them, their prompts cut to what the tiny model can read."""
    folder.mkdir()
    release = [{"Question": "Who ruled?", "Answer": "James Madison"}, {"Question": "How long is it?", "Answer": "10"}]
    (folder / "data.json").write_text(json.dumps(release))
    command = [sys.executable, "-m", "genenv_verl", "prepare", "bamboogle", "--partial", "--source", str(folder)]
    subprocess.run([*command, "--out", str(folder)], check=True, timeout=120)
    path = folder / "validation.parquet"
    rows = pq.read_table(path)
    prompts = [[prompt[-1]] for prompt in rows["prompt"].to_pylist()]
    pq.write_table(rows.set_column(rows.column_names.index("prompt"), "prompt", pa.array(prompts)), path)
    return path


def has_checker(rollout: dict) -> bool:
    return json.loads(rollout["gts"])["evaluation"]["kind"] == "checker"


def test_a_set_is_written_once_and_trained_on_until_the_budget_is_used_up(world, finished, tmp_path):
    fixed = tmp_path / "fixed"
    templates = Path(__file__).parents[2] / "examples" / "miniworld"
    seeds = seeds_with_checkers(world, templates / "agent.jinja", tmp_path / "seeds.parquet")
    command = [
        sys.executable, "-m", "genenv_verl", "augment", "--seeds", str(seeds), "--out", str(fixed),
        "--model", str(world / "environment"), "-n", "1", "--max-tokens", "96", "--max-prompt-tokens", "64",
        "--max-response-tokens", "64", "--set", f"environment_template={templates}/environment.jinja",
        "--set", f"agent_template={templates}/agent.jinja", "--set", "novelty.near_duplicate=null",
    ]  # fmt: skip
    environment = {**os.environ, "VERL_PLATFORM": "cpu", "HF_HUB_OFFLINE": "1", "VLLM_CPU_KVCACHE_SPACE": "1"}
    written = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=600)
    assert written.returncode == 0, written.stdout + written.stderr
    manifest = json.loads((fixed / "manifest.json").read_text())
    assert manifest["requested"] == 64 == manifest["generated"]
    assert manifest["rows"] == 64 + manifest["valid"] == pq.read_metadata(fixed / "train.parquet").num_rows
    assert manifest["valid"] > 32 and manifest["tokens"]["completion"] > 0

    job = finished(
        "static", "genenv.variant=static", f"data.train_files={fixed / 'train.parquet'}", "genenv.budget.agent_steps=3",
        "trainer.test_freq=3", "trainer.save_freq=-1",
        f"trainer.rollout_data_dir={tmp_path / 'rollouts'}",
        f"data.val_files=[{world / 'exam.parquet'},{benchmark_rows(tmp_path / 'bamboogle')}]",
    )  # fmt: skip
    assert "genenv.budget.agent_steps is used up after step 3" in job.text()
    [line] = job.epochs()
    assert line["variant"] == "static" and line["global_step"] == 3
    assert line["budget"]["reached"] == "agent_steps" and line["budget"]["used"]["agent_steps"] == 3
    # what the writing cost stands beside the agent's tokens
    assert line["tokens"]["env_generate"] == manifest["tokens"]["completion"]
    exam = (job.run / "genenv" / "validation.jsonl").read_text().splitlines()
    assert [json.loads(entry)["step"] for entry in exam] == [3]
    # benchmarks are scored by their own scorers, under their own names
    metrics = json.loads(exam[0])["data"]
    assert {name.split("/")[1] for name in metrics} == {"genenv", "bamboogle"}, metrics
    assert json.loads((job.run / "versions.json").read_text())["verl"] == "0.9.1"

    # what the model wrote was judged by the checkers, in the sandbox of verl's reward workers
    files = (tmp_path / "rollouts").iterdir()
    rollouts = [json.loads(line) for file in files for line in file.read_text().splitlines()]
    judged = [rollout for rollout in rollouts if has_checker(rollout)]
    assert judged and len(judged) < len(rollouts)
    for rollout in judged:
        assert rollout["score"] == float('"ring"' in format_calls(parse_response(rollout["output"]).calls))
    assert {rollout["score"] for rollout in judged} == {0.0, 1.0}
