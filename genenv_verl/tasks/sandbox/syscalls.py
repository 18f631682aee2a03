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
"""The system calls that Python's standard library lacks. Linux on x86_64 and aarch64.

They are made through ``_ctypes``, the core of ``ctypes``: the package itself would leave classes behind that call any
function by its name, for whoever walks over all classes. Before foreign code runs, this module is emptied (``forget``).
"""

from __future__ import annotations

import _ctypes
import errno
import functools
import os
import struct
from collections.abc import Callable

_NUMBERS = {
    **{
        "x86_64": {"pivot_root": 155, "capset": 126, "seccomp": 317},
        "aarch64": {"pivot_root": 41, "capset": 91, "seccomp": 277},
    }.get(os.uname().machine, {}),
    # calls that came after the tables were unified have one number everywhere
    "mount_setattr": 442,
    "landlock_create_ruleset": 444,
    "landlock_add_rule": 445,
    "landlock_restrict_self": 446,
}

CLONE_NEWNS = 0x00020000
CLONE_NEWCGROUP = 0x02000000
CLONE_NEWUTS = 0x04000000
CLONE_NEWIPC = 0x08000000
CLONE_NEWUSER = 0x10000000
CLONE_NEWPID = 0x20000000
CLONE_NEWNET = 0x40000000

MS_RDONLY, MS_NOSUID, MS_NODEV, MS_NOEXEC = 1, 2, 4, 8
MS_REMOUNT, MS_BIND, MS_REC, MS_PRIVATE = 32, 4096, 16384, 1 << 18
MNT_DETACH = 2

PR_SET_PDEATHSIG, PR_SET_DUMPABLE, PR_CAPBSET_DROP, PR_SET_NO_NEW_PRIVS, PR_CAP_AMBIENT = 1, 4, 24, 38, 47
_PR_CAP_AMBIENT_CLEAR_ALL = 4
_SECCOMP_SET_MODE_FILTER = 1


class _Long(_ctypes._SimpleCData):
    _type_ = "l"


class _Text(_ctypes._SimpleCData):
    _type_ = "z"


class _Function(_ctypes.CFuncPtr):
    _flags_ = _ctypes.FUNCFLAG_CDECL | _ctypes.FUNCFLAG_USE_ERRNO
    _restype_ = _Long


_this_process = _ctypes.dlopen(None, os.RTLD_NOW)
_syscall, _prctl, _unshare, _mount, _umount2 = (
    _Function(_ctypes.dlsym(_this_process, name)) for name in ("syscall", "prctl", "unshare", "mount", "umount2")
)


def syscall(name: str, *arguments: int | bytes | None) -> int:
    """Makes a system call by its name.

    Raises:
        OSError: It failed, or this machine has no such call.
    """
    return _checked(_prepare(name, *arguments)(), name)


def prctl(option: int, *arguments: int) -> None:
    padded = [*arguments, 0, 0, 0, 0][:4]
    _checked(_prctl(option, *map(_Long, padded)), f"prctl {option}")


def unshare(flags: int) -> None:
    _checked(_unshare(flags), f"unshare {flags:#x}")


def mount(source: str, target: str, kind: str | None, flags: int, data: str | None = None) -> None:
    encoded = [None if text is None else os.fsencode(text) for text in (source, target, kind, data)]
    _checked(_mount(*encoded[:3], _Long(flags), encoded[3]), f"mount {target}")


def detach(target: str) -> None:
    """Takes a mount out of sight at once; it goes when nothing uses it any more."""
    _checked(_umount2(os.fsencode(target), MNT_DETACH), f"umount {target}")


def protect_mount(target: str) -> None:
    """Makes a mount, and all below it, read-only and without devices and set-user-id."""
    recursive, at_current_directory = 0x8000, -100
    attributes = struct.pack("4Q", 1 | 2 | 4, 0, 0, 0)
    syscall("mount_setattr", at_current_directory, os.fsencode(target), recursive, attributes, len(attributes))


def drop_capabilities() -> None:
    """Gives up every capability of this process, and of all that it starts, for good."""
    for capability in range(64):
        try:
            prctl(PR_CAPBSET_DROP, capability)
        except OSError:
            break  # EINVAL: the kernel has no more of them. EPERM: this process never had any.
    prctl(PR_CAP_AMBIENT, _PR_CAP_AMBIENT_CLEAR_ALL)
    version_3 = 0x20080522
    syscall("capset", struct.pack("Ii", version_3, 0), bytes(24))


def prepare_filter(program: bytes) -> Callable[[], None]:
    """A function that puts a seccomp filter over the thread that calls it. It works after ``forget`` as well.

    Args:
        program: The filter, 8 bytes an instruction. The thread needs ``no_new_privs``.
    """
    kept = _Text(program)
    address = bytes(kept)  # What it holds is the pointer.
    install = _prepare("seccomp", _SECCOMP_SET_MODE_FILTER, 0, struct.pack("Hxxxxxx", len(program) // 8) + address)

    def put_over_this_thread(kept: _Text = kept) -> None:
        if install() != 0:
            raise OSError("seccomp: the filter was refused")

    return put_over_this_thread


def forget() -> None:
    """Empties this module, so that foreign code which gets hold of it finds no way to call anything."""
    globals().clear()


def _prepare(name: str, *arguments: int | bytes | None) -> Callable[[], int]:
    if name not in _NUMBERS:
        raise OSError(errno.ENOSYS, f"{name}: no number known on {os.uname().machine}")
    plain = [_Long(value) if isinstance(value, int) else value for value in arguments]
    return functools.partial(_syscall, _Long(_NUMBERS[name]), *plain)


def _checked(result: int, what: str) -> int:
    if result < 0:
        number = _ctypes.get_errno()
        raise OSError(number, f"{what}: {os.strerror(number)}")
    return result
