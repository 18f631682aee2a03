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
"""The walls around foreign code: which the machine offers, and how a process is put behind them.

A worker goes behind its walls once (``enter``) and has no privileges from then on; the child that it forks for a call
inherits them, and puts a seccomp filter over each of its threads (``seals``) once it has them all.
"""

from __future__ import annotations

import contextlib
import os
import resource
import signal
import time
from collections.abc import Callable, Sequence
from typing import Literal, Protocol

from genenv_verl.tasks.sandbox import landlock, syscalls
from genenv_verl.tasks.sandbox.seccomp import filter_program

Mode = Literal["namespaces", "landlock", "none"]

NOBODY = 65534
SCRATCH = "/jail"
_SCRATCH_FILES = 256  # Few: Landlock walks up a deep tree at each step, so emptying one is quadratic work.
REPORT = 3  # The file descriptor on which a child reports.
_ROOT = "/sys"  # Any folder that exists everywhere and holds nothing that a jail needs: the jail's root is built there.
_NAMESPACES = (
    syscalls.CLONE_NEWNS
    | syscalls.CLONE_NEWPID
    | syscalls.CLONE_NEWNET
    | syscalls.CLONE_NEWIPC
    | syscalls.CLONE_NEWUTS
    | syscalls.CLONE_NEWCGROUP
)


class Isolation(Protocol):
    """How a process is put behind walls.

    Attributes:
        name: The mode.
        seals: Functions that leave the thread that calls them the system calls of plain computing, for a thread of the
            harness (False) and for one of foreign code (True), which must not write to ``REPORT`` either.
    """

    name: str
    seals: dict[bool, Callable[[], None]]

    def enter(self, readable: Sequence[str], scratch_mb: int) -> None:
        """Puts this process behind its walls; it may go on as a child of the one that was called.

        Raises:
            OSError: The machine refuses it; the message says what.
        """

    def fresh_scratch(self) -> None:
        """Empties the scratch directory and goes there."""

    def end_call(self, child: int) -> None:
        """Kills the child and whatever it has started, and waits for all of it."""


class Namespaces:
    """Own users, mounts, processes, network, IPC and host name; an empty root; Landlock where there is one; seccomp."""

    name = "namespaces"

    def enter(self, readable: Sequence[str], scratch_mb: int) -> None:
        self.seals = _seals()
        syscalls.prctl(syscalls.PR_SET_NO_NEW_PRIVS, 1)
        is_built = False
        if os.geteuid() == 0:
            # Root may read what nobody may not, so it builds the tree before it becomes nobody, if it can.
            with contextlib.suppress(PermissionError):
                syscalls.unshare(syscalls.CLONE_NEWNS)
                _build_root(readable)
                is_built = True
            _become_nobody()
        _new_user(_NAMESPACES)
        _continue_in_child()
        if not is_built:
            _build_root(readable)
        flags = syscalls.MS_NOSUID | syscalls.MS_NODEV | syscalls.MS_NOEXEC
        options = f"size={scratch_mb}m,nr_inodes={_SCRATCH_FILES},mode=700"
        syscalls.mount("scratch", _ROOT + SCRATCH, "tmpfs", flags, options)
        _move_to_root()
        if landlock.version():
            # Everything but the scratch directory is mounted read-only.
            landlock.restrict(landlock.ruleset([("/", landlock.SCRATCH)]))
        syscalls.drop_capabilities()

    def fresh_scratch(self) -> None:
        os.chdir(SCRATCH)
        if os.listdir():
            empty_directory()

    def end_call(self, child: int) -> None:
        # As the first process of its namespace this one may kill all others at once; forks in progress fail.
        _ignore_missing(os.kill, -1, signal.SIGKILL)
        _reap_all()


class Landlock:
    """For containers without namespaces: Landlock on files, seccomp on everything else. There is nowhere to write."""

    name = "landlock"

    def enter(self, readable: Sequence[str], scratch_mb: int) -> None:
        self.seals = _seals()
        rules = landlock.ruleset((path, landlock.READ) for path in readable)
        syscalls.prctl(syscalls.PR_SET_NO_NEW_PRIVS, 1)
        if os.geteuid() == 0:
            _become_nobody()
        os.chdir("/")
        landlock.restrict(rules)
        syscalls.drop_capabilities()

    def fresh_scratch(self) -> None:
        pass

    def end_call(self, child: int) -> None:
        # Seccomp refuses it every way to start another process.
        _ignore_missing(os.kill, child, signal.SIGKILL)
        os.waitpid(child, 0)


class NoIsolation:
    """No wall at all: foreign code may do what this user may do. Limits on time and memory remain."""

    name = "none"

    def enter(self, readable: Sequence[str], scratch_mb: int) -> None:
        from shutil import rmtree
        from tempfile import mkdtemp

        self.seals = {True: _nothing, False: _nothing}
        self._make, self._remove = mkdtemp, rmtree

    def fresh_scratch(self) -> None:
        self._scratch = self._make(prefix="genenv_verl_")
        os.chdir(self._scratch)

    def end_call(self, child: int) -> None:
        _ignore_missing(os.killpg, child, signal.SIGKILL)
        _ignore_missing(os.kill, child, signal.SIGKILL)
        os.waitpid(child, 0)
        self._remove(self._scratch, ignore_errors=True)


def isolation(mode: Mode) -> Isolation:
    return {"namespaces": Namespaces, "landlock": Landlock, "none": NoIsolation}[mode]()


