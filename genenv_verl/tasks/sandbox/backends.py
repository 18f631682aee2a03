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

import logging

from genenv_verl.tasks.sandbox.base import CheckerBackend, Unavailable
from genenv_verl.tasks.sandbox.jail import JailUnavailable
from genenv_verl.tasks.sandbox.local import LocalBackend
from genenv_verl.tasks.sandbox.settings import SandboxSettings

logger = logging.getLogger(__name__)


def open_backend(settings: SandboxSettings) -> CheckerBackend:
    """Opens what runs checkers: Sandbox Fusion if its address is given, else the local jail.

    Where the machine cannot isolate, the result is ``Unavailable`` (fail closed), unless the settings accept the
    danger.
    """
    try:
        return LocalBackend(settings)
    except JailUnavailable as error:
        if not settings.run_checkers_without_isolation_i_accept_the_danger:
            return Unavailable(str(error))
    logger.warning("checkers written by a language model run WITHOUT ISOLATION: they may do whatever this user may do")
    return LocalBackend(settings, modes=["none"])
