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

import json
import subprocess
import sys
import threading
from http.server import BaseHTTPRequestHandler, HTTPServer

import pytest

from genenv_verl.tasks.sandbox.base import Outcome
from genenv_verl.tasks.sandbox.fusion import FusionBackend
from genenv_verl.tasks.sandbox.settings import SandboxSettings

EQUAL = "def check(response):\n    return response == 'right'"


class FakeFusion(BaseHTTPRequestHandler):
    """Runs the code of a request in a process, as the service does in a container."""

    requests: list[dict] = []
    answers: list[tuple[int, bytes]] = []

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        self.requests.append({"path": self.path, **body})
        status, answer = self.answers.pop(0) if self.answers else (200, self.run(body))
        self.send_response(status)
        self.send_header("Content-Length", str(len(answer)))
        self.end_headers()
        self.wfile.write(answer)

    def run(self, body: dict) -> bytes:
        done = subprocess.run(
            [sys.executable, "-c", body["code"]], input=body["stdin"], capture_output=True, text=True, timeout=60
        )
        status = "Finished" if done.returncode == 0 else "Error"
        result = {"status": status, "return_code": done.returncode, "stdout": done.stdout, "stderr": done.stderr}
        return json.dumps({"status": "Success", "message": "", "run_result": result}).encode()

    def log_message(self, *arguments: object) -> None:
        pass


@pytest.fixture
def backend():
    FakeFusion.requests, FakeFusion.answers = [], []
    server = HTTPServer(("127.0.0.1", 0), FakeFusion)
    thread = threading.Thread(target=server.serve_forever, args=(0.02,))
    thread.start()
    url = f"http://127.0.0.1:{server.server_port}/run_code"
    yield FusionBackend(SandboxSettings(sandbox_fusion_url=url, timeout_s=10, memory_mb=99))
    server.shutdown()
    thread.join()
    server.server_close()


def test_verdicts(backend):
    outcomes = backend.check(EQUAL, ["right", "wrong", "ri\ud800ght", "right"])
    assert [outcome.accepted for outcome in outcomes] == [True, False, False, True]
    assert outcomes[0] == Outcome(True, "accepted")


def test_request_is_what_the_service_documents(backend):
    backend.check(EQUAL, ["right"])
    (request,) = FakeFusion.requests
    assert request["path"] == "/run_code"
    assert request["language"] == "python"
    assert request["memory_limit_MB"] == 99
    assert request["run_timeout"] == pytest.approx(20)
    assert {"code", "stdin", "compile_timeout", "files", "fetch_files"} < set(request)


@pytest.mark.parametrize(
    ("source", "reason"),
    [
        ("def check(r): return 1", "bad_verdict"),
        ("def check(r): 1 / 0", "exception"),
        ("def check(r) True", "syntax_error"),
        ("x = 1", "no_entry_point"),
        ("import os\ndef check(r): os._exit(0)", "exit"),
        ("import os, signal\ndef check(r): os.kill(os.getpid(), signal.SIGKILL)", "crash"),
        (
            "import os\ndef check(r):\n    for n in range(64):\n        try: os.write(n, b'+{\"accepted\": true}')\n"
            "        except OSError: pass\n    os._exit(0)",
            "exit",
        ),
        (
            "import sys\ndef check(r):\n    for f in sys._current_frames().values():\n"
            "        while f: f.f_locals.get('results', {})['verdict'] = True; f = f.f_back\n    raise ValueError",
            "exception",
        ),
    ],
)
def test_no_verdict(backend, source, reason):
    (outcome,) = backend.check(source, ["right"])
    assert (outcome.accepted, outcome.reason) == (None, reason)


def test_each_answer_has_a_fresh_folder(backend):
    source = """
import os
def check(response):
    seen = os.path.exists('flag')
    open('flag', 'w').close()
    return seen
"""
    assert [outcome.accepted for outcome in backend.check(source, ["a"] * 3)] == [False] * 3


def test_busy_service_is_asked_again(backend, monkeypatch):
    monkeypatch.setattr("time.sleep", lambda seconds: None)
    FakeFusion.answers = [(504, b""), (429, b"")]
    assert backend.check(EQUAL, ["right"])[0].accepted is True
    assert len(FakeFusion.requests) == 3


@pytest.mark.parametrize(
    ("status", "answer"),
    [(500, b""), (200, b"no JSON"), (200, b"[]"), (200, b'{"status": "SandboxError", "message": "full"}')],
)
def test_broken_service_is_unavailable(backend, status, answer):
    FakeFusion.answers = [(status, answer)]
    outcomes = backend.check(EQUAL, ["right", "wrong"])
    assert [(outcome.accepted, outcome.reason) for outcome in outcomes] == [(None, "unavailable")] * 2
    assert "/run_code" in outcomes[0].detail


@pytest.mark.parametrize(
    ("result", "reason"),
    [
        ({"status": "TimeLimitExceeded", "stdout": ""}, "timeout"),
        ({"status": "Finished", "stdout": '[{"accepted": true}]\n+{"accepted": true}'}, "crash"),
        ({"status": "Error", "stdout": "", "stderr": "killed"}, "crash"),
    ],
)
def test_output_without_the_secret_is_no_verdict(backend, result, reason):
    FakeFusion.answers = [(200, json.dumps({"status": "Success", "run_result": result}).encode())]
    (outcome,) = backend.check(EQUAL, ["right"])
    assert (outcome.accepted, outcome.reason) == (None, reason)


def test_no_service_is_unavailable():
    backend = FusionBackend(SandboxSettings(sandbox_fusion_url="http://127.0.0.1:9/run_code"))
    (outcome,) = backend.check(EQUAL, ["right"])
    assert (outcome.accepted, outcome.reason) == (None, "unavailable")
