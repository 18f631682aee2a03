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
"""The failing endpoint of the evaluation's tests: teachers fail in the same ways."""

import importlib.util
import sys
from pathlib import Path

_SOURCE = Path(__file__).parents[1] / "evaluation" / "conftest.py"
_spec = importlib.util.spec_from_file_location("endpoint_fixtures", _SOURCE)
_module = importlib.util.module_from_spec(_spec)
sys.modules["endpoint_fixtures"] = _module
_spec.loader.exec_module(_module)
serve = _module.serve
