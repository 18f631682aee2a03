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
"""What a jail must prevent, tried out in it before it is used: a jail that lets any of it happen is refused."""

from __future__ import annotations

import _socket
import os
import signal
import sys
from collections.abc import Callable
from typing import Any


def run(request: dict[str, Any]) -> dict[str, Any]:
    """Tries everything. ``request`` is not read; the reply names what succeeded."""
    return {"succeeded": [name for name, attempt in _ATTEMPTS.items() if _succeeds(attempt)]}


def _succeeds(attempt: Callable[[], Any]) -> bool:
    try:
        attempt()
    except OSError:
        return False
    return True


def _fork() -> None:
    if os.fork() == 0:
        os._exit(0)


_ATTEMPTS: dict[str, Callable[[], Any]] = {
    "reading /etc/passwd": lambda: open("/etc/passwd", "rb").close(),
    "listing /etc": lambda: os.listdir("/etc"),
    "listing /proc": lambda: os.listdir("/proc"),
    "reading Python's own files": lambda: open(os.__file__, "rb").close(),
    "running the interpreter": lambda: os.execv(sys.executable, [sys.executable, "-c", "pass"]),
    "opening a socket": lambda: _socket.socket(_socket.AF_INET, _socket.SOCK_STREAM).close(),
    "opening a local socket": lambda: _socket.socketpair(),
    "starting a process": _fork,
    "signalling the parent": lambda: os.kill(os.getppid(), 0),
    "signalling itself": lambda: os.kill(os.getpid(), signal.SIGCONT),
    "writing to /var/tmp": lambda: open("/var/tmp/genenv_verl_probe", "wb").close(),
    "writing to the report": lambda: os.write(3, b"+"),
}
