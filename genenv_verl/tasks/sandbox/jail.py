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
"""A jail: trusted programs that handle foreign code, run by warm processes behind the operating system's walls.

Example:
    >>> with Jail("my_package.judge", Limits(memory_mb=128)) as jail:  # doctest: +SKIP
    ...     jail.call({"text": "…"}, timeout_s=2.0)

The program is a module with ``run(request: dict) -> dict``. Every worker imports it once; every call runs in a forked
child that sees nothing of the calls before it. ``docs/sandbox.md`` describes the walls.
"""

from __future__ import annotations

import json
import os
import queue
import socket
import struct
import subprocess
import sys
import weakref
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Literal

from genenv_verl.tasks.sandbox.frames import MAX_BYTES, read_frame, write_frame

Mode = Literal["namespaces", "landlock", "none"]

ISOLATED: tuple[Mode, ...] = ("namespaces", "landlock")

# Why a call has no reply. The second line is for checkers alone.
REASONS = frozenset(
    ("timeout", "memory", "crash", "exit", "exception", "output_limit", "too_large", "bad_reply", "unavailable")
    + ("syntax_error", "no_entry_point", "bad_verdict")
)

_START_SECONDS = 120.0
_MAX_DETAIL_CHARS = 200
# The worker itself keeps the time; past this much more it is taken for broken.
_GRACE_SECONDS = 5.0
_BOOT = (
    "import sys; sys.path.insert(0, sys.argv[2]); "
    "from genenv_verl.tasks.sandbox.worker import main; main(int(sys.argv[1]))"
)
_PACKAGE_PARENT = str(Path(__file__).resolve().parents[3])
# One arena: others reserve address space, which is limited. One hash seed: a checker says the same in every worker.
# Bound at the start: otherwise every child binds the functions that it calls once more.
_ENVIRONMENT = {
    "LD_BIND_NOW": "1",
    "MALLOC_ARENA_MAX": "1",
    "OPENBLAS_NUM_THREADS": "1",
    "PYTHONHASHSEED": "0",
    "PYTHONIOENCODING": "utf-8:backslashreplace",
    "PYTHONUTF8": "1",
}
# Some interpreters do not start without these; the worker forgets all variables before foreign code runs.
_NEEDED_TO_START = ("LD_LIBRARY_PATH", "PYTHONHOME")

_REMEDY = (
    "Allow unprivileged user namespaces (sysctl user.max_user_namespaces=10000; on Debian "
    "kernel.unprivileged_userns_clone=1, on Ubuntu kernel.apparmor_restrict_unprivileged_userns=0; in Docker "
    "--security-opt seccomp=unconfined), or use a kernel with Landlock (5.13 or newer, in the list "
    "/sys/kernel/security/lsm), or run Sandbox Fusion and set reward.sandbox_fusion.url"
)


class JailUnavailable(RuntimeError):
    """This machine cannot isolate. The message says what is missing and what to do."""


class NoReply(RuntimeError):
    """A call has no reply.

    Attributes:
        reason: One of ``REASONS``.
        detail: For people; may be empty.
    """

    def __init__(self, reason: str, detail: str = "") -> None:
        super().__init__(f"{reason}: {detail}" if detail else reason)
        self.reason = reason
        self.detail = detail


@dataclass(frozen=True, slots=True)
class Limits:
    """What one call may use.

    Attributes:
        memory_mb: Address space beyond that of the idle worker.
        scratch_mb: Size of the scratch directory, and of a file.
        open_files: Open files.
        reply_bytes: Size of the reply.
    """

    memory_mb: int = 256
    scratch_mb: int = 16
    open_files: int = 32
    reply_bytes: int = 1 << 20


class Jail:
    """A pool of warm workers behind walls. Safe to use from several threads, and after a fork.

    Args:
        program: Name of the trusted module.
        limits: What one call may use.
        readable: Paths that the program reads during a call; everything else is out of sight. Modules that are
            imported with the program need not be named.
        workers: Processes, each of which serves one call at a time. All but the first start when they are needed.
        modes: The kinds of walls to try, best first. With ``none`` foreign code may do whatever this user may do.

    Raises:
        JailUnavailable: This machine cannot isolate.
        ImportError: The program cannot be imported.
    """

    def __init__(
        self,
        program: str,
        limits: Limits = Limits(),
        *,
        readable: Sequence[Path] = (),
        workers: int = 1,
        modes: Sequence[Mode] = ISOLATED,
    ) -> None:
        self._setup = {
            "program": program,
            "readable": [os.path.abspath(path) for path in readable],
            "python_path": [os.path.abspath(path) for path in sys.path],
            **asdict(limits),
        }
        self._count = workers
        first = _first_worker(self._setup, modes)
        self.mode = first.mode
        self._fill(first)

    def call(self, request: dict[str, Any], timeout_s: float) -> dict[str, Any]:
        """Runs the program on a request in a fresh child.

        Args:
            request: What JSON can carry.
            timeout_s: Wall-clock limit in seconds; the limit on processor time follows from it.

        Raises:
            NoReply: There is none; the reason says why.
        """
        body = json.dumps(request).encode()
        if len(body) > MAX_BYTES - 8:
            raise NoReply("too_large", f"a request of {len(body)} bytes")
        if os.getpid() != self._owner:
            self._fill(None)  # The workers belong to the process from which this one was forked.
        idle = self._idle
        place = idle.get()
        try:
            report = place.exchange(struct.pack(">d", timeout_s) + body, timeout_s)
        finally:
            idle.put(place)
        return read_report(report)

    def close(self) -> None:
        """Ends the workers. Calls in progress have no reply."""
        self._end()

    def pids(self) -> list[int]:
        """The process ids of the workers that run."""
        return [place.worker.pid for place in self._places if place.worker is not None]

    def __enter__(self) -> Jail:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()

    def _fill(self, first: _Worker | None) -> None:
        self._owner = os.getpid()
        self._places = places = [_Place(self._setup, self.mode) for _ in range(self._count)]
        places[-1].worker = first
        self._idle: queue.LifoQueue[_Place] = queue.LifoQueue()
        for place in places:
            self._idle.put(place)
        self._end = weakref.finalize(self, _end_all, places, self._owner)


