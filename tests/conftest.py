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
"""What all tests share."""

import signal

from hypothesis import HealthCheck, settings
from hypothesis.database import DirectoryBasedExampleDatabase

# The tests may run on a machine that does other work as well: slow generation or a slow example is no failure. The
# examples are the same in every run; `pytest --hypothesis-profile=fuzz` looks for new ones.
settings.register_profile("genenv", deadline=None, derandomize=True, suppress_health_check=[HealthCheck.too_slow])
FOUND = DirectoryBasedExampleDatabase(".hypothesis/examples")
settings.register_profile("fuzz", settings.get_profile("genenv"), derandomize=False, database=FOUND, max_examples=5_000)
settings.load_profile("genenv")

# A shell starts its background jobs with SIGINT ignored, and what the tests start would inherit that. A signal with a
# handler becomes deadly again in a program that is started.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)
