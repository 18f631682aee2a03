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
"""The walls are the operating system's: with every module of Python at hand, ctypes among them, they hold as well."""

from __future__ import annotations

import os
import time

import pytest

from genenv_verl.tasks.sandbox.jail import Jail, JailUnavailable, Limits, NoReply

PROGRAM = """
import ctypes, fcntl, mmap, os, platform, resource, signal, socket, struct, subprocess, sys
libc = ctypes.CDLL(None, use_errno=True)

X86 = platform.machine() == "x86_64"

def number(x86, arm):
    return x86 if X86 else arm

def syscall(x86, arm, *arguments):
    '''Whether a system call succeeds.'''
    plain = [ctypes.c_long(a) if isinstance(a, int) else a for a in arguments]
    return libc.syscall(ctypes.c_long(number(x86, arm)), *plain) >= 0

def run(request):
    names = dict(globals())
    exec(request["source"], names)
    return {"harm": bool(names["attack"]())}
"""

# Each is the body of a function that returns whether it got what it is after.
ATTACKS = {
    "reads a system file": "return open('/etc/passwd').read()",
    "opens by system call": "return syscall(257, 56, -100, b'/etc/passwd', 0)",
    "opens by a newer call": "return syscall(437, 437, -100, b'/etc/passwd', bytes(24), 24)",
    "opens by handle": "return syscall(304, 265, -100, bytes(128), 0)",
    "writes outside": "return open('/genenv_verl_canary', 'w').write('x')",
    "lists processes": "return os.listdir('/proc')",
    "mounts proc": "return libc.mount(b'proc', b'.', b'proc', 0, None) == 0",
    "mounts by a newer call": "return syscall(430, 430, b'tmpfs', 0)",
    "unmounts": "return libc.umount2(b'/jail', 2) == 0",
    "makes a user namespace": "return libc.unshare(0x10000000) == 0",
    "makes a mount namespace": "return libc.unshare(0x20000) == 0",
    "joins a namespace": "return libc.setns(0, 0) == 0",
    "clones into a namespace": "return syscall(56, 220, 0x10000000 | 17, 0, 0, 0, 0)",
    "clones by a newer call": "return syscall(435, 435, bytes(88), 88)",
    "changes its root": "return libc.chroot(b'.') == 0",
    "moves the root": "return syscall(155, 41, b'.', b'.')",
    "forks": "return os.fork() >= 0",
    "forks by system call": "return syscall(57, 220, 17, 0, 0, 0, 0) if X86 else libc.vfork() >= 0",
    "runs a program": "return subprocess.run(['/bin/true']).returncode == 0",
    "runs from memory": "return syscall(319, 279, b'x', 0)",
    "runs by descriptor": "return syscall(322, 281, 0, b'', None, None, 0x1000)",
    "connects": "return socket.create_connection(('127.0.0.1', 22), 1)",
    "asks for a name": "return socket.socket(socket.AF_INET, socket.SOCK_DGRAM).sendto(bytes(12), ('127.0.0.1', 53))",
    "opens an abstract socket": "socket.socket(socket.AF_UNIX).bind(b'\\0x')\n    return True",
    "opens a pair of sockets": "return socket.socketpair()",
    "opens netlink": "return socket.socket(16, socket.SOCK_RAW, 0)",
    "opens a raw socket": "return socket.socket(socket.AF_INET, socket.SOCK_RAW, 1)",
    "opens a vsock": "return socket.socket(40, socket.SOCK_STREAM)",
    "sets up io_uring": "return syscall(425, 425, 1, bytes(120))",
    "sets up userfaultfd": "return syscall(323, 282, 1)",
    "loads a BPF program": "return syscall(321, 280, 0, bytes(128), 128)",
    "counts events": "return syscall(298, 241, bytes(128), 0, -1, -1, 0)",
    "adds a key": "return syscall(248, 217, b'user', b'x', b'y', 1, -3)",
    "reads keys": "return syscall(250, 219, 0, -3, 0)",
    "traces itself": "return syscall(101, 117, 0, 0, 0, 0)",
    "traces its parent": "return syscall(101, 117, 16, os.getppid() or 1, 0, 0)",
    "reads another's memory": "return syscall(310, 270, os.getppid() or 1, bytes(16), 1, bytes(16), 1, 0)",
    "takes another's descriptor": "return syscall(438, 438, 0, 0, 0)",
    "opens a process": "return syscall(434, 434, os.getpid(), 0)",
    "kills its parent": "return libc.kill(os.getppid() or 1, 0) == 0",
    "kills everything": "return libc.kill(-1, 0) == 0",
    "signals a thread": "return syscall(234, 131, os.getpid(), os.getpid(), 0)",
    "shares memory of SysV": "return syscall(29, 194, 0, 4096, 0o1600)",
    "queues messages of SysV": "return syscall(68, 186, 0, 0o1600)",
    "takes a semaphore of SysV": "return syscall(64, 190, 0, 1, 0o1600)",
    "opens a POSIX queue": "return syscall(240, 180, b'x', 0o102, 0o600, None)",
    "opens POSIX shared memory": "return libc.shm_open(b'/genenv_verl_canary', 0o102, 0o600) >= 0",
    "raises a limit": "resource.setrlimit(resource.RLIMIT_NPROC, (9, 9))\n    return True",
    "lowers another's limit": "return syscall(302, 261, os.getppid() or 1, 7, struct.pack('QQ', 1, 1), None)",
    "becomes root": "return libc.setresuid(0, 0, 0) == 0",
    "takes capabilities": "return syscall(126, 91, struct.pack('Ii', 0x20080522, 0), b'\\xff' * 24)",
    "loosens its filter": "return syscall(317, 277, 1, 0, None)",
    "changes its process flags": "return libc.prctl(4, 1, 0, 0, 0) == 0",
    "changes its personality": "return syscall(135, 92, 0x0040000)",
    "makes a device": "return libc.mknod(b'x', 0o020666, 259) == 0 or syscall(259, 33, -100, b'x', 0o020666, 259)",
    "changes rights": "return syscall(268, 53, -100, b'.', 0o777)",
    "maps executable memory": "return mmap.mmap(-1, 4096, prot=7)",
    "makes memory executable": "return libc.mprotect(ctypes.c_void_p(id(attack) & ~4095), 4096, 7) == 0",
    "sets the clock": "return syscall(227, 112, 0, bytes(16))",
    "sets the host name": "return syscall(170, 161, b'x', 1)",
    "reads the kernel log": "return syscall(103, 116, 10, None, 0)",
    "loads a module": "return syscall(175, 105, b'x', 1, b'')",
    "boots": "return syscall(169, 142, 0xfee1dead, 672274793, 0, None)",
    "types into the terminal": "return fcntl.ioctl(0, 0x5412, b'x') == 0",
    "watches files": "return syscall(294, 26, 0)",
    "moves pages": "return syscall(279, 239, os.getppid() or 1, 0, None, None, None, 0)",
    "pins itself": "return syscall(203, 122, 0, 8, b'\\x01' + bytes(7))",
    "asks for real time": "return syscall(144, 119, 0, 1, struct.pack('i', 1))",
    "writes to the report": "return os.write(3, b'+{\"harm\": true}') > 0",
    "copies the report": "return os.dup(3) > 0",
}
# The call ends the process at once.
FATAL = {
    "calls as another architecture": "return X86 and libc.syscall(ctypes.c_long(0x40000000 + 39)) >= 0",
    "crashes": "return ctypes.string_at(0)",
}


