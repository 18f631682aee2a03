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
"""The process in the jail: it loads a trusted program once, goes behind its walls, and forks a child for every call.

``jail.Jail`` starts it as ``python -c … main(descriptor)`` and talks with it over one socket, in frames: four bytes of
length, then the body. The first frame to it is the ``Setup`` as JSON, the first from it says ``ready`` or why not. Then
a request is eight bytes of time limit (seconds) and JSON; a reply begins with ``+`` (JSON follows) or ``-`` (a reason,
and after a blank what is behind it).

The process is kept small, because each call copies its page tables: modules of the standard library that pull in many
others are avoided here.
"""

from __future__ import annotations

import _socket
import _thread
import fcntl
import gc
import importlib
import json
import os
import resource
import select
import signal
import struct
import sys
import time
from collections.abc import Callable, Sequence
from types import ModuleType
from typing import Any, NoReturn

from genenv_verl.tasks.sandbox import probe, syscalls
from genenv_verl.tasks.sandbox.frames import read_frame, write_frame
from genenv_verl.tasks.sandbox.isolation import REPORT, Isolation, as_hard_limit, isolation, limit_resources
from genenv_verl.tasks.sandbox.sealed import SealedRun, Sealing, Step

# Makes a report of the results of steps and of what was raised. Foreign code has run: see ``sealed``.
Reply = Callable[[dict[str, Any], bytes], bytes]

_PAGE = os.sysconf("SC_PAGE_SIZE")
_PROBE_SECONDS = 60.0
_STACK_BYTES = 8 << 20  # Of a thread. The usual one: a user's own limit may be larger than all memory of a call.
_INTERPRETER_BYTES = 32 << 20  # A thread's stack, and room for the interpreter itself.


def main(descriptor: int) -> None:
    """Serves calls until the other end of the socket is closed."""
    channel = _socket.socket(fileno=fcntl.fcntl(descriptor, fcntl.F_DUPFD_CLOEXEC, REPORT + 1))
    os.close(descriptor)
    os.dup2(0, REPORT)  # Taken, so that nothing else gets this number before a child does.
    _thread.stack_size(_STACK_BYTES)
    setup = json.loads(read_frame(channel) or b"{}")
    sys.path[:] = setup["python_path"]
    try:
        program = importlib.import_module(setup["program"])
    except Exception as error:  # Whatever an import raises.
        write_frame(channel, f"-program {setup['program']} cannot be imported: {error!r}".encode())
        return
    idle_bytes = _address_space()
    try:
        walls = isolation(setup["mode"])
        walls.enter(setup["readable"], setup["scratch_mb"])
        syscalls.forget()
        _forget()
        limit_resources(
            memory_bytes=idle_bytes + _INTERPRETER_BYTES + (setup["memory_mb"] << 20),
            file_bytes=setup["scratch_mb"] << 20,
            open_files=setup["open_files"],
        )
        worker = _Worker(channel, walls, setup["reply_bytes"])
        if setup["mode"] != "none":
            worker.check_walls()
    except OSError as error:
        write_frame(channel, f"-{error.strerror or error}".encode())
        return
    write_frame(channel, b"+ready")
    worker.serve(program)


def _forget() -> None:
    """Takes from reach what foreign code should not meet. The walls do not depend on it."""
    os.environ.clear()
    sys.argv[:] = [""]
    sys.path.clear()
    sys.path_importer_cache.clear()
    for name in [*sys.modules]:
        if name in {"ctypes", "_ctypes", "genenv_verl"} or name.startswith(("ctypes.", "genenv_verl.")):
            del sys.modules[name]


