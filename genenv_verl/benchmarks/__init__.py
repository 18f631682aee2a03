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
"""Five benchmarks, scored like their official scorers; a sixth is one module, named here."""

from __future__ import annotations

import importlib
import inspect

from genenv_verl.benchmarks.base import _REGISTRY, Benchmark

# Scorer names -> the module that registers them. Imported on demand, since some need an extra.
MODULES: dict[str, str] = {
    "apibank": "apibank",
    "alfworld": "alfworld",
    "bfcl": "bfcl",
    "bfcl_ast": "bfcl_ast",
    "bamboogle": "bamboogle",
    "travelplanner": "travelplanner",
}


def is_benchmark(name: str) -> bool:
    """Whether a name is that of a benchmark: one of ``MODULES``, or one that a caller's own module registered."""
    return name in MODULES or name in _REGISTRY


def benchmark_class(name: str) -> type[Benchmark]:
    """The class of a benchmark (ValueError with the known names otherwise)."""
    if not is_benchmark(name):
        raise ValueError(f"benchmark {name!r} is unknown; known are {', '.join({**MODULES, **_REGISTRY})}")
    if name not in _REGISTRY:
        importlib.import_module(f"genenv_verl.benchmarks.{MODULES[name]}")
    return _REGISTRY[name]


def get_benchmark(name: str, **options: object) -> Benchmark:
    """The benchmark of a name with its options.

    Raises:
        ValueError: The name, an option or its value is unknown; the message names those that are known.
    """
    benchmark = benchmark_class(name)
    known = inspect.signature(benchmark).parameters
    for option in options:
        if option not in known:
            has = f"known are {', '.join(known)}" if known else "it has none"
            raise ValueError(f"benchmark {name} has no option {option!r}; {has}")
    return benchmark(**options)
