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
"""What Sandbox Fusion runs: each answer in a forked child, the verdicts on the last line of the output.

It finds ``sealed`` and ``checker`` as modules made of their texts (``fusion.driver_code``). The first line of the
standard input is a secret: only this process and its children's main threads hold it, and a report without it is not
believed. Isolation is Sandbox Fusion's; from each other the answers are kept apart by fork, fresh directory and process
group.
"""

from __future__ import annotations

import json
import os
import resource
import select
import shutil
import signal
import sys
import tempfile
import time
from typing import Any, NoReturn

from genenv_verl.tasks.sandbox import checker, sealed

_MAX_REPORT_BYTES = 4096


def main() -> None:
    secret = sys.stdin.readline().strip()
    job = json.loads(sys.stdin.read())
    reports = [_judge(job, answer, secret.encode()) for answer in job["answers"]]
    print("\n" + secret + json.dumps(reports), flush=True)


def _judge(job: dict[str, Any], answer: str, secret: bytes) -> str:
    folder = tempfile.mkdtemp()
    read_end, write_end = os.pipe()
    child = os.fork()
    if child == 0:
        _run_child(job, answer, secret, write_end, folder)
    os.close(write_end)
    report = _collect(read_end, time.monotonic() + job["timeout_s"])
    os.close(read_end)
    for kill in (os.killpg, os.kill):
        try:
            kill(child, signal.SIGKILL)
        except ProcessLookupError:
            pass
    _, status = os.waitpid(child, 0)
    shutil.rmtree(folder, ignore_errors=True)
    if report is None:
        return "-timeout"
    if report.startswith(secret):
        return report[len(secret) :].decode("utf-8", "replace")
    return "-crash" if os.WIFSIGNALED(status) else "-exit"


def _collect(read_end: int, deadline: float) -> bytes | None:
    report = b""
    while (left := deadline - time.monotonic()) > 0:
        if select.select([read_end], [], [], left)[0]:
            chunk = os.read(read_end, _MAX_REPORT_BYTES)
            report += chunk
            if not chunk or len(report) > _MAX_REPORT_BYTES:
                return report
    return None


def _run_child(job: dict[str, Any], answer: str, secret: bytes, write_end: int, folder: str) -> NoReturn:
    write, leave = os.write, os._exit  # Foreign code may replace both.
    try:
        os.setsid()
        os.chdir(folder)
        nothing = os.open(os.devnull, os.O_RDWR)
        for descriptor in (0, 1, 2):
            os.dup2(nothing, descriptor)
        seconds = int(job["timeout_s"]) + 2
        resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds))
        steps = checker.steps({"source": job["source"], "answer": answer})
        run = sealed.SealedRun(steps, _nothing, sealed.Sealing())
        report = checker.reply(*run.start(_nothing))
        write(write_end, secret + report)
    finally:
        leave(0)


def _nothing() -> None:
    pass


if __name__ == "__main__":
    main()
