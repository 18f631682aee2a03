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
"""Checks a second and core: warm jail, and a fresh interpreter for every check.

    python perf/sandbox_throughput.py [--checks 300]

Counted is the processor time of all processes that take part; the wall clock stands beside it. A busy machine (shared
cores and caches) inflates both. The fresh interpreter is not isolated.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

from genenv_verl.tasks.sandbox.jail import Jail

PLAIN = "def check(response):\n    return response == 'Oslo'"
PARSING = """
import json
import re

def check(response):
    found = re.search(r"<tool_call>(.*?)</tool_call>", response, re.DOTALL)
    if found is None:
        return False
    call = json.loads(found[1])
    return call["name"] == "book" and call["arguments"] == {"city": "Oslo", "nights": 3}
"""
CALL = '<tool_call>\n{"name": "book", "arguments": {"city": "Oslo", "nights": 3}}\n</tool_call>'
CHECKERS = {"compares a word": (PLAIN, "Oslo"), "parses a call": (PARSING, CALL)}
PROGRAM = "genenv_verl.tasks.sandbox.checker_program"
_TICK = os.sysconf("SC_CLK_TCK")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--checks", type=int, default=300)
    checks = parser.parse_args().checks
    print(f"{'':36}{'ms of processor':>16}{'a second and core':>19}{'ms of wall clock':>18}")
    for what, (source, answer) in CHECKERS.items():
        for mode in ("namespaces", "landlock"):
            with Jail(PROGRAM, modes=[mode]) as jail:
                pids = [os.getpid(), *below(os.getpid())]
                measure(f"{mode}: {what}", checks, partial(check_in_jail, jail, source, answer), pids)
        check = partial(check_in_fresh_interpreter, source, answer)
        measure(f"fresh interpreter: {what}", max(checks // 10, 1), check, [os.getpid()])


def measure(name: str, checks: int, check: Callable[[], None], pids: list[int]) -> None:
    check()
    processor, wall = processor_seconds(pids), time.perf_counter()
    for _ in range(checks):
        check()
    processor, wall = processor_seconds(pids) - processor, time.perf_counter() - wall
    print(f"{name:36}{1000 * processor / checks:16.2f}{checks / processor:19.0f}{1000 * wall / checks:18.2f}")


def check_in_jail(jail: Jail, source: str, answer: str) -> None:
    assert jail.call({"source": source, "answer": answer}, timeout_s=60) == {"accepted": True}


def check_in_fresh_interpreter(source: str, answer: str) -> None:
    code = f"{source}\nimport sys\nsys.exit(0 if check({answer!r}) is True else 1)"
    assert subprocess.run([sys.executable, "-c", code]).returncode == 0


def below(pid: int) -> Iterator[int]:
    for child in Path(f"/proc/{pid}/task/{pid}/children").read_text().split():
        yield int(child)
        yield from below(int(child))


def processor_seconds(pids: list[int]) -> float:
    """Processor time of the processes and of the children that they have waited for."""
    return (
        sum(sum(map(int, Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[11:15])) for pid in pids)
        / _TICK
    )


if __name__ == "__main__":
    main()
