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
"""The self-test of evaluations. The checkers here are the test's own, so they may run in this process."""

import itertools
import random
import time

import pytest

from genenv_verl.rewards.solved import is_solved
from genenv_verl.tasks.sandbox.backends import open_backend
from genenv_verl.tasks.sandbox.base import Outcome, Unavailable
from genenv_verl.tasks.sandbox.settings import SandboxSettings
from genenv_verl.tasks.schema import Task
from genenv_verl.tasks.self_test import gold_response, judge_checker, judge_scorer, wrong_answers

TOOLS = [
    {
        "function": {
            "name": name,
            "parameters": {
                "type": "object",
                "properties": {"city": {"type": "string"}, "nights": {"type": "integer"}, "stops": {"type": "array"}},
            },
        }
    }
    for name in ("book", "cancel")
]
GOLD = [{"name": "book", "arguments": {"city": "Oslo", "nights": 3, "stops": ["a", "b"]}}]
READ = """
import json
import time
def call(response):
    try:
        lines = [json.loads(line) for line in response.splitlines() if line.startswith("{")]
    except ValueError:
        return None
    return lines[0] if len(lines) == 1 else None
"""
EXACT = READ + f"def check(response): return call(response) == {GOLD[0]!r}"


def checker_task(checker=EXACT, *, calls=None, answer=None, goal="Book three nights in Oslo by way of a, then b."):
    return Task.model_validate(
        {
            "task_id": "seed.e0.v0",
            "context": {"goal": goal, "tools": TOOLS},
            "evaluation": {"kind": "checker", "checker": checker, "reference": answer},
            "gold_action": calls,
        }
    )


def answer_task(answer, threshold=1.0, goal="Which town is the seat of the Norwegian government?"):
    evaluation = {"kind": "reference_answer", "reference": answer, "success_threshold": threshold}
    return Task.model_validate({"task_id": "t", "context": {"goal": goal}, "evaluation": evaluation})


SEED = Task.model_validate(
    {
        "task_id": "seed",
        "context": {"goal": "Cancel Bergen.", "tools": TOOLS},
        "gold_action": [{"name": "cancel", "arguments": {"city": "Bergen"}}],
    }
)


class InProcess:
    """Runs trusted checkers: every answer in a namespace of its own."""

    name = "in process"

    def __init__(self):
        self.answers = []

    def check(self, source, answers):
        self.answers += answers
        return [self._judge(source, answer) for answer in answers]

    def close(self):
        pass

    @staticmethod
    def _judge(source, answer):
        namespace = {}
        try:
            exec(source, namespace)
            verdict = namespace["check"](answer)
        except SyntaxError:
            return Outcome(None, "syntax_error")
        except KeyError:
            return Outcome(None, "no_entry_point")
        except (SystemExit, KeyboardInterrupt):
            return Outcome(None, "exit")
        except Exception as error:
            return Outcome(None, "exception", str(error))
        return Outcome.verdict(verdict) if verdict is True or verdict is False else Outcome(None, "bad_verdict")


def reason(checker=EXACT, calls=GOLD, answer=None, **task):
    rejection = judge_checker(
        checker_task(checker, calls=None if answer else calls, answer=answer, **task), SEED, InProcess()
    )
    return None if rejection is None else rejection.reason


def test_a_sound_checker_passes_and_every_answer_is_judged_twice():
    backend = InProcess()
    assert judge_checker(checker_task(calls=GOLD), SEED, backend) is None
    counts = {answer: backend.answers.count(answer) for answer in backend.answers}
    assert set(counts.values()) == {2}
    assert 20 < len(counts) < 60


LOOSE = {
    "yes to everything": "def check(response): return True",
    "yes to anything but silence": "def check(response): return len(response) > 0",
    "yes to anything but silence and a refusal": "def check(r): return bool(r) and 'sorry' not in r",
    "yes to calls": "def check(response): return '<tool_call>' in response",
    "the tool alone": READ + "def check(r): return bool(c := call(r)) and c['name'] == 'book'",
    "no tool": READ + f"def check(r): return bool(c := call(r)) and c['arguments'] == {GOLD[0]['arguments']!r}",
    "one argument of three": READ
    + "def check(r): return bool(c := call(r)) and (c['name'], c['arguments'].get('city')) == ('book', 'Oslo')",
    "all but the order": READ
    + "def check(r):\n    c = call(r)\n    a = dict(c['arguments']) if c and c['name'] == 'book' else {}\n"
    "    stops = a.pop('stops', None)\n    if not isinstance(stops, list): return False\n"
    "    return a == {'city': 'Oslo', 'nights': 3} and sorted(map(str, stops)) == ['a', 'b']",
    "numbers as text": READ
    + "def check(r):\n    c = call(r)\n    a = c['arguments'] if c and c['name'] == 'book' else {}\n"
    "    if set(a) != {'city', 'nights', 'stops'}: return False\n"
    "    return (a['city'], str(a['nights']), a['stops']) == ('Oslo', '3', ['a', 'b'])",
    "further arguments": READ
    + "def check(r):\n    c = call(r)\n    a = c['arguments'] if c and c['name'] == 'book' else {}\n"
    "    return (a.get('city'), a.get('nights'), a.get('stops')) == ('Oslo', 3, ['a', 'b'])",
    "further calls": "import json\ndef check(response):\n"
    "    lines = [json.loads(line) for line in response.splitlines() if line.startswith('{\"name\"')]\n"
    f"    return {GOLD[0]!r} in lines",
}


