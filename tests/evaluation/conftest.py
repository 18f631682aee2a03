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
"""An OpenAI-compatible server that fails in the ways real ones do."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest


@dataclass
class Reply:
    """What the server sends. ``promised`` bytes of ``body`` are announced, and ``hang_s`` seconds pass before it."""

    body: bytes = b""
    status: int = 200
    headers: dict[str, str] = field(default_factory=dict)
    promised: int | None = None
    hang_s: float = 0.0
    repeat: int = 1


def completion(text: str | None, **fields: Any) -> Reply:
    choice = {"index": 0, "message": {"role": "assistant", "content": text}, "finish_reason": "stop"}
    usage = {"prompt_tokens": 10, "completion_tokens": 5}
    return Reply(json.dumps({"model": "fake", "choices": [choice], "usage": usage} | fields).encode())


class FakeServer:
    """Answers ``POST`` with ``reply(body, number)``, number counting from 1, and lists one model."""

    def __init__(self, reply: Callable[[dict, int], Reply]):
        self.reply = reply
        self.models: list[dict[str, Any]] | None = [{"id": "fake"}]
        self.posts: list[tuple[str, dict, dict[str, str], float]] = []
        self.gets = 0
        self.most_at_once = 0
        self._at_once = 0
        self._lock = threading.Lock()
        self._stop = threading.Event()
        self._http = ThreadingHTTPServer(("127.0.0.1", 0), self._handler())
        self._http.daemon_threads = True
        self._http.handle_error = lambda *_: None  # clients that have gone
        threading.Thread(target=self._http.serve_forever, args=(0.02,), daemon=True).start()
        self.root = f"http://127.0.0.1:{self._http.server_port}"
        self.url = f"{self.root}/v1"

    @property
    def bodies(self) -> list[dict]:
        return [body for _, body, _, _ in self.posts]

    def close(self) -> None:
        self._stop.set()
        self._http.shutdown()
        self._http.server_close()

    def _handler(self) -> type[BaseHTTPRequestHandler]:
        server = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def log_message(self, *_: object) -> None:
                pass

            def do_GET(self) -> None:
                server.gets += 1
                if server.models is None:
                    self._send(Reply(b"not found", status=404))
                else:
                    self._send(Reply(json.dumps({"data": server.models}).encode()))

            def do_POST(self) -> None:
                body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                with server._lock:
                    server.posts.append((self.path, body, dict(self.headers), time.monotonic()))
                    number = len(server.posts)
                    server._at_once += 1
                    server.most_at_once = max(server.most_at_once, server._at_once)
                try:
                    self._send(server.reply(body, number))
                finally:
                    with server._lock:
                        server._at_once -= 1

            def _send(self, reply: Reply) -> None:
                server._stop.wait(reply.hang_s)
                try:
                    self.send_response(reply.status)
                    for name, value in reply.headers.items():
                        self.send_header(name, value)
                    self.send_header("Content-Length", str(reply.promised or len(reply.body) * reply.repeat))
                    self.end_headers()
                    for _ in range(reply.repeat):
                        self.wfile.write(reply.body)
                except OSError:
                    pass  # the client has gone
                if reply.promised:
                    self.close_connection = True

        return Handler


@pytest.fixture
def serve():
    """Starts fake servers: ``serve(reply)``; they end with the test."""
    servers: list[FakeServer] = []

    def start(reply: Callable[[dict, int], Reply]) -> FakeServer:
        servers.append(FakeServer(reply))
        return servers[-1]

    start.completion = completion
    start.Reply = Reply
    yield start
    for server in servers:
        server.close()


@pytest.fixture
def bamboogle(tmp_path):
    """A release of Bamboogle with twelve questions: the folder to be given as ``--data``."""
    folder = tmp_path / "data" / "bamboogle"
    folder.mkdir(parents=True)
    questions = [{"Question": f"What is the name of number {n}?", "Answer": f"Name{n}"} for n in range(12)]
    (folder / "data.json").write_text(json.dumps(questions))
    return folder.parent
