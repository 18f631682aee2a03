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
"""Entry point of ``verl.plugins``: verl imports this module in every process at ``import verl``.

It must stay light, and it must not fail: verl/__init__.py swallows a plug-in's exception at DEBUG level, so that a
broken registration looks like a missing one. ``tests/test_plugin.py`` checks each registration from outside.
"""

from __future__ import annotations

import os

from genenv_verl.import_hook import when_imported


def _register_config_path() -> None:
    """Lets ``--config-name genenv`` find the package's configs, after ``pip install`` with and without ``-e``.

    Registered from code: a ``hydra_plugins`` folder is not found in an editable install of a flat layout.
    """
    from hydra.core.config_search_path import ConfigSearchPath
    from hydra.core.plugins import Plugins
    from hydra.plugins.search_path_plugin import SearchPathPlugin

    class GenEnvSearchPath(SearchPathPlugin):
        def manipulate_search_path(self, search_path: ConfigSearchPath) -> None:
            search_path.append(provider="genenv_verl", path="pkg://genenv_verl.config")

    Plugins.instance().register(GenEnvSearchPath)


_register_config_path()

# The trainer is imported only where verl's own trainers are: it costs seconds, and this module runs in every worker.
when_imported("verl.trainer.ppo.v1", "genenv_verl.trainer.genenv_trainer")

if os.environ.get("VERL_PLATFORM", "").strip().lower() == "cpu":
    from genenv_verl.platforms import cpu

    cpu.install()
