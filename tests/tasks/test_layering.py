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

import ast
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import genenv_verl

PLAIN_LAYERS = ["tasks", "rewards", "curriculum", "pools", "benchmarks", "evaluation"]

PROBE = """
import importlib, pkgutil, sys
for layer in {layers}:
    package = importlib.import_module(f"genenv_verl.{{layer}}")
    for module in pkgutil.walk_packages(package.__path__, package.__name__ + "."):
        try:
            importlib.import_module(module.name)
        except ModuleNotFoundError as missing:
            # A program for the sandbox that runs an extra's code has that extra for its first import.
            if missing.name not in {{"bfcl_eval"}}:
                raise
print(sorted({{name.partition(".")[0] for name in sys.modules}} & {{"torch", "ray", "verl"}}))
"""


def test_plain_layers_import_neither_torch_nor_ray_nor_verl():
    probe = PROBE.format(layers=PLAIN_LAYERS)
    done = subprocess.run([sys.executable, "-c", probe], capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip() == "[]"


# From the bottom to the top, as docs/design.md has it.
LAYERS = ["tasks", "benchmarks", "rewards", "config", "curriculum", "pools", "evaluation", "trainer", "variants"]
LAYERS += ["report", "cli"]


def imported_layers(module: Path) -> Iterator[str]:
    for node in ast.walk(ast.parse(module.read_text(encoding="utf-8"))):
        names = [node.module or ""] if isinstance(node, ast.ImportFrom) else []
        names += [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
        yield from (name.split(".")[1] for name in names if name.startswith("genenv_verl."))


@pytest.mark.parametrize("layer", LAYERS)
def test_a_layer_imports_only_what_stands_below_it(layer):
    below = {*LAYERS[: LAYERS.index(layer) + 1]}
    modules = sorted((Path(genenv_verl.__file__).parent / layer).rglob("*.py"))
    assert modules
    upward = {str(module): names for module in modules if (names := {*imported_layers(module)} - below)}
    assert upward == {}
