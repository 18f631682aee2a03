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
"""The seccomp filter over foreign code: which system calls plain computing needs. Everything else is EPERM.

The filter is an allow list, so what future kernels add is refused as well. It is assembled here because the Python
packages for it need the C library libseccomp, which a user without root cannot install.
"""

from __future__ import annotations

import mmap
import os
import struct
from typing import NamedTuple

_EPERM = 1


class Condition(NamedTuple):
    """One 32-bit word of an argument, masked, must be one of some values.

    Attributes:
        argument: Its position, from 0.
        values: What it may be.
        mask: Bits that are looked at.
        upper: Whether the upper word is meant instead of the lower one.
        none_of: Whether it must be none of the values instead.
    """

    argument: int
    values: tuple[int, ...]
    mask: int = 0xFFFFFFFF
    upper: bool = False
    none_of: bool = False


_NO_EXECUTABLE_MEMORY = (Condition(2, (0,), mask=mmap.PROT_EXEC),)
# A file opened for reading only must not be truncated: Landlock before version 3 does not stop that.
_OPEN_MASK = os.O_TRUNC | os.O_ACCMODE
_OPEN = (Condition(2, (0, 1, 2, os.O_TRUNC | 1, os.O_TRUNC | 2), mask=_OPEN_MASK),)
_READ_A_LIMIT = (Condition(2, (0,)), Condition(2, (0,), upper=True))
_F_DUPFD_CLOEXEC = 1030
_DESCRIPTOR_FLAGS = (Condition(1, (0, 1, 2, 3, _F_DUPFD_CLOEXEC)),)

# name: (number on x86_64, number on aarch64, conditions). None: the machine has no such call.
_ALLOWED: dict[str, tuple[int | None, int | None, tuple[Condition, ...]]] = {
    # memory
    "mmap": (9, 222, _NO_EXECUTABLE_MEMORY),
    "mprotect": (10, 226, _NO_EXECUTABLE_MEMORY),
    "munmap": (11, 215, ()),
    "brk": (12, 214, ()),
    "mremap": (25, 216, ()),
    "madvise": (28, 233, ()),
    # files of the scratch directory
    "openat": (257, 56, _OPEN),
    "close": (3, 57, ()),
    "read": (0, 63, ()),
    "readv": (19, 65, ()),
    "pread64": (17, 67, ()),
    "write": (1, 64, ()),
    "writev": (20, 66, ()),
    "pwrite64": (18, 68, ()),
    "lseek": (8, 62, ()),
    "stat": (4, None, ()),
    "fstat": (5, 80, ()),
    "lstat": (6, None, ()),
    "newfstatat": (262, 79, ()),
    "statx": (332, 291, ()),
    "access": (21, None, ()),
    "faccessat": (269, 48, ()),
    "faccessat2": (439, 439, ()),
    "getdents64": (217, 61, ()),
    "getcwd": (79, 17, ()),
    "chdir": (80, 49, ()),
    "mkdir": (83, None, ()),
    "mkdirat": (258, 34, ()),
    "rmdir": (84, None, ()),
    "unlink": (87, None, ()),
    "unlinkat": (263, 35, ()),
    "rename": (82, None, ()),
    "renameat": (264, 38, ()),
    "renameat2": (316, 276, ()),
    "ftruncate": (77, 46, ()),
    "dup": (32, 23, ()),
    "dup2": (33, None, ()),
    "dup3": (292, 24, ()),
    "fcntl": (72, 25, _DESCRIPTOR_FLAGS),
    # time
    "clock_gettime": (228, 113, ()),
    "clock_getres": (229, 114, ()),
    "clock_nanosleep": (230, 115, ()),
    "nanosleep": (35, 101, ()),
    "gettimeofday": (96, 169, ()),
    "time": (201, None, ()),
    "times": (100, 153, ()),
    "select": (23, None, ()),
    "pselect6": (270, 72, ()),
    "poll": (7, None, ()),
    "ppoll": (271, 73, ()),
    # the thread itself
    "futex": (202, 98, ()),
    "rt_sigaction": (13, 134, ()),
    "rt_sigprocmask": (14, 135, ()),
    "rt_sigreturn": (15, 139, ()),
    "sigaltstack": (131, 132, ()),
    "restart_syscall": (219, 128, ()),
    "sched_yield": (24, 124, ()),
    "sched_getaffinity": (204, 123, ()),
    "set_robust_list": (273, 99, ()),
    "rseq": (334, 293, ()),
    "getrandom": (318, 278, ()),
    "getrusage": (98, 165, ()),
    "prlimit64": (302, 261, _READ_A_LIMIT),
    "getpid": (39, 172, ()),
    "gettid": (186, 178, ()),
    "getuid": (102, 174, ()),
    "geteuid": (107, 175, ()),
    "getgid": (104, 176, ()),
    "getegid": (108, 177, ()),
    "uname": (63, 160, ()),
    "exit": (60, 93, ()),
    "exit_group": (231, 94, ()),
}
# Calls that could write to a descriptor, or pass it on under another number.
_TAKES_DESCRIPTOR = {"write", "writev", "pwrite64", "dup", "dup2", "dup3", "fcntl", "close"}
_COLUMN = {"x86_64": 0, "aarch64": 1}
_AUDIT_ARCH = {"x86_64": 0xC000003E, "aarch64": 0xC00000B7}

