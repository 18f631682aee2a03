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
"""Checkers in Sandbox Fusion, a service that runs code in containers: ``POST /run_code``.

verl has the same setting, ``reward.sandbox_fusion.url``. One request judges all answers of a call.
"""

from __future__ import annotations

import json
import secrets
import time
import urllib.error
import urllib.request
from collections.abc import Sequence
from importlib.resources import files
from typing import Any

from genenv_verl.tasks.sandbox.base import Outcome
from genenv_verl.tasks.sandbox.jail import NoReply, read_report
from genenv_verl.tasks.sandbox.settings import SandboxSettings

_ATTEMPTS = 3
_BUSY = {429, 502, 503, 504}
_OVERHEAD_SECONDS = 10.0
_MAX_REPLY_BYTES = 8 << 20


class FusionBackend:
    """Runs checkers in Sandbox Fusion.

    Args:
        settings: The address and the limits. ``workers`` is not read: the service has its own.
    """

    name = "sandbox_fusion"

    def __init__(self, settings: SandboxSettings) -> None:
        self._settings = settings

    def check(self, source: str, answers: Sequence[str]) -> list[Outcome]:
        secret = secrets.token_hex(16)
        try:
            reports = self._reports(source, list(answers), secret)
        except (OSError, ValueError) as error:
            url = self._settings.sandbox_fusion_url
            return [Outcome(None, "unavailable", f"Sandbox Fusion at {url}: {error}") for _ in answers]
        except NoReply as none:
            return [Outcome(None, none.reason, none.detail) for _ in answers]
        return [_outcome(report) for report in reports]

    def close(self) -> None:
        pass

    def _reports(self, source: str, answers: list[str], secret: str) -> list[str]:
        """The driver's report on each answer.

        Raises:
            OSError, ValueError: The service does not answer as it should.
            NoReply: The driver was ended before it had judged all answers.
        """
        settings = self._settings
        job = {"source": source, "answers": answers, "timeout_s": settings.timeout_s}
        run_timeout = settings.timeout_s * len(answers) + _OVERHEAD_SECONDS
        answer = self._post(
            {
                "code": driver_code(),
                "stdin": f"{secret}\n{json.dumps(job)}",
                "language": "python",
                "compile_timeout": _OVERHEAD_SECONDS,
                "run_timeout": run_timeout,
                "memory_limit_MB": settings.memory_mb,
                "files": {},
                "fetch_files": [],
            },
            timeout_s=run_timeout + 2 * _OVERHEAD_SECONDS,
        )
        run = answer.get("run_result") or {}
        if answer.get("status") == "SandboxError" or not isinstance(run, dict):
            raise ValueError(f"status {answer.get('status')!r}: {answer.get('message')}")
        if run.get("status") == "TimeLimitExceeded":
            raise NoReply("timeout", "all answers together")
        lines = str(run.get("stdout") or "").splitlines()
        if not lines or not lines[-1].startswith(secret):
            raise NoReply("crash", f"no report; {str(run.get('stderr'))[-200:]}")
        reports = json.loads(lines[-1].removeprefix(secret))
        if not isinstance(reports, list) or len(reports) != len(answers):
            raise ValueError(f"{len(answers)} answers have another number of reports")
        return reports

    def _post(self, body: dict[str, Any], timeout_s: float) -> dict[str, Any]:
        request = urllib.request.Request(
            self._settings.sandbox_fusion_url or "",
            data=json.dumps(body).encode(),
            headers={"Content-Type": "application/json", "Accept": "application/json"},
        )
        for attempt in range(1, _ATTEMPTS + 1):
            try:
                with urllib.request.urlopen(request, timeout=timeout_s) as response:
                    answer = json.loads(response.read(_MAX_REPLY_BYTES))
                break
            except urllib.error.HTTPError as error:
                if error.code not in _BUSY or attempt == _ATTEMPTS:
                    raise
                time.sleep(attempt)
        if not isinstance(answer, dict):
            raise ValueError(f"{type(answer).__name__} instead of an object")
        return answer


def driver_code() -> str:
    """The program that Sandbox Fusion is sent: two modules of this package and the driver."""
    package = "genenv_verl.tasks.sandbox"
    texts = {
        name: files(package).joinpath(f"{name}.py").read_text(encoding="utf-8")
        for name in ("sealed", "checker", "fusion_driver")
    }
    driver = texts.pop("fusion_driver")
    return f"""import sys, types
package = sys.modules[{package!r}] = types.ModuleType({package!r})
for name, text in {texts!r}.items():
    module = types.ModuleType(name)
    exec(compile(text, name, "exec"), module.__dict__)
    setattr(package, name, module)
exec(compile({driver!r}, "driver", "exec"), {{"__name__": "__main__"}})
"""


def _outcome(report: Any) -> Outcome:
    try:
        accepted = read_report(str(report).encode("utf-8", "replace")).get("accepted")
    except NoReply as none:
        return Outcome(None, none.reason, none.detail)
    return Outcome.verdict(accepted) if isinstance(accepted, bool) else Outcome(None, "bad_verdict")
