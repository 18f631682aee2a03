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
"""``python -m genenv_verl.evaluation.guard GRACE_S COMMAND…``: a command that ends with the process that started it.

Whoever starts the guard keeps its standard input open. When that closes, because the other side wants it so or was
killed, even by SIGKILL, the guard asks its process group to end, the command and all that it started, and ends it by
force after a grace period in seconds.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time


def main(grace_s: float, command: list[str]) -> int:
    """Runs the command and returns its exit status. The guard has to lead a process group of its own."""
    if os.getpgid(0) != os.getpid():
        raise SystemExit("genenv: the guard has to be started in a session of its own")
    signal.signal(signal.SIGTERM, lambda *_: None)  # its own signal to the group must not end it before the others
    child = subprocess.Popen(command, stdin=subprocess.DEVNULL)
    threading.Thread(target=_end_with_parent, args=(child, grace_s), daemon=True).start()
    status = child.wait()
    _kill_group()
    return status


def _end_with_parent(child: subprocess.Popen[bytes], grace_s: float) -> None:
    while os.read(sys.stdin.fileno(), 4096):
        pass
    os.killpg(0, signal.SIGTERM)
    deadline = time.monotonic() + grace_s
    while child.poll() is None and time.monotonic() < deadline:
        time.sleep(0.1)
    _kill_group()


def _kill_group() -> None:
    """Ends what is left of the group, this process included."""
    os.killpg(0, signal.SIGKILL)


if __name__ == "__main__":
    sys.exit(main(float(sys.argv[1]), sys.argv[2:]))