def limit_resources(memory_bytes: int, file_bytes: int, open_files: int) -> None:
    """Puts hard limits on this process and its children; ``memory_bytes`` is the whole address space of each."""
    for what, limit in (
        (resource.RLIMIT_AS, memory_bytes),
        (resource.RLIMIT_FSIZE, file_bytes),
        (resource.RLIMIT_NOFILE, open_files),
        (resource.RLIMIT_CORE, 0),
        (resource.RLIMIT_MEMLOCK, 0),
        (resource.RLIMIT_MSGQUEUE, 0),
        (resource.RLIMIT_SIGPENDING, 64),
    ):
        resource.setrlimit(what, as_hard_limit(what, limit))


def as_hard_limit(what: int, limit: int) -> tuple[int, int]:
    """A limit as a soft and a hard one, no higher than the hard one of this process."""
    hard = resource.getrlimit(what)[1]
    limit = limit if hard == resource.RLIM_INFINITY else min(limit, hard)
    return limit, limit


def empty_directory() -> None:
    """Empties the current directory, however deep: each directory is read once, with no open file and no recursion.

    Raises:
        OSError: Something in it does not let itself be removed.
    """
    path: list[str] = []
    unseen = [os.listdir()]  # Of each directory on the way down.
    while unseen:
        if not unseen[-1]:
            unseen.pop()
            if path:
                os.chdir("..")
                os.rmdir(path.pop())
            continue
        name = unseen[-1].pop()
        try:
            os.unlink(name)
        except IsADirectoryError:
            os.chmod(name, 0o700)
            os.chdir(name)
            path.append(name)
            unseen.append(os.listdir())


def _nothing() -> None:
    pass


def _seals() -> dict[bool, Callable[[], None]]:
    machine = os.uname().machine
    forbidden = {True: REPORT, False: None}
    return {foreign: syscalls.prepare_filter(filter_program(machine, forbidden[foreign])) for foreign in forbidden}


def _become_nobody() -> None:
    if not _has_nobody():
        return  # Root in a container of an ordinary user: it has that user's rights and no more.
    os.setgroups([])
    os.setresgid(NOBODY, NOBODY, NOBODY)
    os.setresuid(NOBODY, NOBODY, NOBODY)
    syscalls.prctl(syscalls.PR_SET_DUMPABLE, 1)  # Otherwise /proc/self stays root's, and the maps cannot be written.


def _has_nobody() -> bool:
    """Whether this user namespace knows the user nobody."""
    with open("/proc/self/uid_map", encoding="ascii") as file:
        ranges = [tuple(map(int, line.split())) for line in file]
    return any(first <= NOBODY < first + count for first, _, count in ranges)


def _new_user(namespaces: int) -> None:
    """Enters new namespaces, owned by a new user namespace in which this process has all capabilities."""
    user, group = os.geteuid(), os.getegid()
    syscalls.unshare(syscalls.CLONE_NEWUSER | namespaces)
    for name, text in (
        ("setgroups", "deny"),
        ("uid_map", f"{NOBODY} {user} 1"),
        ("gid_map", f"{NOBODY} {group} 1"),
    ):
        with open(f"/proc/self/{name}", "w", encoding="ascii") as file:
            file.write(text)


def _continue_in_child() -> None:
    """Goes on as the first process of the new process namespace; this process waits for that one and ends with it."""
    parent = os.getppid()
    child = os.fork()
    if child == 0:
        syscalls.prctl(syscalls.PR_SET_PDEATHSIG, signal.SIGKILL)
        return
    os.closerange(3, os.sysconf("SC_OPEN_MAX"))
    while os.waitpid(child, os.WNOHANG) == (0, 0) and os.getppid() == parent:
        time.sleep(0.5)
    os._exit(0)


def _build_root(readable: Sequence[str]) -> None:
    """Builds the jail's root from an empty file system and the readable paths, and makes it read-only."""
    syscalls.mount("", "/", None, syscalls.MS_REC | syscalls.MS_PRIVATE)
    flags = syscalls.MS_NOSUID | syscalls.MS_NODEV
    syscalls.mount("jail", _ROOT, "tmpfs", flags, "size=1m,mode=755")
    os.mkdir(_ROOT + SCRATCH)
    for path in map(os.path.realpath, readable):
        target = _ROOT + path
        if os.path.isdir(path):
            os.makedirs(target, exist_ok=True)
        else:
            os.makedirs(os.path.dirname(target), exist_ok=True)
            os.close(os.open(target, os.O_CREAT | os.O_WRONLY | os.O_CLOEXEC, 0o644))
        syscalls.mount(path, target, None, syscalls.MS_BIND | syscalls.MS_REC)
        syscalls.protect_mount(target)
    syscalls.mount("", _ROOT, None, flags | syscalls.MS_REMOUNT | syscalls.MS_BIND | syscalls.MS_RDONLY)


def _move_to_root() -> None:
    # Bound to itself: a mount that comes from a more powerful user cannot become the root.
    syscalls.mount(_ROOT, _ROOT, None, syscalls.MS_BIND | syscalls.MS_REC)
    os.chdir(_ROOT)
    syscalls.syscall("pivot_root", b".", b".")
    syscalls.detach(".")
    os.chdir("/")


def _reap_all() -> None:
    while True:
        try:
            os.waitpid(-1, 0)
        except ChildProcessError:
            return


def _ignore_missing(kill, target: int, number: int) -> None:
    try:
        kill(target, number)
    except ProcessLookupError:
        pass
