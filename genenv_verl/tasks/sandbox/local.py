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
"""Checkers in a jail on this machine: the default backend."""

from __future__ import annotations

from collections.abc import Sequence

from genenv_verl.tasks.sandbox.base import Outcome
from genenv_verl.tasks.sandbox.jail import ISOLATED, Jail, Limits, Mode, NoReply
from genenv_verl.tasks.sandbox.settings import SandboxSettings

PROGRAM = "genenv_verl.tasks.sandbox.checker_program"


class LocalBackend:
    """Runs checkers in a jail.

    Args:
        settings: Limits and number of workers.
        modes: The kinds of walls to try, see ``Jail``.

    Raises:
        JailUnavailable: This machine cannot isolate.
    """

    def __init__(self, settings: SandboxSettings, *, modes: Sequence[Mode] = ISOLATED) -> None:
        limits = Limits(memory_mb=settings.memory_mb, reply_bytes=4096)
        self._timeout_s = settings.timeout_s
        self._jail = Jail(PROGRAM, limits, workers=settings.workers, modes=modes)
        self.name = f"local ({self._jail.mode})"

    def check(self, source: str, answers: Sequence[str]) -> list[Outcome]:
        return [self._judge(source, answer) for answer in answers]

    def _judge(self, source: str, answer: str) -> Outcome:
        try:
            reply = self._jail.call({"source": source, "answer": answer}, self._timeout_s)
        except NoReply as none:
            return Outcome(None, none.reason, none.detail)
        accepted = reply.get("accepted")
        return Outcome.verdict(accepted) if isinstance(accepted, bool) else Outcome(None, "bad_verdict")

    def close(self) -> None:
        self._jail.close()
