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
"""The AST rules beside the official module: random right and wrong answers to every third record of the release."""

import importlib.util
import random
import sys
import types

import pytest

from genenv_verl.benchmarks import get_benchmark

pytestmark = pytest.mark.skipif(
    importlib.util.find_spec("bfcl_eval") is None, reason="bfcl-eval is not installed (extra bfcl)"
)

STRANGE = [0, True, None, "", "x", "-", 2.5, [], {}, [1], ["a"], [{}], [{"a": 1}], {"a": 1}, [[1]], 10**400, [True]]


@pytest.fixture
def official(monkeypatch):
    """The official checker for Python; the modules that need vendors' clients are stood in for: they are not asked."""

    class Models(dict):
        def __missing__(self, name):
            return types.SimpleNamespace(underscore_to_dot=False)

    stubs = {"bfcl_eval.constants.model_config": {"MODEL_CONFIG_MAPPING": Models()}}
    for language in ("java", "js"):
        name = f"{language}_type_converter"
        stubs[f"bfcl_eval.eval_checker.ast_eval.type_convertor.{name}"] = {name: None}
    for name, members in stubs.items():
        stub = types.ModuleType(name)
        vars(stub).update(members)
        monkeypatch.setitem(sys.modules, name, stub)
    from bfcl_eval.constants.enums import Language
    from bfcl_eval.eval_checker.ast_eval.ast_checker import ast_checker

    def check(record, calls):
        data = record.data
        try:
            verdict = ast_checker(data["functions"], calls, data["answers"], Language.PYTHON, record.split, "a model")
        except Exception:  # A crash of the official code is a failed answer, whatever it is.
            return "official_crash"
        return "ok" if verdict["valid"] else verdict["error_type"]

    return check


def one_of(values, rng):
    """A possible value as a call has it."""
    value = rng.choice(values) if isinstance(values, list) and values else values
    if isinstance(value, dict):
        return {key: one_of(each, rng) for key, each in value.items()}
    return [one_of([each], rng) for each in value] if isinstance(value, list) else value


def spoil(value, rng):
    """Something that is nearly a value, or nothing like it."""
    if isinstance(value, str) and rng.random() < 0.6:
        return rng.choice([value.upper(), f" {value}", value.replace(" ", ", "), f"'{value}'", value[::-1]])
    if isinstance(value, int | float) and rng.random() < 0.6:
        return rng.choice([int(value), float(value), str(value), value + 1])
    if isinstance(value, list) and rng.random() < 0.8:
        return rng.choice([value[::-1], value[:-1], value + value, [spoil(each, rng) for each in value], str(value)])
    if isinstance(value, dict) and value and rng.random() < 0.8:
        key = rng.choice(list(value))
        return rng.choice([{**value, key: spoil(value[key], rng)}, {k: v for k, v in value.items() if k != key}])
    return rng.choice(STRANGE)


def answer(record, rng):
    calls = []
    for wanted in record.data["answers"]:
        for name, possible in wanted.items():
            arguments = {key: one_of(values, rng) for key, values in possible.items() if rng.random() < 0.95}
            for key in arguments:
                if rng.random() < 0.3:
                    arguments[key] = spoil(arguments[key], rng)
            calls.append({name: arguments})
    return rng.sample(calls, len(calls)) if rng.random() < 0.9 else calls[:-1]


def test_random_answers_are_judged_as_by_the_official_module(official):
    from genenv_verl.benchmarks.bfcl_ast import _check

    rng = random.Random(0)
    seen = set()
    for record in get_benchmark("bfcl_ast").load(None)[::3]:
        calls = answer(record, rng)
        reason, expected = _check(record, calls).reason, official(record, calls)
        assert reason.partition(":")[0] == expected if expected == "official_crash" else reason == expected, (
            record.record_id,
            calls,
        )
        seen.add(expected)
    assert len(seen) > 12  # Right answers and most kinds of wrong ones.
