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
"""Hostile texts of 100 kB: bounded time, a named reason, and never an exception, from every reader of model text."""

import json
import random
import time

import pytest

from genenv_verl.rewards.compute_score import compute_score
from genenv_verl.tasks.generation import Rejection, read_generation
from genenv_verl.tasks.json_reader import MAX_JSON_CHARS, JsonReadError, find_json_values, read_json, repair_json
from genenv_verl.tasks.schema import Generator, Task
from genenv_verl.tasks.tool_calls import MAX_RESPONSE_CHARS, parse_response

SECONDS = 0.2
CALL = '{"name": "f", "arguments": {"a": 1}}'
SHAPES = {
    "brackets": "[",
    "closed brackets": "[]",
    "braces with keys": '{"a":',
    "objects in lists": '[{"a": ',
    "open calls": "<tool_call>",
    "open calls with braces": "<tool_call>{",
    "calls on lines": "\n<tool_call>x",
    "whole calls": f"<tool_call>{CALL}</tool_call>",
    "nested calls": f"<tool_call>{CALL}",
    "objects": CALL,
    "half objects": '{"name": "f", "arguments": {',
    "fences": "```{",
    "thoughts": "<think>",
    "ends of thoughts": "</think>",
    "responses": "<response>",
    "quotes": '"',
    "python strings": "['a', ",
    "apostrophes": "{'",
    "backslashes": "\\",
    "escapes": "\\ud83d",
    "lone surrogates": "\ud83d",
    "combining marks": "\u0301",
    "nan": "[NaN, ",
    "commas": "[1,",
    "digits": "9",
    "exponents": "1e9",
    "null bytes": "\0",
    "blanks": " ",
    "line feeds": "\n",
    "duplicate keys": '{"a": 1, "a": 1}',
    "escaped quotes": '\\"',
    "broken lists": "[1x",
    "broken objects": '{"a": x ',
    "broken fences": "```\n[1x\n```",
    "names": '"name": ',
}
SEED = Task.model_validate({"task_id": "s", "context": {"goal": "Do it."}, "gold_action": []})
WRITER = Generator(model="m", step=0)


def filled(unit: str, characters: int, head: str = "") -> str:
    return (head + unit * (characters // len(unit) + 1))[:characters]


def garbage(characters: int) -> str:
    alphabet = [
        *"{}[]\",:'\\<>/ \n0123456789eE+-.",
        "<tool_call>",
        "</tool_call>",
        "<think>",
        "```",
        "\ud83d",
        "null",
        "é",
    ]
    return "".join(random.Random(0).choices(alphabet, k=characters))[:characters]


def read_task(text: str) -> Task | Rejection:
    return read_generation(
        text, seed=SEED, task_id="t", epoch=0, generator=WRITER, truncated=False, success_threshold=None
    )


def quick(read, *arguments, **options):
    """What ``read`` returns, within ``SECONDS`` of processor time; the best of three, since the machine may be busy."""
    seconds = []
    while not seconds or (min(seconds) >= SECONDS and len(seconds) < 3):
        start = time.process_time()
        try:
            result = read(*arguments, **options)
        except JsonReadError as error:
            result = error
        seconds.append(time.process_time() - start)
    assert min(seconds) < SECONDS
    return result


@pytest.mark.parametrize("head", ["", "<tool_call>", '{"goal": "x", "calls": '])
@pytest.mark.parametrize("unit", [*SHAPES.values(), None], ids=[*SHAPES, "garbage"])
def test_100_kb_cost_little_and_raise_nothing(unit, head):
    # As long as the readers take it: beyond their caps there is no work.
    text = head + garbage(MAX_JSON_CHARS - len(head)) if unit is None else filled(unit, MAX_JSON_CHARS, head)
    response = text[:MAX_RESPONSE_CHARS]
    for mode in ("strict", "lenient"):
        parsed = quick(parse_response, response, mode)
        assert (parsed.status == "malformed") == (parsed.reason is not None)
        assert parse_response(text, mode).reason == "too_long"
    verdict = quick(compute_score, "x", response, json.dumps(SEED.ground_truth()))
    assert 0.0 <= verdict["score"] <= 1.0
    outcome = quick(read_task, text)
    assert isinstance(outcome, Task | Rejection)
    for read in (read_json, repair_json):
        result = quick(read, text)
        assert not isinstance(result, JsonReadError) or result.reason


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("[" * 10_000, "too_deep"),
        ("[" * 10_000 + "]" * 10_000, "too_deep"),
        ("9" * 10_000, "number_too_large"),
        ("-" + "9" * 10_000, "number_too_large"),
        ("1e400", "number_too_large"),
        ("NaN", "not_a_number"),
        ('{"a": 1, "a": 1}', "duplicate_key"),
        ("x" * (MAX_JSON_CHARS + 1), "too_long"),
    ],
)
def test_limits_are_named(text, reason):
    with pytest.raises(JsonReadError) as caught:
        read_json(text)
    assert caught.value.reason == reason


def test_a_number_of_100_000_digits_within_a_call():
    text = '<tool_call>{"name": "f", "arguments": {"a": ' + "9" * 60_000 + "}}</tool_call>"
    assert quick(parse_response, text).reason == "number_too_large"
    assert quick(find_json_values, '{"a": ' + "9" * 90_000 + "}", 1) == []


def test_json_within_json_is_read_once_and_no_deeper():
    once = json.dumps({"name": "f", "arguments": json.dumps({"a": 1})})
    assert parse_response(f"<tool_call>{once}</tool_call>").calls[0].arguments == {"a": 1}
    twice = json.dumps({"name": "f", "arguments": json.dumps(json.dumps({"a": 1}))})
    assert parse_response(f"<tool_call>{twice}</tool_call>").reason == "arguments_not_an_object"
    whole = json.dumps(json.dumps({"name": "f", "arguments": {"a": 1}}))
    assert parse_response(f"<tool_call>\n{whole}\n</tool_call>").reason == "not_json"
    value = '{"a": 1}'
    for _ in range(12):
        value = json.dumps({"name": "f", "arguments": value})
    quick(parse_response, f"<tool_call>{value}</tool_call>")


@pytest.mark.slow
def test_fuzz():
    """10,000 damaged responses and tasks; raise the count for a longer run."""
    rng = random.Random(20_251)
    whole = [
        f"<think>hm</think><tool_call>\n{CALL}\n{CALL}\n</tool_call>",
        json.dumps({"goal": "x", "calls": [json.loads(CALL)]}),
    ]
    pieces = [*SHAPES.values(), CALL, "</tool_call>", "</response>", "'", "None", "True", ",", "}", "]"]
    for _ in range(10_000):
        text = rng.choice(whole)
        for _ in range(rng.randint(1, 6)):
            place = rng.randint(0, len(text))
            text = text[:place] + rng.choice([rng.choice(pieces), ""]) + text[place + rng.randint(0, 5) :]
        strict, lenient = parse_response(text), parse_response(text, "lenient")
        assert strict.status != "ok" or lenient.calls == strict.calls
        for call in (*strict.calls, *lenient.calls):
            type(call).model_validate(call.model_dump()).model_dump_json().encode()
        outcome = read_task(text)
        if isinstance(outcome, Task):
            outcome.model_dump_json().encode()