@pytest.mark.parametrize("checker", LOOSE.values(), ids=LOOSE)
def test_E21_a_checker_that_accepts_wrong_answers_is_undiscriminating(checker):
    assert reason(checker) == "checker_undiscriminating"


def test_D04_objects_that_equal_everything_are_found_and_only_booleans_are_verdicts():
    anything = "class Any:\n    def __eq__(self, other): return True\ndef check(response): return Any() == response"
    assert reason(anything) == "checker_undiscriminating"
    for verdict in ("'False'", "1", "[response]", "None"):
        assert reason(f"def check(response): return {verdict}") == "checker_bad_verdict"


@pytest.mark.parametrize(
    ("checker", "expected"),
    [
        ("import sys\ndef check(response): sys.exit(0)", "checker_exit"),  # D03
        ("raise SystemExit(0)", "checker_exit"),  # D03
        ("def check(response): raise ValueError('x')", "checker_exception"),  # D05
        ("def verify(response): return True", "checker_no_entry_point"),
        ("def check(response) return True", "checker_syntax_error"),
        ("def check(response): return False", "checker_rejects_gold"),
        # raises where it should say no: an attempt without a verdict would not count as a failure
        ("import json\ndef check(response): return json.loads(response)['a'] == 1", "checker_exception"),
    ],
)
def test_D03_D05_a_checker_without_a_verdict_is_named_after_what_happened(checker, expected):
    assert reason(checker) == expected


def test_D05_an_empty_gold_makes_no_checker_sound():
    assert reason("def check(response): return response == ''", calls=[]) == "checker_without_gold"
    assert reason("def check(response): return response == ''", calls=None) == "checker_without_gold"


def test_D18_a_checker_with_a_memory_or_a_die_is_flaky():
    class Remembering(InProcess):
        def _judge(self, source, answer, turn=itertools.count()):  # noqa: B008
            return Outcome.verdict(next(turn) % 2 == 0)

    task = checker_task(calls=GOLD)
    assert judge_checker(task, SEED, Remembering()).reason == "checker_flaky"
    dice = random.Random(0)

    class Die(InProcess):
        def _judge(self, source, answer):
            honest = InProcess._judge(source, answer)
            return Outcome.verdict(dice.random() < 0.2) if honest.accepted is False else honest

    assert judge_checker(task, SEED, Die()).reason in {"checker_flaky", "checker_undiscriminating"}


def test_E21_of_ten_checkers_two_are_valid_and_the_others_are_counted_apart():
    checkers = ["def check(response): return False"] * 6 + [LOOSE["yes to calls"]] * 2 + [EXACT] * 2
    reasons = [reason(checker) for checker in checkers]
    assert reasons == ["checker_rejects_gold"] * 6 + ["checker_undiscriminating"] * 2 + [None] * 2


def test_a_broken_checker_costs_two_checks_and_a_hanging_one_a_few():
    backend = InProcess()
    assert judge_checker(checker_task("def check(r): return False", calls=GOLD), SEED, backend).reason
    assert len(backend.answers) == 2

    class Hanging(InProcess):
        def _judge(self, source, answer):
            return Outcome.verdict(True) if "Oslo" in answer else Outcome(None, "timeout")

    backend = Hanging()
    assert judge_checker(checker_task(calls=GOLD), SEED, backend).reason == "checker_timeout"
    assert len(backend.answers) <= 2 + 16


def test_a_right_checker_that_takes_its_time_is_refused(monkeypatch):
    monkeypatch.setattr("genenv_verl.tasks.self_test.MAX_BATTERY_SECONDS", 0.1)

    class Slow(InProcess):
        def check(self, source, answers):
            time.sleep(0.06)
            return super().check(source, answers)

    backend = Slow()
    assert judge_checker(checker_task(calls=GOLD), SEED, backend).reason == "checker_timeout"
    assert len(backend.answers) <= 2 + 2 * 16