def source_of(body: str) -> str:
    return f"def attack():\n    {body}"


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("native")
    (folder / "program_with_every_module.py").write_text(PROGRAM)
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(str(folder))
        yield folder


@pytest.fixture(scope="module", params=["namespaces", "landlock"])
def jail(request, folder):
    try:
        jail = Jail("program_with_every_module", Limits(memory_mb=64), modes=[request.param])
    except JailUnavailable as error:
        pytest.skip(str(error))
    yield jail
    jail.close()


def harm(jail: Jail, body: str) -> bool | str:
    try:
        return jail.call({"source": source_of(body)}, timeout_s=20)["harm"]
    except NoReply as none:
        return none.reason


@pytest.mark.parametrize("body", ATTACKS.values(), ids=ATTACKS)
def test_native_attack(jail, body):
    pids = jail.pids()
    assert harm(jail, body) in {False, "exception"}
    start = time.monotonic()
    assert harm(jail, "return 'fine'") is True
    assert time.monotonic() - start < 15
    assert jail.pids() == pids
    assert not os.path.exists("/genenv_verl_canary")
    assert not os.path.exists("/dev/shm/genenv_verl_canary")


@pytest.mark.parametrize("body", FATAL.values(), ids=FATAL)
def test_fatal_call(jail, body):
    assert harm(jail, body) in {"crash", False}
    assert harm(jail, "return 'fine'") is True


CONTROLS = [
    "reads a system file",
    "opens by system call",
    "lists processes",
    "opens a pair of sockets",
    "runs from memory",
    "makes memory executable",
    "changes its process flags",
    "kills its parent",
    "opens a process",
    "shares memory of SysV",
]


def test_negative_control(folder):
    """Without the walls the same calls succeed: the tests above can fail."""
    unprotected = Jail("program_with_every_module", Limits(memory_mb=64), modes=["none"])
    outcomes = {name: harm(unprotected, ATTACKS[name]) for name in CONTROLS}
    unprotected.close()
    assert outcomes == dict.fromkeys(CONTROLS, True)
