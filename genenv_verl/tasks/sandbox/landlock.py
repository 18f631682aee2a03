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
"""Landlock: the kernel's own limits on files, TCP, abstract sockets and signals, which need no privileges."""

from __future__ import annotations

import os
import struct
from collections.abc import Iterable

from genenv_verl.tasks.sandbox.syscalls import syscall

_WRITE_FILE, _READ_FILE, _READ_DIR, _REMOVE_DIR, _REMOVE_FILE = 1 << 1, 1 << 2, 1 << 3, 1 << 4, 1 << 5
_MAKE_DIR, _MAKE_REG, _REFER, _TRUNCATE = 1 << 7, 1 << 8, 1 << 13, 1 << 14
READ = _READ_FILE | _READ_DIR
SCRATCH = READ | _WRITE_FILE | _REMOVE_DIR | _REMOVE_FILE | _MAKE_DIR | _MAKE_REG | _REFER | _TRUNCATE

# Rights that each version of the interface added; what is handled and not granted is refused.
_HANDLED = {1: (1 << 13) - 1, 2: (1 << 14) - 1, 3: (1 << 15) - 1, 4: (1 << 15) - 1}
_HANDLED_SINCE_5 = (1 << 16) - 1
_TCP = 3
_ABSTRACT_SOCKETS_AND_SIGNALS = 3
_RULE_PATH_BENEATH = 1
_QUERY_VERSION = 1


def version() -> int:
    """The version of the kernel's Landlock interface; 0 if there is none."""
    try:
        return syscall("landlock_create_ruleset", None, 0, _QUERY_VERSION)
    except OSError:
        return 0


def ruleset(grants: Iterable[tuple[str, int]]) -> int:
    """Builds a ruleset that refuses everything but the grants.

    Args:
        grants: A path and the rights on what lies under it.

    Returns:
        The file descriptor of the ruleset.

    Raises:
        OSError: The kernel has no Landlock, or a path does not exist.
    """
    supported = version()
    files = _HANDLED.get(supported, _HANDLED_SINCE_5)
    fields = (files, *([_TCP] if supported >= 4 else []), *([_ABSTRACT_SOCKETS_AND_SIGNALS] if supported >= 6 else []))
    attributes = struct.pack(f"{len(fields)}Q", *fields)
    rules = syscall("landlock_create_ruleset", attributes, len(attributes), 0)
    for path, rights in grants:
        place = os.open(path, os.O_PATH | os.O_CLOEXEC)
        of_files = _READ_FILE | _WRITE_FILE | _TRUNCATE
        granted = rights & files if os.path.isdir(path) else rights & files & of_files
        syscall("landlock_add_rule", rules, _RULE_PATH_BENEATH, struct.pack("=Qi", granted, place), 0)
        os.close(place)
    return rules


def restrict(rules: int) -> None:
    """Puts this thread, and all that it starts, under a ruleset, and closes it. Needs ``no_new_privs``."""
    syscall("landlock_restrict_self", rules, 0)
    os.close(rules)
