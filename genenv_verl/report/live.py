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
"""Serves a report on this machine and keeps it up to date while its runs go on."""

from __future__ import annotations

import threading
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import urlsplit

from genenv_verl.report.build import ReportBuilder

POLL_SECONDS = 2.0


class LiveReport:
    """A report behind a local server.

    It answers GET and HEAD for the page, its state and its task parts by their names; nothing else can be asked for, so
    no path leads out of the report. Requests under a foreign host name are refused (DNS rebinding).

    Args:
        builder: The report, made for live use.
        port: Port on 127.0.0.1; 0 takes a free one.

    Raises:
        OSError: The port is taken.
    """

    def __init__(self, builder: ReportBuilder, port: int = 0):
        self.builder = builder
        self._server = ThreadingHTTPServer(("127.0.0.1", port), _handler(self))
        self._server.daemon_threads = True

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._server.server_address[1]}/"

    def update(self) -> bool:
        """Builds the report again if a run has gone on; whether it did."""
        if self.builder.state() == self.builder.version:
            return False
        self.builder.build()
        return True

    def start(self) -> None:
        """Answers requests from now on, in a thread of its own."""
        threading.Thread(target=self._server.serve_forever, daemon=True).start()

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()

    def follow(self, say: Callable[[str], None], stop: threading.Event) -> None:
        """Keeps the report up to date until ``stop`` is set. A run that vanishes is said, and waited for."""
        while not stop.wait(POLL_SECONDS):
            try:
                if self.update():
                    say("updated")
            except OSError as error:
                say(f"not updated: {error}")

    def answer(self, path: str) -> tuple[str, bytes] | None:
        """Content type and body for a request's path, or ``None``."""
        if path in ("/", "/index.html"):
            return "text/html; charset=utf-8", (self.builder.out / "index.html").read_bytes()
        if path == "/version":
            return "text/plain; charset=utf-8", self.builder.version.encode()
        name = path.removeprefix("/tasks/")
        if path.startswith("/tasks/") and name in self.builder.parts.files:
            return "text/javascript; charset=utf-8", (self.builder.parts.folder / name).read_bytes()
        return None


def _handler(live: LiveReport) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        """GET and HEAD; http.server answers every other method with 501."""

        timeout = 30  # seconds for a client to say what it wants

        def do_GET(self) -> None:
            self._respond(with_body=True)

        def do_HEAD(self) -> None:
            self._respond(with_body=False)

        def _respond(self, with_body: bool) -> None:
            host = self.headers.get("Host", "").rpartition(":")[0] or self.headers.get("Host", "")
            if host not in ("127.0.0.1", "localhost"):
                self.send_error(403, "only 127.0.0.1 and localhost are served")
                return
            try:
                answer = live.answer(urlsplit(self.path).path)
            except (OSError, ValueError):
                answer = None
            if answer is None:
                self.send_error(404)
                return
            content_type, body = answer
            self.send_response(200)
            self.send_header("Content-Type", content_type)
            self.send_header("Content-Length", str(len(body)))
            self.send_header("Cache-Control", "no-store")
            self.send_header("X-Content-Type-Options", "nosniff")
            # a page of another site must not read the tasks by loading them as its scripts, nor frame the report
            self.send_header("Cross-Origin-Resource-Policy", "same-origin")
            self.send_header("X-Frame-Options", "DENY")
            self.end_headers()
            if with_body:
                self.wfile.write(body)

        def log_message(self, *arguments: object) -> None:
            """Silent: a page that asks every two seconds would fill the terminal."""

    return Handler
