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
"""Peak memory of a run on the trainer's node, measured beside it."""

from __future__ import annotations

import threading
from collections.abc import Callable

import psutil

from genenv_verl.curriculum.ledger import Peaks

INTERVAL_S = 2.0
"""Between two measurements. One walks over all processes of the node, some ten milliseconds."""


class MemoryMonitor:
    """Measures every two seconds until the process ends.

    The host's figure is the sum over the processes that the node's Ray daemon has started, servers and workers of both
    players among them; pages that processes share count in each. The device's is all that is in use on the fullest GPU
    of the node, other users' share included, as NVIDIA's management library tells it; None without one.
    """

    def __init__(
        self,
        host_bytes: Callable[[], int] | None = None,
        device_bytes: Callable[[], int | None] | None = None,
    ):
        self._host_bytes = host_bytes or family_bytes
        self._device_bytes = device_bytes or fullest_device_bytes
        self._lock = threading.Lock()
        self._peaks: Peaks = (None, None)

    def start(self) -> MemoryMonitor:
        """Starts measuring in a thread that ends with the process."""
        threading.Thread(target=self._run, name="genenv-memory", daemon=True).start()
        return self

    def take(self, *, now: bool) -> Peaks:
        """The peaks since the last call; with ``now`` this instant is measured if nothing was since."""
        if now and self._peaks == (None, None):
            self._measure()
        with self._lock:
            peaks, self._peaks = self._peaks, (None, None)
        return peaks

    def _run(self) -> None:
        pause = threading.Event()
        while not pause.wait(INTERVAL_S):
            self._measure()

    def _measure(self) -> None:
        host, device = self._host_bytes(), self._device_bytes()
        with self._lock:
            before = self._peaks
            self._peaks = (
                max(host, before[0] or 0),
                before[1] if device is None else max(device, before[1] or 0),
            )


def family_bytes() -> int:
    """Resident memory of this process's parent (the Ray daemon of the node) and all that the parent has started."""
    parent = psutil.Process().parent() or psutil.Process()
    total = 0
    for process in [parent, *parent.children(recursive=True)]:
        try:
            total += process.memory_info().rss
        except psutil.Error:
            continue  # it has ended meanwhile
    return total


def fullest_device_bytes() -> int | None:
    """Bytes in use on the fullest GPU of this node, None where they cannot be asked for."""
    try:
        import pynvml
    except ImportError:
        return None
    try:
        pynvml.nvmlInit()
        devices = [pynvml.nvmlDeviceGetHandleByIndex(place) for place in range(pynvml.nvmlDeviceGetCount())]
        return max((pynvml.nvmlDeviceGetMemoryInfo(device).used for device in devices), default=None)
    except pynvml.NVMLError:
        return None
