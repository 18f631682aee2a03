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

import json
import platform
from importlib.metadata import version

from genenv_verl.report.run_files import read_run
from genenv_verl.trainer.versions import record_versions


def test_a_run_tells_which_versions_made_it(tmp_path):
    (tmp_path / "genenv" / "tasks").mkdir(parents=True)
    record_versions(tmp_path)
    written = json.loads((tmp_path / "versions.json").read_text())
    assert written["python"] == platform.python_version()
    assert written["genenv_verl"] == version("genenv_verl")
    assert read_run(tmp_path, "run").versions == written


def test_damaged_versions_are_none(tmp_path):
    (tmp_path / "genenv" / "tasks").mkdir(parents=True)
    (tmp_path / "versions.json").write_text('{"python": ')
    assert read_run(tmp_path, "run").versions == {}
