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
"""The plug-in's registrations, each looked at from outside: verl hides the errors of a plug-in."""

import importlib.util
import json
import os
import subprocess
import sys
from importlib.metadata import entry_points

import pytest

needs_verl = pytest.mark.skipif(importlib.util.find_spec("verl") is None, reason="verl is not installed")
TIMEOUT = 600  # importing verl takes ten seconds, on a busy machine minutes


def run_python(*arguments, cwd, **variables):
    environment = {key: value for key, value in os.environ.items() if not key.startswith(("VERL_", "VLLM_"))}
    command = [sys.executable, *arguments]
    done = subprocess.run(
        command, cwd=cwd, env=environment | variables, capture_output=True, text=True, timeout=TIMEOUT
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def facts(program, cwd, **variables):
    """The dictionary `facts` that a program leaves behind."""
    ending = "\nimport json; print('FACTS', json.dumps(facts))"
    output = run_python("-c", program + ending, cwd=cwd, **variables)
    return json.loads(output.rpartition("FACTS ")[2])


def test_entry_points_are_installed():
    [verl_plugin] = entry_points(group="verl.plugins", name="genenv")
    [vllm_plugin] = entry_points(group="vllm.general_plugins", name="genenv_cpu")
    assert verl_plugin.value == "genenv_verl.plugin"
    assert vllm_plugin.value == "genenv_verl.platforms.vllm_cpu:register"


def test_the_plug_in_is_light_and_registers_the_config_path(tmp_path):
    """It runs in every Ray actor and vLLM process."""
    found = facts(
        """
import sys
import genenv_verl.plugin
from hydra._internal.config_search_path_impl import ConfigSearchPathImpl
from hydra.core.plugins import Plugins
from hydra.plugins.search_path_plugin import SearchPathPlugin
path = ConfigSearchPathImpl()
for plugin in Plugins.instance().discover(SearchPathPlugin):
    plugin().manipulate_search_path(path)
facts = {
    "heavy": sorted({"torch", "ray", "verl", "vllm", "transformers", "pandas", "pydantic"} & set(sys.modules)),
    "paths": [entry.path for entry in path.get_path()],
}
""",
        cwd=tmp_path,
    )
    assert found["heavy"] == []
    assert found["paths"].count("pkg://genenv_verl.config") == 1


def test_the_vllm_plug_in_does_nothing_without_the_cpu_platform(tmp_path):
    found = facts(
        """
import sys
from genenv_verl.platforms.vllm_cpu import register
register()
facts = {"vllm": "vllm" in sys.modules}
""",
        cwd=tmp_path,
    )
    assert found == {"vllm": False}


@needs_verl
@pytest.mark.integration
def test_verl_finds_the_configs(tmp_path):
    output = run_python("-m", "verl.trainer.main_ppo", "--config-name", "genenv_cpu", "--cfg", "job", cwd=tmp_path)
    assert "\ngenenv:\n  variant: genenv\n" in output
    assert "\n  v1:\n" in output and "trainer_mode: genenv" in output
    assert "adv_estimator: grpo" in output


@needs_verl
@pytest.mark.integration
def test_without_the_variable_verl_is_left_alone(tmp_path):
    found = facts(
        """
import os, sys
import verl
facts = {
    "plug-in": "genenv_verl.plugin" in sys.modules,
    "trainer": "genenv_verl.trainer.genenv_trainer" in sys.modules,
    "cpu": "genenv_verl.platforms.cpu" in sys.modules,
    "engine device": os.environ.get("VERL_ENGINE_DEVICE"),
    "compile": os.environ.get("TORCH_COMPILE_DISABLE"),
    "finders": [type(finder).__module__ for finder in sys.meta_path],
}
from verl.plugin.platform import PlatformRegistry
facts["registered"] = PlatformRegistry.get("cpu") is not None and "genenv" in PlatformRegistry.get("cpu").__module__
from importlib.metadata import PackageNotFoundError, version
try:
    facts["vllm"] = version("vllm")
except PackageNotFoundError:
    facts["vllm"] = None
""",
        cwd=tmp_path,
        TORCH_COMPILE_DISABLE="",
    )
    assert found.pop("plug-in") is True
    assert found.pop("finders").count("genenv_verl.import_hook") == 1
    assert "+cpu" not in (found.pop("vllm") or "")
    assert found == {"trainer": False, "cpu": False, "engine device": None, "compile": "", "registered": False}


@needs_verl
@pytest.mark.skipif(importlib.util.find_spec("vllm") is None, reason="vLLM is not installed")
@pytest.mark.integration
def test_with_the_variable_trainer_and_cpu_platform_are_registered(tmp_path):
    found = facts(
        """
import os
import verl.trainer.ppo.v1
from importlib.metadata import version
from verl.plugin.platform import PlatformRegistry, get_platform
from verl.trainer.ppo.v1 import PPOTrainerSync, get_trainer_cls
trainer = get_trainer_cls("genenv")
facts = {
    "trainer": trainer.__module__ + "." + trainer.__name__,
    "synchronous": issubclass(trainer, PPOTrainerSync),
    "stock": get_trainer_cls("sync") is PPOTrainerSync,
    "platform": PlatformRegistry.get("cpu").__module__,
    "chosen": get_platform().device_name,
    "engine device": os.environ["VERL_ENGINE_DEVICE"],
    "vllm": version("vllm"),
}
""",
        cwd=tmp_path,
        VERL_PLATFORM="cpu",
    )
    assert "cpu" in found.pop("vllm")
    assert found == {
        "trainer": "genenv_verl.trainer.genenv_trainer.GenEnvTrainer",
        "synchronous": True,
        "stock": True,
        "platform": "genenv_verl.platforms.cpu",
        "chosen": "cpu",
        "engine device": "cuda",
    }
