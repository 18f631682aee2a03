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
"""The loop inside verl's own ``main_ppo``, on real models, servers and files."""

from __future__ import annotations

import json
import random
import time
from pathlib import Path

import pytest

from genenv_verl.pools.pool import Pool

pytestmark = pytest.mark.integration

EPOCH_KEYS = set(
    "epoch global_step variant success_rate groups accepted_groups acceptance_rate env_reward_mean generated valid "
    "valid_fraction invalid_reasons p_hat_histogram response_tokens_mean d_train_size d_env_size env_update tokens "
    "seconds".split()
)


def environment_weights(folder: Path) -> dict:
    """Weights of an environment checkpoint on one rank, as plain tensors."""
    import torch

    state = torch.load(next(folder.glob("model_world_size_*_rank_0.pt")), weights_only=False)
    return {name: getattr(value, "_local_tensor", value) for name, value in state.items()}


def initial_weights(model: Path) -> dict:
    from safetensors.torch import load_file

    return load_file(model / "model.safetensors")


def largest_change(world: Path, run: Path, step: int) -> float:
    start = initial_weights(world / "environment")
    end = environment_weights(run / f"global_step_{step}" / "environment")
    return max((end[name].float() - value.float()).abs().max().item() for name, value in start.items())


def check_files(run: Path, epochs: int) -> list[dict]:
    """Invariants over everything that a finished run wrote."""
    lines = [json.loads(line) for line in (run / "genenv" / "epochs.jsonl").read_text(encoding="utf-8").splitlines()]
    assert [line["epoch"] for line in lines] == list(range(epochs))
    d_train, d_env = Pool(run / "genenv" / "d_train", "d_train"), Pool(run / "genenv" / "d_env", "d_env")
    generated: dict[str, dict] = {}
    for line in lines:
        assert EPOCH_KEYS <= set(line)
        assert line["generated"] == line["valid"] + sum(line["invalid_reasons"].values())
        records = (
            (run / "genenv" / "tasks" / f"epoch_{line['epoch']:04d}.jsonl").read_text(encoding="utf-8").splitlines()
        )
        records = [json.loads(record) for record in records]
        assert len(records) == line["generated"]
        generated |= {record["task_id"]: record for record in records}
    assert len(generated) == sum(line["generated"] for line in lines), "a task id occurs twice"
    assert len(d_train) == lines[-1]["d_train_size"] and len(d_env) == lines[-1]["d_env_size"]
    for pool in (d_train, d_env):
        for record in pool:
            assert generated[record["id"]]["task"] is not None, "a rejected generation reached a pool"
    for record in d_env:
        assert record["environment_step"] == 2 * record["epoch"], "D_env names the model step that wrote it"
    return lines


@pytest.fixture(scope="module")
def reference(world, tmp_path_factory):
    """Lines and pools of an uninterrupted, seeded run (filled by the first test)."""
    return {}


def test_both_players_change_and_a_killed_run_becomes_the_same_run(world, finished, start, reference):
    whole = finished("whole", "genenv.seeded_rollouts=true")
    lines = check_files(whole.run, epochs=2)
    assert all(line["env_update"]["updates"] >= 1 for line in lines if line["accepted_groups"])
    assert any(line["valid"] for line in lines), "the warm-started environment writes valid tasks"
    assert largest_change(world, whole.run, 4) > 1e-5
    tokens = lines[-1]["tokens"]
    assert all(tokens[name] > 0 for name in ("env_generate", "env_train", "agent_generate", "agent_train"))

    # kill -9 at a random moment after the first checkpoint, then the same command again
    killed = start("killed", "genenv.seeded_rollouts=true", "trainer.save_freq=1")
    killed.wait_for("epoch 0: writing tasks")
    deadline = time.monotonic() + 300
    while not (killed.run / "latest_checkpointed_iteration.txt").exists() and time.monotonic() < deadline:
        time.sleep(0.05)
    time.sleep(random.uniform(0.0, 4.0))
    killed.kill()
    resumed = finished("killed", "genenv.seeded_rollouts=true", "trainer.save_freq=1")
    resumed_lines = check_files(resumed.run, epochs=2)
    assert "genenv: resumed from" in resumed.text()

    def comparable(line: dict) -> dict:
        return {key: line[key] for key in EPOCH_KEYS - {"seconds", "env_update"}}

    assert [comparable(line) for line in resumed_lines] == [comparable(line) for line in lines]
    for name in ("d_train", "d_env"):
        pools = [Pool(job.run / "genenv" / name, name) for job in (whole, resumed)]
        assert [record["id"] for record in pools[0]] == [record["id"] for record in pools[1]]

    # a finished run that is started again says so and stops, before Ray starts
    again = start("killed", "genenv.seeded_rollouts=true", "trainer.save_freq=1")
    assert again.wait() == 0
    assert "is complete" in again.text() and "Started a local Ray instance" not in again.text()


def test_random_never_changes_the_environment(world, finished):
    job = finished("random", "genenv.variant=random")
    lines = check_files(job.run, epochs=2)
    assert all(line["env_update"] is None for line in lines)
    assert largest_change(world, job.run, 4) == 0.0


def test_two_logical_devices(finished):
    job = finished("two", "trainer.n_gpus_per_node=2", "trainer.total_epochs=1")
    lines = check_files(job.run, epochs=1)
    assert lines[0]["env_update"]["updates"] >= 1 or not lines[0]["accepted_groups"]


def test_a_hanging_phase_ends_the_run_with_a_message(start):
    job = start("hang", "genenv.watchdog.agent_step=0.2")
    assert job.wait() != 0
    assert (
        "phase 'agent_step' did not end within 0.2 s" in job.text() + (job.run / "genenv" / "watchdog.txt").read_text()
    )


def test_a_rollout_server_that_dies_ends_the_run_and_nothing_is_lost(start):
    job = start("dead_server", "trainer.save_freq=1")
    job.wait_for("epoch 0: writing tasks")
    engines = [process for process in job.processes() if "EngineCore" in " ".join(process.cmdline())]
    assert len(engines) == 2, "one server for each player"
    # one of them is enough, whosever it is: the environment's death must not pass for an epoch without valid tasks
    random.choice(engines).kill()
    assert job.wait(300) != 0
    for name in ("d_train", "d_env"):
        for record in Pool(job.run / "genenv" / name, name):
            assert record["id"]
