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
import subprocess
import sys
import threading
import time

import pytest

from genenv_verl.trainer.watchdog import EXIT_STATUS, Watchdog

LONG = 60.0


class Ended:
    """Stands in for the end of the process and counts how often it was asked for."""

    def __init__(self):
        self.calls = 0
        self.called = threading.Event()

    def __call__(self):
        self.calls += 1
        self.called.set()

    def within(self, seconds):
        return self.called.wait(seconds)


@pytest.fixture
def ended():
    return Ended()


@pytest.fixture
def report(tmp_path):
    return tmp_path / "genenv" / "watchdog.txt"


def test_a_phase_that_ends_in_time_does_nothing(ended, report, capfd):
    with Watchdog({"agent_step": 0.2}, report, ended).phase("agent_step"):
        pass
    assert not ended.within(0.4)
    assert not report.exists()
    assert capfd.readouterr().err == ""


def test_a_phase_that_hangs_is_reported_and_ended(ended, report, capfd):
    with Watchdog({"weight_sync": 0.05}, report, ended).phase("weight_sync"):
        assert ended.within(10)
    assert ended.calls == 1
    text = report.read_text()
    assert "'weight_sync' did not end within 0.05 s" in text
    assert "genenv.watchdog.weight_sync" in text and "resume" in text
    error = capfd.readouterr().err
    assert text in error
    assert "test_watchdog.py" in error  # where the phase hangs


def test_an_exception_in_a_phase_passes_and_stops_the_clock(ended, report):
    watchdog = Watchdog({"checkpoint": 0.1}, report, ended)
    with pytest.raises(RuntimeError, match="verl's own"), watchdog.phase("checkpoint"):
        raise RuntimeError("verl's own")
    assert not ended.within(0.3)


def test_null_is_no_limit(ended, report):
    with Watchdog({"agent_step": None}, report, ended).phase("agent_step"):
        assert not ended.within(0.1)


def test_nested_phases_have_clocks_of_their_own(ended, report):
    watchdog = Watchdog({"agent_step": LONG, "weight_sync": 0.05, "checkpoint": LONG}, report, ended)
    with watchdog.phase("agent_step"):
        with watchdog.phase("checkpoint"):
            pass
        with watchdog.phase("weight_sync"):
            assert ended.within(10)
    assert "weight_sync" in report.read_text() and "agent_step" not in report.read_text()


def test_the_outer_clock_runs_on_after_an_inner_phase(ended, report):
    watchdog = Watchdog({"agent_step": 0.3, "weight_sync": LONG}, report, ended)
    with watchdog.phase("agent_step"):
        with watchdog.phase("weight_sync"):
            pass
        assert ended.within(10)
    assert "agent_step" in report.read_text()


def test_a_phase_can_run_again(ended, report):
    watchdog = Watchdog({"agent_step": 0.6}, report, ended)
    for _ in range(3):
        with watchdog.phase("agent_step"):
            time.sleep(0.25)
    assert ended.calls == 0


@pytest.mark.filterwarnings("ignore::pytest.PytestUnhandledThreadExceptionWarning")
def test_a_report_that_cannot_be_written_does_not_save_the_process(ended, tmp_path):
    (tmp_path / "file").write_text("no folder can stand here")
    with Watchdog({"checkpoint": 0.05}, tmp_path / "file" / "watchdog.txt", ended).phase("checkpoint"):
        assert ended.within(10)
    for thread in threading.enumerate():
        if isinstance(thread, threading.Timer):
            thread.join()


def test_an_unknown_phase_is_an_error_of_the_caller(ended, report):
    with pytest.raises(KeyError), Watchdog({"agent_step": 1.0}, report, ended).phase("agent"):
        pass


HANGS = {
    "a lock": "import threading; lock = threading.Lock(); lock.acquire(); lock.acquire()",
    "a ZMQ socket": "import zmq; zmq.Context().socket(zmq.PULL).recv()",
    "C code that signals do not end": "import signal, time; signal.signal(15, signal.SIG_IGN); time.sleep(60)",
}


@pytest.mark.parametrize("hang", HANGS.values(), ids=HANGS)
def test_the_process_ends_with_the_status_that_asks_for_a_restart(report, hang):
    if "zmq" in hang:
        pytest.importorskip("zmq")
    program = f"""
from pathlib import Path
from genenv_verl.trainer.watchdog import Watchdog
try:
    with Watchdog({{"weight_sync": 0.2}}, Path({str(report)!r})).phase("weight_sync"):
        {hang}
except BaseException:
    print("unwound")
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=50)
    assert done.returncode == EXIT_STATUS == 75
    assert "weight_sync" in done.stderr and "weight_sync" in report.read_text()
    assert done.stdout == ""
