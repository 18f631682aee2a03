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
"""Real runs of ``python -m verl.trainer.main_ppo`` on a miniature world, each under a time limit."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path

import psutil
import pytest

REPO = Path(__file__).parents[2]
# generous: a run of a minute on an idle machine must not fail on a busy one
LIMIT_SECONDS = int(os.environ.get("GENENV_TEST_LIMIT", "900"))


@pytest.fixture(scope="session")
def world(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two tiny warm-started models and their data; ``GENENV_TEST_WORLD`` names a folder to reuse."""
    given = os.environ.get("GENENV_TEST_WORLD")
    if given and (Path(given) / "environment" / "config.json").exists():
        return Path(given)
    folder = Path(given) if given else tmp_path_factory.mktemp("world")
    command = [sys.executable, str(REPO / "examples/miniworld/build.py"), "--out", str(folder), "--fast"]
    subprocess.run(command, check=True, timeout=LIMIT_SECONDS)
    return folder


@dataclass
class Job:
    """A started run and its log."""

    process: subprocess.Popen
    log: Path
    run: Path

    def text(self) -> str:
        return self.log.read_text(encoding="utf-8", errors="replace")

    def wait(self, limit: float = LIMIT_SECONDS) -> int:
        try:
            return self.process.wait(limit)
        finally:
            self.kill()

    def wait_for(self, text: str, limit: float = LIMIT_SECONDS) -> None:
        """Returns when ``text`` stands in the log."""
        deadline = time.monotonic() + limit
        while text not in self.text():
            if self.process.poll() is not None or time.monotonic() > deadline:
                self.kill()
                pytest.fail(f"{text!r} never came; the log ends with\n{self.text()[-4000:]}")
            time.sleep(0.1)

    def processes(self) -> list[psutil.Process]:
        """Everything that the run has started."""
        return psutil.Process(self.process.pid).children(recursive=True)

    def kill(self) -> None:
        """Kill -9 of everything that the run started, Ray's own daemons among it."""
        end_session(self.process.pid)
        self.process.wait()

    def epochs(self) -> list[dict]:
        file = self.run / "genenv" / "epochs.jsonl"
        return [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines()] if file.exists() else []


def end_session(leader: int) -> None:
    """Kill -9 of all processes of a session: Ray starts its daemons in process groups of their own."""
    for _ in range(3):
        for entry in Path("/proc").iterdir():
            if not entry.name.isdigit():
                continue
            try:
                session = int((entry / "stat").read_text().rsplit(")", 1)[1].split()[3])
            except (FileNotFoundError, ProcessLookupError):
                continue
            if session == leader:
                try:
                    os.kill(int(entry.name), signal.SIGKILL)
                except ProcessLookupError:
                    continue
        time.sleep(0.1)


@pytest.fixture
def start(world: Path, tmp_path: Path):
    """Starts a small run; what is still alive at the end of the test is killed."""
    jobs: list[Job] = []

    def _start(name: str, *overrides: str) -> Job:
        run = tmp_path / name
        run.mkdir(exist_ok=True)
        log = run / f"log_{len(jobs)}.txt"
        environment = {
            **os.environ, "PY": sys.executable, "VERL_PLATFORM": "cpu", "PYTHONUNBUFFERED": "1", "HF_HUB_OFFLINE": "1",
            "RAY_worker_niceness": os.environ.get("RAY_worker_niceness", "0"), "OMP_NUM_THREADS": "1",
        }  # fmt: skip
        command = [
            "bash", str(REPO / "examples/miniworld/train.sh"), str(world), str(run), "data.train_batch_size=8",
            "actor_rollout_ref.actor.ppo_mini_batch_size=8", "actor_rollout_ref.rollout.n=4",
            "genenv.steps_per_epoch=2", "genenv.n_variations=2", "genenv.rwr.batch_size=8",
            "trainer.total_epochs=2", "trainer.test_freq=-1",
            "trainer.val_before_train=false", *overrides,
        ]  # fmt: skip
        with open(log, "w", encoding="utf-8") as file:
            process = subprocess.Popen(
                command, stdout=file, stderr=subprocess.STDOUT, env=environment, start_new_session=True, cwd=tmp_path
            )
        jobs.append(Job(process, log, run))
        return jobs[-1]

    yield _start
    for job in jobs:
        job.kill()
    shutil.rmtree(tmp_path, ignore_errors=True)


@pytest.fixture
def finished(start):
    """Runs to the end and returns the job; a non-zero exit fails the test with the end of the log."""

    def _finished(name: str, *overrides: str) -> Job:
        job = start(name, *overrides)
        status = job.wait()
        assert status == 0, f"exit status {status}; the log ends with\n{job.text()[-6000:]}"
        return job

    return _finished