class _Worker:
    """Forks a child for every call, which runs the program and reports.

    Args:
        channel: The socket to the jail's owner.
        walls: Already entered.
        reply_bytes: Limit on a report.
    """

    def __init__(self, channel: _socket.socket, walls: Isolation, reply_bytes: int) -> None:
        self._channel = channel
        self._walls = walls
        self._reply_bytes = reply_bytes
        self._owner = os.getppid()
        self._sealing = Sealing()
        gc.collect()
        gc.freeze()

    def check_walls(self) -> None:
        """Tries what the walls must prevent.

        Raises:
            OSError: They do not prevent all of it.
        """
        reply = self._call(probe, b"{}", _PROBE_SECONDS)
        if reply != b'+{"succeeded": []}':
            raise OSError(f"the walls do not hold: {reply.decode()}")

    def serve(self, program: ModuleType) -> None:
        """Answers requests until the owner is gone."""
        while self._wait() and (request := read_frame(self._channel)) is not None:
            (seconds,) = struct.unpack_from(">d", request)
            write_frame(self._channel, self._call(program, request[8:], seconds))

    def _wait(self) -> bool:
        """Waits for a request; false if the owner is gone. Its end of the socket may live on in a process it forked."""
        while not select.select([self._channel], [], [], 1.0)[0]:
            if os.getppid() != self._owner:
                return False
        return True

    def _call(self, program: ModuleType, request: bytes, seconds: float) -> bytes:
        self._walls.fresh_scratch()
        # Prepared before the fork: a child pays for every page of memory that it is the first to write to.
        steps, reply = _parts_of(program)
        gate = _thread.allocate_lock()
        gate.acquire()
        run = SealedRun(steps(json.loads(request)), self._enter(gate), self._sealing)
        # Sockets, and no pipe: a pipe can be opened anew by its name in /proc.
        reader, writer = _socket.socketpair()
        child = os.fork()
        if child == 0:
            self._run_child(run, gate, reply, writer.fileno())
        writer.close()
        resource.prlimit(child, resource.RLIMIT_CPU, as_hard_limit(resource.RLIMIT_CPU, int(seconds) + 2))
        deadline = time.monotonic() + seconds
        report = self._collect(reader, deadline)
        if report == b"":
            report = _cause_of_death(child, deadline)
        reader.close()
        self._walls.end_call(child)
        return report

    def _collect(self, reader: _socket.socket, deadline: float) -> bytes:
        """What the child reports until it closes its end, or why not; empty if it said nothing."""
        report = bytearray()
        poll = select.poll()
        poll.register(reader, select.POLLIN)
        poll.register(self._channel, select.POLLRDHUP)
        while (left := deadline - time.monotonic()) > 0:
            for descriptor, _ in poll.poll(1000 * min(left, 1.0)):
                if descriptor != reader.fileno():
                    os._exit(0)  # Nobody waits for the reply any more.
                chunk = reader.recv(65536)
                if not chunk:
                    return bytes(report)
                report += chunk
                if len(report) > self._reply_bytes:
                    return b"-output_limit"
            if os.getppid() != self._owner:
                os._exit(0)
        return b"-timeout"

    def _enter(self, gate: _thread.LockType) -> Callable[[], None]:
        """What the thread of the foreign code does first: it waits for the main thread, and is sealed."""
        seal = self._walls.seals[True]

        def enter() -> None:
            gate.acquire()
            seal()

        return enter

    def _run_child(self, run: SealedRun, gate: _thread.LockType, reply: Reply, descriptor: int) -> NoReturn:
        write, leave, report_to = os.write, os._exit, REPORT  # Foreign code may replace all of them.

        def started() -> None:
            resource.setrlimit(resource.RLIMIT_NPROC, (0, 0))
            self._walls.seals[False]()
            gate.release()

        try:
            os.dup2(descriptor, REPORT)
            os.closerange(REPORT + 1, 1 << 16)
            os.setsid()
            report = reply(*run.start(started))
            while report:
                report = report[write(report_to, report) :]
        finally:
            leave(0)


def _parts_of(program: ModuleType) -> tuple[Callable[[dict[str, Any]], Sequence[Step]], Reply]:
    """What a program runs for a request, and how it reports what came of it.

    A program has ``steps`` and ``reply``, as ``checker`` has, or is one function ``run(request) -> reply``.
    """
    if hasattr(program, "steps"):
        return program.steps, program.reply

    def steps(request: dict[str, Any]) -> Sequence[Step]:
        return [("reply", lambda: json.dumps(program.run(request)).encode(), ())]

    def reply(results: dict[str, Any], raised: bytes, class_of: Any = type, bytes: type = bytes) -> bytes:
        value = results.get("reply")
        if class_of(value) is bytes:
            return b"+" + value
        if raised == b"MemoryError":
            return b"-memory"
        return b"-exception " + raised if raised else b"-exit"

    return steps, reply


def _cause_of_death(child: int, deadline: float) -> bytes:
    """Why a child ended without a report."""
    while (ended := os.waitid(os.P_PID, child, os.WEXITED | os.WNOHANG | os.WNOWAIT)) is None:
        if time.monotonic() > deadline:
            return b"-timeout"
        time.sleep(0.001)
    if ended.si_code == os.CLD_EXITED:
        return b"-exit"
    if ended.si_status == signal.SIGXCPU:
        return b"-timeout"
    if ended.si_status == signal.SIGKILL:
        return b"-memory killed by the kernel"
    return b"-crash " + signal.strsignal(ended.si_status).encode()


def _address_space() -> int:
    """Bytes of this process's address space."""
    with open("/proc/self/statm", encoding="ascii") as file:
        return int(file.read().split()[0]) * _PAGE
