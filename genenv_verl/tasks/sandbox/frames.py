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
"""Messages over a stream socket: four bytes of length, then the body."""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from _socket import socket

MAX_BYTES = 64 << 20


def write_frame(channel: socket, body: bytes) -> None:
    channel.sendall(struct.pack(">I", len(body)) + body)


def read_frame(channel: socket) -> bytes | None:
    """The next body, or None if the other end is closed.

    Raises:
        OSError: The socket has failed, or the frame is larger than anything that is sent.
    """
    if (head := _read(channel, 4)) is None:
        return None
    (length,) = struct.unpack(">I", head)
    if length > MAX_BYTES:
        raise OSError(f"a frame of {length} bytes")
    return _read(channel, length)


def _read(channel: socket, length: int) -> bytes | None:
    body = bytearray()
    while len(body) < length:
        chunk = channel.recv(min(length - len(body), 1 << 20))
        if not chunk:
            return None
        body += chunk
    return bytes(body)