def test_nothing_runs_without_a_sandbox():
    rejection = judge_checker(checker_task(calls=GOLD), SEED, Unavailable("install bubblewrap"))
    assert rejection.reason == "checker_unavailable" and "bubblewrap" in rejection.detail


@pytest.mark.parametrize(
    ("checker", "answer", "expected"),
    [
        ("def check(r): return r.strip().rstrip('.').lower() == 'oslo'", "Oslo", None),
        ("def check(r): return r.strip() in ('42', '42.0', 'forty-two')", "42", None),
        ("def check(r): return r.strip().lower() in ('yes', 'true')", "Yes", None),
        ("def check(r): return any(c.isdigit() for c in r)", "42", "checker_undiscriminating"),
        ("def check(r): return 'oslo' in r.lower()", "Oslo", "checker_undiscriminating"),  # an agent may list towns
        ("def check(r): return len(r.split()) > 100 or r == 'Oslo'", "Oslo", "checker_undiscriminating"),
    ],
)
def test_checkers_of_texts(checker, answer, expected):
    assert reason(checker, answer=answer, goal="Answer in a word.") == expected


def test_a_reading_of_the_gold_is_never_a_wrong_answer():
    for answer in ("yes", "No.", "1", "0", "none", "A", "unknown", "{}", "1.0", "TRUE"):
        probes = {probe.response.casefold() for probe in wrong_answers(answer_task(answer), answer_task(answer))}
        assert answer.casefold() not in probes
        assert judge_scorer(answer_task(answer), answer_task("Bergen"), is_solved) is None, answer


@pytest.mark.parametrize(
    ("answer", "threshold", "expected"),
    [
        ("Oslo", 1.0, None),
        ("Oslo", 0.8, None),
        ("Oslo", 0.1, "reference_undiscriminating"),
        ("The seat of the Norwegian government is the town of Oslo.", 1.0, None),
        # one changed word leaves most letters as they are
        ("The seat of the Norwegian government is the town of Oslo.", 0.8, "reference_undiscriminating"),
        ("It was signed on 17 May 1814", 0.9, "reference_undiscriminating"),
        ("<tool_call>", 1.0, "gold_fails"),
    ],
)
def test_a_reference_has_the_analogous_test(answer, threshold, expected):
    rejection = judge_scorer(answer_task(answer, threshold), SEED, is_solved)
    assert (rejection and rejection.reason) == expected


def test_a_gold_that_r_agent_rejects_is_found():
    many = [{"name": "book", "arguments": {"nights": number}} for number in range(100)]
    base = {"task_id": "t", "context": {"goal": "Book them.", "tools": TOOLS}}
    assert judge_scorer(Task.model_validate({**base, "gold_action": many}), SEED, is_solved).reason == "gold_fails"
    assert judge_scorer(Task.model_validate({**base, "gold_action": GOLD}), SEED, is_solved) is None
    assert judge_scorer(Task.model_validate({**base, "gold_action": []}), SEED, is_solved) is None


def test_the_gold_response_of_calls_is_a_block():
    assert gold_response(checker_task(calls=GOLD, answer="Done")).startswith("<tool_call>")


UNSOUND = {"checker_flaky", "checker_rejects_gold", "checker_undiscriminating"}  # whichever the dice show first


@pytest.fixture(scope="module")
def jail():
    backend = open_backend(SandboxSettings(timeout_s=1.0))
    if isinstance(backend, Unavailable):
        pytest.skip(f"no jail on this machine: {backend.why}")
    yield backend
    backend.close()


@pytest.mark.parametrize(
    ("checker", "expected"),
    [
        (EXACT, None),
        (LOOSE["one argument of three"], "checker_undiscriminating"),
        ("def check(response): return False", "checker_rejects_gold"),
        ("def check(response): return 1", "checker_bad_verdict"),  # D04
        ("import os\ndef check(response): os._exit(0)", "checker_exit"),  # D03
        ("def check(response):\n    while True: pass", "checker_timeout"),  # D06
        ("import random\ndef check(response): return random.random() < 0.5", UNSOUND),
        # a flag file of an earlier answer is gone: always False, hence no acceptance of the gold (D18)
        ("import os\ndef check(response):\n    seen = os.path.exists('flag')\n    open('flag', 'w').close()\n"
         "    return seen", "checker_rejects_gold"),
    ],
)  # fmt: skip
def test_the_self_test_in_the_jail(jail, checker, expected):
    rejection = judge_checker(checker_task(checker, calls=GOLD), SEED, jail)
    found = None if rejection is None else rejection.reason
    assert found in expected if isinstance(expected, set) else found == expected
