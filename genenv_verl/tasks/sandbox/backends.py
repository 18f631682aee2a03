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
"""Opens the backend that the settings and the machine allow."""

from __future__ import annotations

import functools
import logging
import threading
from collections.abc import Sequence

from genenv_verl.tasks.sandbox.base import CheckerBackend, Outcome, Unavailable
from genenv_verl.tasks.sandbox.fusion import FusionBackend
from genenv_verl.tasks.sandbox.jail import JailUnavailable
from genenv_verl.tasks.sandbox.local import LocalBackend
from genenv_verl.tasks.sandbox.settings import SandboxSettings

logger = logging.getLogger(__name__)


def open_backend(settings: SandboxSettings) -> CheckerBackend:
    """Opens what runs checkers: Sandbox Fusion if it has an address, else a jail on this machine.

    Where the machine cannot isolate, the result is ``Unavailable`` (fail closed), unless the settings accept the
    danger. Nothing is tried to reach Sandbox Fusion here.
    """
    if settings.backend != "local" and settings.sandbox_fusion_url:
        return FusionBackend(settings)
    if settings.backend == "sandbox_fusion":
        return Unavailable("genenv.sandbox.backend is 'sandbox_fusion': set reward.sandbox_fusion.url to its /run_code")
    try:
        return LocalBackend(settings)
    except JailUnavailable as error:
        if not settings.run_checkers_without_isolation_i_accept_the_danger:
            return Unavailable(str(error))
    logger.warning("checkers written by a language model run WITHOUT ISOLATION: they may do whatever this user may do")
    return LocalBackend(settings, modes=["none"])


@functools.cache
def shared_backend(settings: SandboxSettings) -> CheckerBackend:
    """One backend for this process, opened at the first check: most runs have no task with a checker."""
    return _OpenedOnDemand(settings)


class _OpenedOnDemand:
    def __init__(self, settings: SandboxSettings) -> None:
        self.name = "on demand"
        self._settings = settings
        self._lock = threading.Lock()
        self._backend: CheckerBackend | None = None

    def check(self, source: str, answers: Sequence[str]) -> list[Outcome]:
        with self._lock:
            if self._backend is None:
                self._backend = open_backend(self._settings)
                self.name = self._backend.name
                if isinstance(self._backend, Unavailable):
                    logger.warning("checkers have no verdict: %s", self._backend.why)
        return self._backend.check(source, answers)

    def close(self) -> None:
        with self._lock:
            if self._backend is not None:
                self._backend.close()
                self._backend = None
