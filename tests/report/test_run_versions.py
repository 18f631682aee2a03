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

from genenv_verl.report.run_config import RunConfig
from genenv_verl.report.run_versions import read_versions


def test_versions_come_from_hydra_and_from_the_newest_checkpoint(tmp_path):
    for step, text in ((4, '{"transformers_version": "5.1"}'), (12, '{"transformers_version": "5.2"}'), (20, "{")):
        folder = tmp_path / f"global_step_{step}" / "actor" / "huggingface"
        folder.mkdir(parents=True)
        (folder / "config.json").write_text(text)
    config = RunConfig({}, [], None, hydra_version="1.3.2")
    assert read_versions(tmp_path, config) == {"Hydra": "1.3.2", "transformers": "5.2"}


def test_a_run_without_either_tells_none(tmp_path):
    assert read_versions(tmp_path / "nothing", None) == {}