_LOAD_WORD, _AND, _JUMP, _JUMP_IF_EQUAL, _JUMP_IF_AT_LEAST, _RETURN = 0x20, 0x54, 0x05, 0x15, 0x35, 0x06
_ALLOW, _KILL, _REFUSE = 0x7FFF0000, 0x80000000, 0x00050000 | _EPERM
_X32_BIT = 0x40000000


def filter_program(machine: str, forbidden_descriptor: int | None = None) -> bytes:
    """The filter for a machine as classic BPF, 8 bytes an instruction.

    Args:
        machine: As ``os.uname()`` names it.
        forbidden_descriptor: A file descriptor that must not be written to.

    Raises:
        OSError: There is no table for the machine.
    """
    if machine not in _COLUMN:
        raise OSError(
            _EPERM, f"seccomp: no table of system calls for {machine} (there is one for {', '.join(_COLUMN)})"
        )
    column = _COLUMN[machine]
    allowed = []
    for name, row in _ALLOWED.items():
        conditions = row[2]
        if forbidden_descriptor is not None and name in _TAKES_DESCRIPTOR:
            conditions += (Condition(0, (forbidden_descriptor,), none_of=True),)
        if row[column] is not None:
            allowed.append((row[column], conditions))
    code = [
        # A call made as another architecture has other numbers.
        _instruction(_LOAD_WORD, 4),
        _instruction(_JUMP_IF_EQUAL, _AUDIT_ARCH[machine], 1, 0),
        _instruction(_RETURN, _KILL),
        _instruction(_LOAD_WORD, 0),
        _instruction(_JUMP_IF_AT_LEAST, _X32_BIT, 0, 1),
        _instruction(_RETURN, _KILL),
    ]
    code += _search(sorted(allowed))
    return b"".join(code)


def _search(allowed: list[tuple[int, tuple[Condition, ...]]]) -> list[bytes]:
    """Finds the call by halving: the kernel walks the filter for every number each time that it is installed."""
    if len(allowed) == 1:
        number, conditions = allowed[0]
        block = _permit(conditions)
        return [_instruction(_JUMP_IF_EQUAL, number, 0, len(block)), *block, _instruction(_RETURN, _REFUSE)]
    middle = len(allowed) // 2
    below, above = _search(allowed[:middle]), _search(allowed[middle:])
    # A conditional jump reaches 255 instructions; the jump without condition reaches all.
    leap = [_instruction(_JUMP_IF_AT_LEAST, allowed[middle][0], 0, 1), _instruction(_JUMP, len(below))]
    return [*leap, *below, *above]


def _permit(conditions: tuple[Condition, ...]) -> list[bytes]:
    code: list[bytes] = []
    for condition in conditions:
        code.append(_instruction(_LOAD_WORD, 16 + 8 * condition.argument + 4 * condition.upper))
        code.append(_instruction(_AND, condition.mask))
        refuse, go_on = _instruction(_RETURN, _REFUSE), _instruction(_JUMP, 1)
        # A match leaps over what stands between it and the last instruction of this condition.
        for left in range(len(condition.values), 0, -1):
            code.append(_instruction(_JUMP_IF_EQUAL, condition.values[-left], left, 0))
        code += [go_on, refuse] if condition.none_of else [refuse]
    return [*code, _instruction(_RETURN, _ALLOW)]


def _instruction(code: int, operand: int, if_true: int = 0, if_false: int = 0) -> bytes:
    return struct.pack("HBBI", code, if_true, if_false, operand)
