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
import pytest

pytest.importorskip("psutil")

from genenv_verl.trainer import memory
from genenv_verl.trainer.memory import MemoryMonitor


def test_peaks_since_the_last_call_and_a_measurement_only_where_there_is_none():
    host = iter([5, 9, 7, 3])
    monitor = MemoryMonitor(lambda: next(host), lambda: None)
    assert monitor.take(now=False) == (None, None)
    for _ in range(3):
        monitor._measure()
    assert monitor.take(now=True) == (9, None)  # nothing new is measured
    assert monitor.take(now=True) == (3, None)
    assert monitor.take(now=False) == (None, None)


def test_the_thread_measures_by_itself(monkeypatch):
    monkeypatch.setattr(memory, "INTERVAL_S", 0.01)
    import threading

    measured = threading.Event()

    def host():
        measured.set()
        return 4

    monitor = MemoryMonitor(host, lambda: 6).start()
    assert measured.wait(30)
    assert monitor.take(now=True) == (4, 6)


def test_the_family_of_processes_is_larger_than_this_one():
    import psutil

    assert memory.family_bytes() > psutil.Process().memory_info().rss // 2
