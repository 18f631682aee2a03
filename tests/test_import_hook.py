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
"""A module of ours comes right after the one it follows, and that one stays as it was."""

import importlib
import inspect
import runpy
import sys

import pytest

from genenv_verl import import_hook
from genenv_verl.import_hook import when_imported


@pytest.fixture
def package(tmp_path, monkeypatch):
    """A package `host` whose modules write down in which order they run, and a hook without followers."""
    folder = tmp_path / "host"
    folder.mkdir()
    (tmp_path / "order.py").write_text("ran = []\n")
    for name in ("__init__", "engine", "other"):
        module = "host" if name == "__init__" else f"host.{name}"
        (folder / f"{name}.py").write_text(f"import order\norder.ran.append({module!r})\nREADY = True\n")
    for name in ("ours", "ours_too"):
        (tmp_path / f"{name}.py").write_text(
            f"import order, sys\nassert sys.modules['host.engine'].READY\norder.ran.append({name!r})\n"
        )
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(import_hook, "_finder", import_hook._Finder())
    monkeypatch.setattr(sys, "meta_path", list(sys.meta_path))
    before = set(sys.modules)
    yield tmp_path
    for name in set(sys.modules) - before:
        del sys.modules[name]


def ran():
    return importlib.import_module("order").ran


def test_the_follower_comes_right_after_the_module(package):
    when_imported("host.engine", "ours")
    importlib.import_module("host.other")
    assert ran() == ["host", "host.other"]
    importlib.import_module("host.engine")
    assert ran() == ["host", "host.other", "host.engine", "ours"]
    importlib.import_module("host.engine")
    assert ran().count("ours") == 1


def test_a_module_that_is_there_already(package):
    importlib.import_module("host.engine")
    when_imported("host.engine", "ours")
    assert ran() == ["host", "host.engine", "ours"]


def test_several_followers_in_their_order(package):
    when_imported("host.engine", "ours_too")
    when_imported("host.engine", "ours")
    importlib.import_module("host.engine")
    assert ran()[-2:] == ["ours_too", "ours"]


def test_a_follower_may_import_what_it_follows_and_its_siblings(package):
    imports = "import host.engine as engine, host.other\nfrom host.engine import READY\n"
    (package / "ours.py").write_text(f"{imports}assert engine.READY\n")
    when_imported("host.engine", "ours")
    importlib.import_module("host.engine")
    assert ran() == ["host", "host.engine", "host.other"]


def test_a_package_can_be_followed(package):
    (package / "ours.py").write_text("import order, host.engine\norder.ran.append('ours')\n")
    when_imported("host", "ours")
    importlib.import_module("host.other")
    assert ran() == ["host", "host.engine", "ours", "host.other"]


def test_a_failing_follower_is_not_hidden(package):
    (package / "ours.py").write_text("raise RuntimeError('ours is broken')\n")
    when_imported("host.engine", "ours")
    with pytest.raises(RuntimeError, match="ours is broken"):
        importlib.import_module("host.engine")


def test_a_module_that_does_not_exist_is_missing_as_ever(package):
    when_imported("host.missing", "ours")
    with pytest.raises(ModuleNotFoundError, match=r"host\.missing"):
        importlib.import_module("host.missing")


def test_source_and_loader_can_be_asked_for_as_ever(package):
    when_imported("host.engine", "ours")
    assert runpy.run_module("host.engine")["READY"] is True
    module = importlib.import_module("host.engine")
    assert "READY = True" in inspect.getsource(module)
    assert module.__file__ == str(package / "host" / "engine.py")
    assert module.__spec__.origin == module.__file__


def test_modules_that_nobody_follows_are_not_touched(package):
    when_imported("host.engine", "ours")
    module = importlib.import_module("host.other")
    assert type(module.__spec__.loader).__name__ == "SourceFileLoader"
