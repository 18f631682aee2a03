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
"""Ends a run whose phase hangs, with a message, instead of waiting for ever."""

from __future__ import annotations

import faulthandler
import os
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

EXIT_STATUS = 75  # EX_TEMPFAIL: the same command, started again, resumes


def _end_process() -> None:
    # Ray forwards the worker's output to the driver in the background
    time.sleep(2.0)
    os._exit(EXIT_STATUS)


class Watchdog:
    """Limits the wall time of named phases.

    verl's weight sync waits on a ZMQ socket without a time-out, inside C code that no exception reaches: only ending
    the process helps. What is on disk is safe at any instant, so the next start resumes from the last checkpoint.

    Args:
        limits: seconds for each phase name; ``None`` means no limit.
        report: file to which the message is written as well.
        end: called after the message; ends the process.
    """

    def __init__(self, limits: dict[str, float | None], report: Path, end: Callable[[], None] = _end_process):
        self._limits = limits
        self._report = report
        self._end = end

    @contextmanager
    def phase(self, name: str) -> Iterator[None]:
        """Runs the body under the limit of ``name``; phases may nest."""
        limit = self._limits[name]
        if limit is None:
            yield
            return
        timer = threading.Timer(limit, self._expire, (name, limit))
        timer.daemon = True
        timer.start()
        try:
            yield
        finally:
            timer.cancel()

    def _expire(self, name: str, limit: float) -> None:
        message = (
            f"genenv: phase '{name}' did not end within {limit:g} s; ending the run. Start the same command again to "
            f"resume from the last checkpoint, or raise genenv.watchdog.{name} if the phase is only slow."
        )
        try:
            print(message, file=sys.stderr, flush=True)
            faulthandler.dump_traceback(file=sys.stderr)
            self._report.parent.mkdir(parents=True, exist_ok=True)
            self._report.write_text(message + "\n", encoding="utf-8")
        finally:
            # a full disk may be why the phase hangs: the report can fail, the end must not
            self._end()
