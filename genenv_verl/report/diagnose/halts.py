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
"""Did something end the run, or keep it from beginning?"""

from __future__ import annotations

from genenv_verl.report.diagnose.facts import Facts
from genenv_verl.report.diagnose.finding import Finding, Remedy, rule

MAX_CHARS = 300


@rule("phase_hung")
def phase_hung(facts: Facts) -> Finding | None:
    """The watchdog ended the run."""
    try:
        with open(facts.run.folder / "watchdog.txt", encoding="utf-8", errors="replace") as file:
            first = file.read(MAX_CHARS).strip().partition("\n")[0]
    except OSError:
        return None
    return Finding(
        says=f"The watchdog ended the run: {first}",
        figures={"watchdog.txt": first},
        remedies=(
            Remedy("genenv.watchdog", "raise the phase's limit if it was slow and not stuck; null switches it off"),
        ),
    )
