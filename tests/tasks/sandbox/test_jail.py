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
from __future__ import annotations

import pytest

from genenv_verl.tasks.sandbox.jail import Jail, JailUnavailable, NoReply

PROGRAM = """
import os

def run(request):
    return {"echo": request["text"], "lines": open(request["file"]).read().split()}
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("jail")
    (folder / "program_of_the_jail_test.py").write_text(PROGRAM)
    (folder / "data").mkdir()
    (folder / "data" / "names.txt").write_text("ada bob")
    (folder / "secret.txt").write_text("secret")
    return folder


@pytest.fixture(scope="module")
def jail(folder):
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(str(folder))
        try:
            jail = Jail("program_of_the_jail_test", readable=[folder / "data"])
        except JailUnavailable as error:
            pytest.skip(str(error))
    yield jail
    jail.close()


def test_program_reads_what_is_readable(jail, folder):
    reply = jail.call({"text": "hé\ud800", "file": str(folder / "data" / "names.txt")}, timeout_s=5)
    assert reply == {"echo": "hé\ud800", "lines": ["ada", "bob"]}


def test_program_sees_nothing_else(jail, folder):
    with pytest.raises(NoReply) as caught:
        jail.call({"text": "", "file": str(folder / "secret.txt")}, timeout_s=5)
    assert caught.value.reason == "exception"
    assert caught.value.detail == "FileNotFoundError"
