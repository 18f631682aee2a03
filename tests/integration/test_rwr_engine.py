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
"""The environment's update through verl's FSDP2 engine agrees with a float64 reference, however the batch is split."""

from __future__ import annotations

import importlib.util
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import psutil
import pytest

pytestmark = [
    pytest.mark.integration,
    pytest.mark.skipif(importlib.util.find_spec("verl") is None, reason="verl is not installed"),
]

CHECK = Path(__file__).with_name("rwr_engine_check.py")
LIMIT_SECONDS = 900

# relative errors of a float32 engine against float64; measured: 2e-7, 3e-7, 2e-6 and 3e-5
LOSS_TOLERANCE = 1e-5
GRAD_NORM_TOLERANCE = 1e-4
# norm of the difference over the norm of the expected: of the clipped gradient, and of the change of the parameters
GRADIENT_TOLERANCE = 1e-4
PARAMETER_TOLERANCE = 1e-3
# absolute, nats per token
LOG_PROB_TOLERANCE = 1e-4


def run_check(folder: Path, ranks: int) -> dict[str, Any]:
    """Runs the comparison on ``ranks`` ranks and returns its verdict; every process has ended when it returns."""
    command = [
        sys.executable,
        "-m",
        "torch.distributed.run",
        "--standalone",
        f"--nproc_per_node={ranks}",
    ]
    environment = {
        **os.environ,
        "VERL_PLATFORM": "cpu",
        "OMP_NUM_THREADS": "1",
        "HF_HUB_OFFLINE": "1",
    }
    log = folder / "log.txt"
    with open(log, "w", encoding="utf-8") as file:
        process = subprocess.Popen(
            [*command, str(CHECK), str(folder)],
            stdout=file,
            stderr=subprocess.STDOUT,
            env=environment,
            start_new_session=True,
        )
        try:
            status = process.wait(LIMIT_SECONDS)
        finally:
            end_tree(process)
    assert status == 0, f"exit status {status}; the log ends with\n{log.read_text(errors='replace')[-6000:]}"
    return json.loads((folder / "verdict.json").read_text(encoding="utf-8"))


def end_tree(process: subprocess.Popen) -> None:
    """Kill -9 of the launcher and its ranks, which it starts in sessions of their own."""
    if process.poll() is not None:
        return
    launcher = psutil.Process(process.pid)
    for entry in [*launcher.children(recursive=True), launcher]:
        try:
            entry.kill()
        except psutil.NoSuchProcess:
            continue
    process.wait()


@pytest.fixture(scope="module", params=[1, 2], ids=["one_rank", "two_ranks"])
def verdict(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    return run_check(tmp_path_factory.mktemp("rwr"), request.param)


def agrees(step: dict[str, Any]) -> bool:
    return (
        step["loss_error"] <= LOSS_TOLERANCE
        and step["nll_error"] <= LOSS_TOLERANCE
        and step["grad_norm_error"] <= GRAD_NORM_TOLERANCE
        and step.get("gradient_error", 0.0) <= GRADIENT_TOLERANCE
        and step["parameter_error"] <= PARAMETER_TOLERANCE
    )


def test_one_step_agrees_for_every_split(verdict):
    steps = verdict["steps"]
    rows_per_rank = -(-steps[0]["rows"] // steps[0]["ranks"])
    settings = {(step["remove_padding"], step["micro_batch"], step["kl_coef"]) for step in steps}
    assert settings == {
        (remove_padding, micro_batch, kl_coef)
        for remove_padding in (False, True)
        for micro_batch in (1, 2, rows_per_rank, "dynamic")
        for kl_coef in (0.0, 0.1)
    }
    assert [step for step in steps if not agrees(step)] == []
    assert all(step["log_prob_error"] <= LOG_PROB_TOLERANCE for step in steps)
    # clipping took part
    assert all(step["grad_norm"] > step["clip"] for step in steps)


def test_penalty_takes_part(verdict):
    """With and without the penalty the reference differs by more than the tolerances: agreement cannot be by chance."""
    without, penalised = (
        next(step for step in verdict["steps"] if step["kl_coef"] == kl_coef) for kl_coef in (0.0, 0.1)
    )
    assert abs(penalised["loss"] / without["loss"] - 1.0) > 10 * LOSS_TOLERANCE
    assert abs(penalised["grad_norm"] / without["grad_norm"] - 1.0) > 10 * GRAD_NORM_TOLERANCE


def test_naive_normalisation_is_found_out(verdict):
    """Negative control: the mean of the micro-batches' own means agrees only where there is a single share."""
    for step in verdict["naive"]:
        single_share = step["micro_batch"] == step["rows"]
        assert agrees(step) == single_share, step
    assert any(step["loss_error"] > 1e-2 and step["grad_norm_error"] > 1e-2 for step in verdict["naive"])


def test_update_of_several_steps_agrees(verdict):
    """``EnvironmentPolicy.update``: batches, epochs, AdamW's moments, both divergences, the cap."""
    # 0.2 on one rank: a later batch is below the cap again, and is left out all the same
    free, capped, _ = verdict["updates"]
    for update in verdict["updates"]:
        assert agrees(update), update
        assert update["updates"] == update["expected_updates"]
        assert update["skipped_by_kl_cap"] == update["expected_skipped"]
        assert update["kl_step_error"] <= 1e-4
        assert update["kl_initial_error"] <= 1e-4
        assert update["kl_step"] > 0.0
    assert free["updates"] == 6 and free["skipped_by_kl_cap"] == 0
    # the cap triggers on the way, not at once
    assert capped["updates"] > 1 and capped["skipped_by_kl_cap"] > 0


def test_weights_of_either_sign_agree(verdict):
    """``genenv.objective=grpo``: what is below its group's mean becomes less likely."""
    step, update = verdict["advantages"]
    assert agrees(step) and agrees(update), verdict["advantages"]
    assert update["updates"] == update["expected_updates"] == 6


def test_update_without_weight_changes_nothing_c16(verdict):
    """Case C16, all weights zero: the update is left out, the parameters are the same bit for bit."""
    assert verdict["zero_weights"] == {"updates": 0, "unchanged": True}
