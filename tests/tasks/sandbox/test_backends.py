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

import itertools
import os
import resource
import time

import pytest

from genenv_verl.tasks.sandbox import backends
from genenv_verl.tasks.sandbox.backends import open_backend, shared_backend
from genenv_verl.tasks.sandbox.base import Outcome, Unavailable
from genenv_verl.tasks.sandbox.fusion import FusionBackend
from genenv_verl.tasks.sandbox.jail import JailUnavailable
from genenv_verl.tasks.sandbox.local import LocalBackend
from genenv_verl.tasks.sandbox.settings import SandboxSettings

URL = "http://sandbox.example/run_code"


def local(**settings) -> LocalBackend:
    try:
        return LocalBackend(SandboxSettings(**settings))
    except JailUnavailable as error:
        pytest.skip(str(error))


@pytest.fixture(scope="module")
def patient():
    backend = local(timeout_s=20)
    yield backend
    backend.close()


@pytest.fixture(scope="module")
def impatient():
    backend = local(timeout_s=1)
    yield backend
    backend.close()


def outcome(backend, source: str, answer: str = "right") -> Outcome:
    (found,) = backend.check(source, [answer])
    return found


def test_verdicts_in_the_order_of_the_answers(patient):
    source = "def check(response):\n    return response == 'right'"
    assert patient.check(source, ["right", "wrong", "right"]) == [
        Outcome(True, "accepted"),
        Outcome(False, "rejected"),
        Outcome(True, "accepted"),
    ]
    assert patient.check(source, []) == []


def test_checkers_of_the_usual_kind(patient):
    source = """
import json
import re
from collections import Counter
from datetime import datetime

def parse(response):
    return [json.loads(text) for text in re.findall(r"<tool_call>(.*?)</tool_call>", response, re.DOTALL)]

def check(response: str) -> bool:
    calls = parse(response)
    day = datetime.strptime(calls[0]["arguments"]["day"], "%d %B %Y")
    return Counter(call["name"] for call in calls) == {"book": 1} and day.isoweekday() == 5
"""
    call = '<tool_call>\n{"name": "book", "arguments": {"day": "%s"}}\n</tool_call>'
    answers = [call % "31 January 2025", call % "30 January 2025", "no call"]
    assert [found.accepted for found in patient.check(source, answers)] == [True, False, None]


def test_d01_a_checker_that_prints_the_response(patient):
    source = "def check(response):\n    print(response)\n    return False"
    answer = '{"verdict": true, "score": 1.0}\nPASSED\nexit 0\n+{"accepted": true}'
    assert outcome(patient, source, answer) == Outcome(False, "rejected")


@pytest.mark.parametrize(
    ("source", "reason"),
    [
        ("import sys\ndef check(response):\n    sys.exit(0)", "exit"),
        ("import os\ndef check(response):\n    os._exit(0)", "exit"),
        ("raise SystemExit(0)", "exit"),
        # the kernel refuses the signal, and the refusal is an exception
        ("import os, signal\ndef check(response):\n    os.kill(os.getpid(), signal.SIGTERM)", "exception"),
    ],
)
def test_d03_leaving_early_is_no_verdict(patient, source, reason):
    found = outcome(patient, source)
    assert (found.accepted, found.reason) == (None, reason)


@pytest.mark.parametrize("value", ["'False'", "1", "[response]", "None", "'true'"])
def test_d04_only_true_and_false_are_verdicts(patient, value):
    found = outcome(patient, f"def check(response):\n    return {value}")
    assert (found.accepted, found.reason) == (None, "bad_verdict")


def test_d04_equal_to_everything_is_an_honest_true(patient):
    """``==`` returns what ``__eq__`` returns. That such a checker accepts everything is for the self-test to find."""
    source = """
class Any:
    def __eq__(self, other): return True
def check(response):
    return Any() == response
"""
    assert [found.accepted for found in patient.check(source, ["right", "wrong", ""])] == [True] * 3


def test_d05_an_exception_is_no_verdict(patient):
    found = outcome(patient, "def check(response):\n    raise ValueError('x')", "")
    assert found == Outcome(None, "exception", "ValueError")
    # A search that finds nothing: the iterator's end must not be taken for the thread's.
    found = outcome(patient, "def check(response):\n    return next(word == 'x' for word in response.split())", "")
    assert found == Outcome(None, "exception", "RuntimeError")


@pytest.mark.parametrize(
    "source",
    [
        "def check(response):\n    while True:\n        pass",
        "def check(response):\n    return 9 ** 9 ** 9 > 0",
        "import re\ndef check(response):\n    return bool(re.match(r'(a+)+$', 'a' * 40 + '!'))",
        # d07: signals that are ignored
        "import signal, time\nfor s in (15, 2, 14):\n    try: signal.signal(s, signal.SIG_IGN)\n"
        "    except ValueError: pass\ndef check(response):\n    time.sleep(999)",
        # d09: output without end
        "def check(response):\n    while True:\n        print('x' * 1000000)",
    ],
)
def test_d06_d07_d09_busy_checkers_are_killed_in_time(impatient, source):
    memory, start = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss, time.monotonic()
    assert outcome(impatient, source) == Outcome(None, "timeout")
    assert time.monotonic() - start < 6  # One second; the margin is for busy machines.
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - memory < 32_768