def _end_all(places: list[_Place], owner: int) -> None:
    if os.getpid() == owner:
        for place in places:
            place.close()


class _Place:
    """The place of one worker, which is started when it is needed and replaced when it is lost."""

    def __init__(self, setup: dict[str, Any], mode: Mode) -> None:
        self._setup = setup
        self._mode = mode
        self._closed = False
        self.worker: _Worker | None = None

    def exchange(self, frame: bytes, timeout_s: float) -> bytes:
        """Has a request answered.

        Raises:
            NoReply: Two workers were lost over it, or the jail is closed.
        """
        lost = None
        # A worker may have been killed while it was idle, so the request gets a second one.
        for _ in range(2):
            if self._closed:
                raise NoReply("unavailable", "the jail is closed")
            try:
                self.worker = self.worker or _Worker(self._setup, self._mode)
                return self.worker.exchange(frame, timeout_s)
            except OSError as error:
                lost = error
                self._end()
        raise NoReply("crash", f"the worker was lost: {lost}")

    def close(self) -> None:
        self._closed = True
        self._end()

    def _end(self) -> None:
        worker, self.worker = self.worker, None
        if worker is not None:
            worker.kill()


class _Worker:
    """One process in the jail, seen from outside.

    Raises:
        OSError: It cannot be started, or does not get behind its walls; the message says why.
        ImportError: It cannot import the program.
    """

    def __init__(self, setup: dict[str, Any], mode: Mode) -> None:
        self.mode = mode
        self._channel, inner = socket.socketpair()
        with inner:
            command = [sys.executable, "-B", "-s", "-S", "-c", _BOOT, str(inner.fileno()), _PACKAGE_PARENT]
            self._process = subprocess.Popen(
                command,
                env=_ENVIRONMENT | {name: os.environ[name] for name in _NEEDED_TO_START if name in os.environ},
                cwd="/",
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                pass_fds=[inner.fileno()],
                start_new_session=True,
            )
        self.pid = self._process.pid
        try:
            self._expect_ready(self._exchange(json.dumps({**setup, "mode": mode}).encode(), _START_SECONDS).decode())
        except (OSError, ImportError):
            self.kill()
            raise

    def exchange(self, frame: bytes, timeout_s: float) -> bytes:
        """Has a request answered.

        Raises:
            OSError: The worker is gone, or does not keep its time.
        """
        return self._exchange(frame, timeout_s + _GRACE_SECONDS)

    def kill(self) -> None:
        """Ends it at once, and with it whatever it has started."""
        self._channel.close()
        self._process.kill()
        self._process.wait()

    def _exchange(self, frame: bytes, timeout_s: float) -> bytes:
        self._channel.settimeout(timeout_s)
        write_frame(self._channel, frame)
        if (reply := read_frame(self._channel)) is None:
            raise OSError("it ended")
        return reply

    def _expect_ready(self, reply: str) -> None:
        if reply.startswith("-program "):
            raise ImportError(reply.removeprefix("-program "))
        if reply != "+ready":
            raise OSError(reply.removeprefix("-"))


def _first_worker(setup: dict[str, Any], modes: Sequence[Mode]) -> _Worker:
    refusals = []
    for mode in modes:
        try:
            return _Worker(setup, mode)
        except OSError as error:
            refusals.append(f"{mode}: {error}")
    raise JailUnavailable(f"foreign code cannot be isolated on this machine ({'; '.join(refusals)}). {_REMEDY}")


def read_report(report: bytes) -> dict[str, Any]:
    """The reply in a report: ``+`` and JSON, or ``-`` and a reason.

    Raises:
        NoReply: There is none.
    """
    kind, text = report[:1], report[1:].decode("utf-8", "replace")
    if kind != b"+":
        reason, _, detail = text.partition(" ")
        # Foreign code has a hand in both: a class may have any name.
        detail = "".join(character if character.isprintable() else "?" for character in detail[:_MAX_DETAIL_CHARS])
        raise NoReply(reason if kind == b"-" and reason in REASONS else "crash", detail)
    try:
        reply = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise NoReply("bad_reply", str(error)) from None
    if not isinstance(reply, dict):
        raise NoReply("bad_reply", f"{type(reply).__name__} instead of an object")
    return reply
