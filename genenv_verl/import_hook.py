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
"""Import a module of ours right after one of verl's has been imported.

verl 0.9.1 has no later hook for a plug-in than its own import, and importing its trainer or engine there would cost
every Ray actor and vLLM worker seconds and would run before verl's package is complete.
"""

from __future__ import annotations

import importlib
import importlib.abc
import importlib.util
import sys
from collections.abc import Sequence
from importlib.machinery import ModuleSpec
from types import ModuleType


class _LoaderThenImport(importlib.abc.Loader):
    """Delegates to the real loader and imports the followers once the module has been executed."""

    def __init__(self, inner: importlib.abc.Loader, followers: list[str]):
        self._inner = inner
        self._followers = followers

    def __getattr__(self, name: str):  # get_code, get_filename, is_package …: runpy and inspect ask for them
        return getattr(self._inner, name)

    def create_module(self, spec: ModuleSpec) -> ModuleType | None:
        return self._inner.create_module(spec)

    def exec_module(self, module: ModuleType) -> None:
        self._inner.exec_module(module)
        for follower in self._followers:
            importlib.import_module(follower)


class _Finder(importlib.abc.MetaPathFinder):
    def __init__(self) -> None:
        self.followers: dict[str, list[str]] = {}
        self._searching: set[str] = set()

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        if fullname not in self.followers or fullname in self._searching:
            return None
        self._searching.add(fullname)
        try:
            spec = importlib.util.find_spec(fullname)
        finally:
            self._searching.discard(fullname)
        if spec is not None and spec.loader is not None:
            spec.loader = _LoaderThenImport(spec.loader, self.followers[fullname])
        return spec


_finder = _Finder()


def when_imported(module: str, follower: str) -> None:
    """Imports ``follower`` once ``module`` has been imported, or now if it has been already.

    Args:
        module: full name of the module to wait for.
        follower: full name of the module to import afterwards.
    """
    if module in sys.modules:
        importlib.import_module(follower)
        return
    if _finder not in sys.meta_path:
        sys.meta_path.insert(0, _finder)
    _finder.followers.setdefault(module, []).append(follower)