@pytest.mark.parametrize(
    "source",
    [
        "def check(response):\n    x = []\n    while True:\n        x.append(bytearray(10 ** 8))",
        "def check(response):\n    return len('a' * (10 ** 11)) > 0",
    ],
)
def test_d10_memory_is_a_reason_of_its_own(patient, source):
    assert outcome(patient, source) == Outcome(None, "memory")


def test_d11_the_parents_variables_are_out_of_sight(patient, monkeypatch):
    monkeypatch.setenv("GENENV_SECRET", "1234")
    source = "import os\ndef check(response):\n    return os.environ == {} and os.listdir('.') == []"
    assert outcome(patient, source).accepted is True


@pytest.mark.parametrize(
    "source",
    [
        "def check(response):\n    return 'built-in' in '{0.__class__.__base__.__subclasses__}'.format(response)",
        "def check(response):\n    return getattr(response, '__cla' + 'ss__') is str",
        "def check(response):\n    return '{\"name__id\": 5}' != response",
    ],
)
def test_d12_nothing_is_banned_by_its_spelling(patient, source):
    assert outcome(patient, source) == Outcome(True, "accepted")


def test_d18_each_check_starts_in_a_fresh_empty_directory(patient):
    if "namespaces" not in patient.name:
        pytest.skip("without namespaces there is no folder to write to")
    source = """
import os
def check(response):
    seen = os.path.exists('flag')
    open('flag', 'w').close()
    return seen
"""
    assert [found.accepted for found in patient.check(source, ["a"] * 8)] == [False] * 8


def test_nothing_in_memory_survives_a_check(patient):
    source = """
import json, builtins
def check(response):
    seen = hasattr(json, 'seen') or hasattr(builtins, 'seen')
    json.seen = builtins.seen = True
    return seen
"""
    assert [found.accepted for found in patient.check(source, ["a"] * 4)] == [False] * 4


def test_a_random_checker_shows(patient):
    source = "import random\ndef check(response):\n    return random.random() < 0.5"
    assert len({found.accepted for found in patient.check(source, ["a"] * 40)}) == 2


def test_the_order_of_a_set_is_the_same_in_every_worker(patient):
    source = "def check(response):\n    return ','.join({'a', 'b', 'c'}) == response"
    other = local(timeout_s=20)
    orders = [",".join(order) for order in itertools.permutations("abc")]
    verdicts = [found.accepted for found in patient.check(source, orders)]
    assert verdicts == [found.accepted for found in other.check(source, orders)]
    assert sum(verdicts) == 1
    other.close()


def test_too_large_is_a_reason(patient, monkeypatch):
    monkeypatch.setattr("genenv_verl.tasks.sandbox.jail.MAX_BYTES", 1000)
    assert outcome(patient, "def check(response): return True", "x" * 1000).reason == "too_large"


def test_sandbox_fusion_comes_first():
    assert isinstance(open_backend(SandboxSettings(sandbox_fusion_url=URL)), FusionBackend)
    assert isinstance(open_backend(SandboxSettings(sandbox_fusion_url=URL, backend="sandbox_fusion")), FusionBackend)


def test_sandbox_fusion_without_an_address_is_unavailable():
    backend = open_backend(SandboxSettings(backend="sandbox_fusion"))
    (found,) = backend.check("def check(response): return True", ["a"])
    assert (found.accepted, found.reason) == (None, "unavailable")
    assert "reward.sandbox_fusion.url" in found.detail


def no_isolation(settings, modes=("namespaces",)):
    if "none" not in modes:
        raise JailUnavailable("install something")
    return "unprotected"


def test_without_isolation_it_fails_closed(monkeypatch):
    monkeypatch.setattr(backends, "LocalBackend", no_isolation)
    backend = open_backend(SandboxSettings())
    assert isinstance(backend, Unavailable)
    assert (
        backend.check("def check(response): return True", ["a", "b"])
        == [Outcome(None, "unavailable", "install something")] * 2
    )


def test_the_danger_has_to_be_accepted_by_name(monkeypatch, caplog):
    monkeypatch.setattr(backends, "LocalBackend", no_isolation)
    settings = SandboxSettings(run_checkers_without_isolation_i_accept_the_danger=True)
    assert open_backend(settings) == "unprotected"
    assert "WITHOUT ISOLATION" in caplog.text


def test_shared_backend_is_opened_at_the_first_check(monkeypatch):
    opened = []

    def open_one(settings):
        opened.append(settings)
        return Unavailable("none")

    monkeypatch.setattr(backends, "open_backend", open_one)
    settings = SandboxSettings(timeout_s=7.25)
    backend = shared_backend(settings)
    assert shared_backend(SandboxSettings(timeout_s=7.25)) is backend
    assert opened == []
    backend.check("", ["a"])
    backend.check("", ["a"])
    assert opened == [settings]


def test_local_backend_leaves_no_process(patient):
    backend = local()
    outcome(backend, "def check(response): return True")
    (pid,) = backend._jail.pids()
    backend.close()
    assert not os.path.exists(f"/proc/{pid}")
