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
"""Does the method do what it claims? Runs of several arms, worlds and seeds in the miniature world, at equal budgets.

    bash examples/miniature/run.sh --out DIR [--world mild hard] [--arm genenv random …] [--seed 0 1 2] [--at-once 1]

Each run is a run of verl's main_ppo (``examples/miniworld/train.sh``) with players of its seed. An interrupted call
continues where it was when it is made again; one with more arms, worlds or seeds adds to the
folder. The tables are ``evidence.py``'s.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

import build
import evidence

from genenv_verl.tasks.prompts import AgentPrompt
from genenv_verl.tasks.records import write_tasks

MINIWORLD = Path(build.__file__).parent

ARMS = {
    "genenv": ["genenv.variant=genenv", "genenv.preset=calibrated"],
    "paper": ["genenv.variant=genenv", "genenv.preset=paper"],
    "random": ["genenv.variant=random"],
    "grpo": ["genenv.variant=grpo"],
}
WORLDS = tuple(build.SEED_CLAUSES)
STEPS_BETWEEN_EXAMS = 8
EXAMS = {"final": build.final_exam_tasks, "practice": build.exam_tasks}
"""Settings are tried on the practice exam; the final one is sat by the published runs only."""


@dataclass(frozen=True)
class Trial:
    """One run: an arm in a world, with the players of a seed."""

    world: str
    arm: str
    seed: int

    def folder(self, out: Path) -> Path:
        return out / "runs" / self.world / f"{self.arm}-{self.seed}"

    def world_folder(self, out: Path) -> Path:
        return out / "worlds" / f"{self.world}-{self.seed}"


def plan(worlds: Sequence[str], arms: Sequence[str], seeds: Sequence[int]) -> list[Trial]:
    """All trials, seed by seed, so that an unfinished study has whole comparisons."""
    return [Trial(world, arm, seed) for seed in seeds for world in worlds for arm in arms]


def prepare_world(trial: Trial, out: Path, exam: str, *, fast: bool) -> None:
    """The trial's folder of players, seeds and exam. The players of a seed are the same in both worlds."""
    players = out / "players" / str(trial.seed)
    if not (players / "build.json").exists():
        command = [sys.executable, str(MINIWORLD / "build.py"), "--out", str(players), "--seed", str(trial.seed)]
        subprocess.run(command + ["--fast"] * fast, check=True)
    folder = trial.world_folder(out)
    for player in ("agent", "environment"):
        shutil.copytree(players / player, folder / player, dirs_exist_ok=True)
    prompt = AgentPrompt(str(build.warm_start.AGENT_TEMPLATE)).messages
    write_tasks(folder / "seeds.parquet", build.seed_tasks(trial.world, trial.seed), prompt=prompt)
    write_tasks(folder / "exam.parquet", EXAMS[exam](), prompt=prompt, split="test")


def command_of(trial: Trial, out: Path, steps: int, overrides: Sequence[str]) -> list[str]:
    """The trial's command line."""
    run = trial.folder(out)
    return [
        "bash", str(MINIWORLD / "train.sh"), str(trial.world_folder(out)), str(run),
        *ARMS[trial.arm], f"genenv.seed={trial.seed}", f"data.seed={trial.seed}",
        f"trainer.total_training_steps={steps}", f"trainer.total_epochs={steps}",
        f"trainer.test_freq={STEPS_BETWEEN_EXAMS}", f"trainer.save_freq={STEPS_BETWEEN_EXAMS}",
        "trainer.max_actor_ckpt_to_keep=1", "trainer.val_before_train=true",
        "actor_rollout_ref.rollout.val_kwargs.n=2", *overrides,
    ]  # fmt: skip


def run_trial(trial: Trial, out: Path, steps: int, overrides: Sequence[str]) -> None:
    """Runs a trial to its end, unless it has reached it."""
    run = trial.folder(out)
    name = f"{trial.world} {trial.arm} {trial.seed}"
    if evidence.steps_done(run) >= steps:
        return
    run.mkdir(parents=True, exist_ok=True)
    began = time.monotonic()
    # two threads a job on two cores are slower than one
    environment = {**os.environ, "PY": sys.executable, "OMP_NUM_THREADS": "1"}
    with open(run / "log.txt", "a") as log:
        ended = subprocess.run(
            command_of(trial, out, steps, overrides), stdout=log, stderr=subprocess.STDOUT, env=environment
        )
    if ended.returncode or evidence.steps_done(run) < steps:
        raise SystemExit(f"{name}: the run ended with status {ended.returncode}, see {run / 'log.txt'}")
    print(f"{name}: {steps} steps in {time.monotonic() - began:.0f} s", flush=True)


def build_report(world: str, out: Path) -> None:
    """The page and the figures of all runs of a world, in ``report/<world>``."""
    runs = sorted(str(run) for run in (out / "runs" / world).glob("*-*"))
    command = [sys.executable, "-m", "genenv_verl", "report", *runs, "--out", str(out / "report" / world)]
    subprocess.run(command, check=True)


def main() -> None:
    parser = argparse.ArgumentParser(description="Compare the variants in the miniature world, at equal budgets.")
    parser.add_argument("--out", type=Path, required=True, help="folder of players, runs and results")
    parser.add_argument("--world", nargs="+", choices=WORLDS, default=WORLDS)
    parser.add_argument("--arm", nargs="+", choices=ARMS, default=list(ARMS))
    parser.add_argument("--seed", nargs="+", type=int, default=[0, 1, 2], help="of players, base data and sampling")
    parser.add_argument("--epochs", type=int, default=12, help="epochs of four agent steps (192 attempts each)")
    parser.add_argument("--exam", choices=EXAMS, default="final", help="use `practice` to try settings")
    parser.add_argument("--at-once", type=int, default=1, help="runs at a time; each needs about 7 GiB")
    parser.add_argument("--fast", action="store_true", help="badly prepared players: for tests of the machinery only")
    parser.add_argument("overrides", nargs="*", help="after --: hydra overrides of all runs")
    arguments = parser.parse_args()
    out, steps = arguments.out.resolve(), 4 * arguments.epochs
    trials = plan(arguments.world, arguments.arm, arguments.seed)
    # one folder of players, seeds and exam serves all arms
    for trial in {(t.world, t.seed): t for t in trials if not t.folder(out).exists()}.values():
        prepare_world(trial, out, arguments.exam, fast=arguments.fast)
    began = time.monotonic()
    with ThreadPoolExecutor(arguments.at_once) as executor:
        runs = [executor.submit(run_trial, trial, out, steps, arguments.overrides) for trial in trials]
        try:
            for done, run in enumerate(runs, start=1):
                run.result()
                left = (time.monotonic() - began) / done * (len(runs) - done)
                print(f"{done} of {len(runs)} runs, about {left / 60:.0f} min left", flush=True)
        except BaseException:
            executor.shutdown(cancel_futures=True)
            raise
    print(evidence.write(out))
    for world in arguments.world:
        build_report(world, out)


if __name__ == "__main__":
    main()
