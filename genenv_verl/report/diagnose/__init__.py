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
"""``genenv-verl diagnose``: what is wrong with a run, in plain language.

A rule is a function in one of the modules here, registered with ``finding.rule``; it reads ``facts.Facts`` and returns
a finding or None. The thresholds stand at the top of its module, each with its reason.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass, replace
from typing import Any

from genenv_verl.report.diagnose import attempts, environment, halts, written_tasks
from genenv_verl.report.diagnose.facts import Facts
from genenv_verl.report.diagnose.finding import RULES, Finding
from genenv_verl.report.diagnose.trends import MIN_TREND
from genenv_verl.report.run_files import Run

__all__ = ["RULES", "Diagnosis", "attempts", "diagnose", "environment", "halts", "written_tasks"]


@dataclass(frozen=True)
class Diagnosis:
    """The findings of a run.

    Attributes:
        run: The run's folder.
        variant: Its variant, ``unknown`` if nothing says.
        epochs: Epochs that could be read.
        findings: By the names of their rules.
        assumed: Settings that are not recorded, and what was taken in their place.
        notes: What is damaged or missing, and what the run itself warned of last, as sentences.
    """

    run: str
    variant: str
    epochs: int
    findings: dict[str, Finding]
    assumed: dict[str, Any]
    notes: list[str]

    def to_json(self) -> dict[str, Any]:
        """Plain containers: ``findings`` is a list of ``name``, ``says``, ``figures`` and ``try``."""
        findings = [
            {"name": name, "says": it.says, "figures": it.figures, "try": [asdict(remedy) for remedy in it.remedies]}
            for name, it in self.findings.items()
        ]
        return {**asdict(self), "findings": findings}


def diagnose(run: Run) -> Diagnosis:
    """Applies all rules; never an error, whatever the run's files hold."""
    facts = Facts(run)
    found = {name: finding for name, check in RULES.items() if (finding := check(facts)) is not None}
    findings = {name: _with_usable_remedies(finding, facts) for name, finding in found.items()}
    notes = [*run.notes]
    if len(run.epochs) < MIN_TREND:
        notes.append(f"Trends need {MIN_TREND} epochs, {len(run.epochs)} can be read.")
    warnings = run.epochs[-1].get("warnings") if run.epochs else None
    if isinstance(warnings, list):
        notes.extend(f"The run warned: {warning}" for warning in warnings[:3] if isinstance(warning, str))
    return Diagnosis(str(run.root), run.variant, len(run.epochs), findings, facts.assumed, notes)


def _with_usable_remedies(finding: Finding, facts: Facts) -> Finding:
    """The finding without what ``genenv.objective=grpo`` does not read (λ), normalises away (β) or restricts."""
    if not facts.compares_variations:
        return finding
    idle = {"genenv.rwr.lam", "genenv.beta", "genenv.granularity"}
    usable = (remedy for remedy in finding.remedies if remedy.key not in idle)
    return replace(finding, remedies=tuple(usable))
