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

import http.client
import json
import threading

import pytest

from genenv_verl.report import build, live
from genenv_verl.report.build import ReportBuilder
from genenv_verl.report.live import LiveReport


@pytest.fixture
def run(make_run, lines):
    return make_run(epochs=[lines.epoch(0)], tasks={0: [lines.task(0)]})


@pytest.fixture
def served(run, tmp_path, monkeypatch):
    """A live report without figures: they are tested elsewhere and take seconds."""
    monkeypatch.setattr(build, "run_panels", lambda *_: [])
    report = LiveReport(ReportBuilder([run], tmp_path / "out", live=True))
    assert report.update()
    report.start()
    yield report
    report.close()


def ask(report: LiveReport, path: str, method: str = "GET", host: str | None = None) -> tuple[int, bytes]:
    port = int(report.url.rstrip("/").rpartition(":")[2])
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=20)
    connection.putrequest(method, path, skip_host=True)
    connection.putheader("Host", host or f"127.0.0.1:{port}")
    connection.endheaders()
    response = connection.getresponse()
    return response.status, response.read()


def test_it_serves_the_page_its_version_and_its_parts(served):
    assert ask(served, "/")[1].startswith(b"<!DOCTYPE html>")
    assert ask(served, "/version?x=1") == (200, served.builder.version.encode())
    status, part = ask(served, "/tasks/r0-e0.js")
    assert status == 200 and part.startswith(b'genenvPart("r0-e0",')
    assert ask(served, "/", method="HEAD") == (200, b"")


@pytest.mark.parametrize(
    "path",
    ["/../run/genenv/epochs.jsonl", "/tasks/../index.html", "/tasks/%2e%2e/index.html", "//etc/passwd", "/tasks/",
     "/tasks/r0-e1.js", "/tasks/r0-e0.js/", "/figures/run1_cost.svg", "/etc/passwd", "http://[/", "/index.html\x00"],
)  # fmt: skip
def test_nothing_else_can_be_asked_for(served, path):
    if "\x00" in path:
        assert served.answer(path) is None
    else:
        assert ask(served, path)[0] in (400, 404)


@pytest.mark.parametrize("method", ["POST", "PUT", "DELETE", "OPTIONS", "PATCH"])
def test_only_get_and_head_are_answered(served, method):
    assert ask(served, "/", method=method)[0] == 501


def test_a_foreign_host_name_is_refused(served):
    assert ask(served, "/", host="evil.example:80")[0] == 403
    assert ask(served, "/", host="localhost")[0] == 200


def test_it_builds_again_when_a_run_has_gone_on_and_only_then(served, run, lines):
    first = served.builder.version
    assert not served.update()
    with open(run / "genenv" / "epochs.jsonl", "a") as file:
        file.write(json.dumps(lines.epoch(1)) + "\n")
    (run / "genenv" / "tasks" / "epoch_0001.jsonl").write_text(json.dumps(lines.task(1, 1)) + "\n")
    assert served.update()
    assert served.builder.version != first
    assert ask(served, "/tasks/r0-e1.js")[0] == 200


def test_a_run_that_vanishes_is_said_and_waited_for(served, run, monkeypatch):
    monkeypatch.setattr(live, "POLL_SECONDS", 0.01)
    run.rename(run.with_name("moved"))
    said: list[str] = []
    stop = threading.Event()

    def say(what: str) -> None:
        said.append(what)
        stop.set()

    served.follow(say, stop)
    assert "not updated" in said[0] and "no run in it" in said[0]
    assert ask(served, "/")[0] == 200
