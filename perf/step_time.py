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
"""Start-up and seconds an agent step under stock verl and under genenv, with one set of models, batch and machine.

    python perf/step_time.py WORLD OUT [--steps 12]

WORLD is a folder made by ``examples/miniworld/build.py``. Three runs of ``main_ppo``, one after the other, with batches
of one size: verl's own ``sync`` trainer, ``genenv.variant=grpo`` and ``genenv.variant=random``. Compared are verl's own
timings of the agent's phases (rollout, log-probs, advantage, update, weight sync), two steps of each being a warm-up,
and the time until verl says that it is ready; ``random`` has a second model with servers of its own.
"""

from __future__ import annotations

import argparse
import os
import re
import statistics
import subprocess
import sys
import time
from pathlib import Path

TRAIN = Path(__file__).parents[1] / "examples" / "miniworld" / "train.sh"
KINDS = {
    "stock verl (sync)": ["trainer.v1.trainer_mode=sync", "genenv.variant=grpo"],
    "genenv, variant grpo": ["genenv.variant=grpo"],
    "genenv, variant random": ["genenv.variant=random"],
}


PHASES = ("gen", "old_log_prob", "adv", "update_actor", "update_weights")


def run_seconds(world: Path, run: Path, steps: int, overrides: list[str]) -> tuple[float, list[float]]:
    """Runs one kind.

    Returns:
        Seconds from the command to verl's ``ready to fit``; and of each step but the first two, the sum of verl's
        ``timing_s/gen`` … ``timing_s/update_weights``.
    """
    environment = {**os.environ, "PY": sys.executable, "VERL_PLATFORM": "cpu"}
    command = ["bash", str(TRAIN), str(world), str(run), "trainer.val_before_train=false", "trainer.test_freq=-1"]
    command += [f"trainer.total_training_steps={steps}", "trainer.total_epochs=1000", "trainer.save_freq=-1"]
    run.mkdir(parents=True)
    began, ready, totals = time.monotonic(), None, []
    with subprocess.Popen(
        [*command, *overrides], env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    ) as process:
        for line in process.stdout:
            if ready is None and "ready to fit" in line:
                ready = time.monotonic() - began
            if "timing_s/step:" in line:
                found = {phase: re.search(rf"timing_s/{phase}:([0-9.e-]+)", line) for phase in PHASES}
                totals.append(sum(float(match[1]) for match in found.values() if match))
    if process.returncode or ready is None:
        raise SystemExit(f"{run}: ended with status {process.returncode}")
    return ready, totals[2:]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("world", type=Path)
    parser.add_argument("out", type=Path)
    parser.add_argument("--steps", type=int, default=12)
    arguments = parser.parse_args()
    start_ups, medians = {}, {}
    for number, (kind, overrides) in enumerate(KINDS.items()):
        start_ups[kind], seconds = run_seconds(arguments.world, arguments.out / str(number), arguments.steps, overrides)
        medians[kind] = statistics.median(seconds)
        print(
            f"{kind:24} start-up {start_ups[kind]:.0f} s, median {medians[kind]:.2f} s a step "
            f"(min {min(seconds):.2f}, max {max(seconds):.2f})",
            flush=True,
        )
    stock = next(iter(KINDS))
    for kind in KINDS:
        print(
            f"{kind:24} {medians[kind] / medians[stock]:.3f} x stock a step, "
            f"{start_ups[kind] / start_ups[stock]:.2f} x in start-up"
        )


if __name__ == "__main__":
    main()
