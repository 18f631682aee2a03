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
"""Bamboogle: what is the answer, when is it right, and how the rounds go."""

import json
import os
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from genenv_verl.benchmarks import get_benchmark
from genenv_verl.benchmarks.bamboogle import exact_match, extract_answer, f1, search_query
from genenv_verl.benchmarks.base import Record, ReleaseError

RELEASE = [
    {"Question": "Who ruled when the bank was founded?", "Answer": "James Madison"},
    {"Question": "How long is it?", "Answer": "10.8"},
]
SEARCH = '<think> s </think>\n<tool_call>\n{"name": "Search", "parameters": {"query": "bank founded"}}\n</tool_call>'


@pytest.fixture
def bamboogle():
    return get_benchmark("bamboogle")


@pytest.fixture
def records(bamboogle, tmp_path) -> list[Record]:
    (tmp_path / "data.json").write_text(json.dumps(RELEASE))
    return bamboogle.load(tmp_path)


@pytest.mark.parametrize(
    ("response", "answer"),
    [
        ("<think> t </think>\n<response> James Madison </response>", "James Madison"),
        ("<think> t </think> James Madison", "James Madison"),
        ("James Madison", "James Madison"),
        ("<response> first </response><response> second </response>", "first"),
        ("<response> cut off", "cut off"),
        ("<response></response>", ""),
        (SEARCH, None),
        (f"{SEARCH}\n<response> James Madison </response>", None),
        ("", ""),
    ],
)
def test_where_the_answer_stands(response, answer):
    assert extract_answer(response) == answer


@pytest.mark.parametrize(
    ("predicted", "equal"),
    [
        ("james madison", True),
        ("The James, Madison.", True),
        ('"James  Madison"\n', True),
        ("The answer is James Madison", False),
        ("Madison James", False),
        ("James-Madison", False),
        ("", False),
    ],
)
def test_exact_match(predicted, equal):
    assert exact_match(predicted=predicted, gold="James Madison") is equal


def test_b08_listing_the_options_is_no_answer(bamboogle):
    record = Record("r", "test", {"question": "q", "answer": "Berlin"})
    verdict = bamboogle.score(record, {"model_output": "<response>Paris or Berlin or Rome</response>"})
    assert (verdict.score, verdict.reason) == (0.0, "wrong_answer")


@pytest.mark.parametrize(
    ("response", "gold", "equal"),
    [
        ("(3.14)", "3.14", True),
        ("314", "3.14", False),
        ("The 314", "3.14", False),
        ("3,000", "3000", True),
        ("-5", "5", False),
        ("\N{MINUS SIGN}5", "-5", True),
    ],
)
def test_b11_punctuation_that_makes_the_number_stays(response, gold, equal):
    assert exact_match(predicted=response, gold=gold) is equal
    assert f1(predicted=response, gold=gold) == float(equal)


def test_b12_f1_counts_words_with_their_multiplicity():
    assert f1(predicted="Paris Paris Paris Paris Paris", gold="Paris") == pytest.approx(1 / 3)


@pytest.mark.parametrize(
    ("response", "gold", "expected"),
    [
        ("The answer is Yes.", "Yes", 0.0),
        ("Yes or Paris", "Yes", 0.0),
        ("No", "No doubt", 0.0),
        ("noanswer", "noanswer at all", 0.0),
        ("The yes!", "Yes", 1.0),
        ("yes sir", "Yes minister", 0.5),
    ],
)
def test_yes_and_no_share_a_word_with_nothing_but_themselves(response, gold, expected):
    assert f1(predicted=response, gold=gold) == expected


@pytest.mark.parametrize(
    ("response", "gold"),
    # B14 leaves 0.5 and 1/2 to the implementation: fractions are not computed, so they differ.
    [("2e-30", "1e-30"), ("1:00", "12:00"), ("1, 2, 3", "2, 3, 4"), ("-2021", "2021"), ("0.5", "1/2")],
)
def test_b14_no_false_equal(response, gold):
    assert exact_match(predicted=response, gold=gold) is False


@pytest.mark.parametrize("function", [exact_match, f1])
def test_b15_the_two_texts_go_by_keyword_only(function):
    with pytest.raises(TypeError):
        function("4", "x = 4")
    function(predicted="4", gold="x = 4")


def test_b19_only_the_response_scores(bamboogle):
    # The prompt's own example must earn nothing: what is scored starts behind it.
    question = "Answer like <response>Beijing</response>. Capital of Norway?"
    record = Record("r", "test", {"question": question, "answer": "Oslo"})
    step = next(iter(bamboogle.steps([record])))
    assert question in "".join(message.content for message in bamboogle.messages(step))
    assert bamboogle.score(record, bamboogle.parse(step, "<response>Oslo</response>")).score == 1.0
    beijing = Record("r", "test", {"question": question, "answer": "Beijing"})
    assert bamboogle.score(beijing, bamboogle.parse(step, "I do not know")).score == 0.0


@pytest.mark.parametrize(
    ("answer", "reason"),
    [
        ({"answer": "James Madison"}, "ok"),
        ({"answer": None, "model_output": "James Madison"}, "ok"),
        ({"answer": "Ada", "model_output": "James Madison"}, "wrong_answer"),
        ({"answer": None, "model_output": SEARCH}, "search_call"),
        ({"answer": " "}, "empty_answer"),
        ({"answer": ["James Madison"]}, "no_model_output"),
        ({"answer": "James Madison " * 9_000}, "answer_too_long"),
        ({}, "no_model_output"),
    ],
)
def test_what_is_scored(bamboogle, records, answer, reason):
    verdict = bamboogle.score(records[0], answer)
    assert verdict.reason == reason
    assert verdict.score == verdict.details["f1"] == float(reason == "ok")


@settings(deadline=None)
@given(st.text())
def test_no_response_raises(response):
    benchmark = get_benchmark("bamboogle")
    record = Record("r", "test", {"question": "q", "answer": "\x00 never this"})
    assert benchmark.score(record, {"model_output": response}).score == 0.0
    search_query(response)


def test_figures_carry_their_names(bamboogle, records):
    verdicts = [(records[0], bamboogle.score(records[0], {"answer": answer})) for answer in ("James Madison", "James")]
    assert bamboogle.aggregate(verdicts) == {
        "score": 0.5,
        "exact_match": 0.5,
        "f1": pytest.approx((1 + 2 / 3) / 2),
    }


@pytest.mark.parametrize(
    ("response", "query"),
    [
        (SEARCH, "bank founded"),
        (SEARCH.replace("</tool_call>", '{"name": "Search", "parameters": {"query": "second"}}'), "bank founded"),
        (SEARCH.replace('"Search"', '"Browse"'), None),
        (SEARCH.replace('"bank founded"', '""'), None),
        (SEARCH.replace('"bank founded"', "[1]"), None),
        ("<response> done </response>", None),
        ("<think> " + SEARCH.partition("</think>")[2] + " </think> done", None),
    ],
)
def test_the_first_call_of_a_round_is_the_search(response, query):
    assert search_query(response) == query


def test_four_rounds_and_the_last_one_offers_no_tool(bamboogle, records):
    step = next(iter(bamboogle.steps(records)))
    for _ in range(2):
        step = bamboogle.next_round(step, SEARCH, "Doc 1: founded in 1812")
        assert step.task.context.tools
    step = bamboogle.next_round(step, SEARCH, "Doc 2: still 1812")
    system, user = bamboogle.messages(step)
    assert "<tool_call>" not in system.content and "Search" not in system.content
    assert user.content.count(f"<user> {RELEASE[0]['Question']} </user>") == 1
    assert user.content.count("<obs> Doc") == 3
    with pytest.raises(ValueError, match="round 5"):
        bamboogle.next_round(step, SEARCH, "more")
    assert step.record == records[0] and step.step_id == "bamboogle_0"


def test_without_a_query_there_is_no_next_round(bamboogle, records):
    step = next(iter(bamboogle.steps(records)))
    with pytest.raises(ValueError, match="no search"):
        bamboogle.next_round(step, "<response> x </response>", "results")


def test_one_round_is_closed_book(records):
    step = next(iter(get_benchmark("bamboogle", max_rounds=1).steps(records)))
    assert step.task.context.tools == []
    assert step.task.evaluation.reference == "James Madison"


@pytest.mark.parametrize("rounds", [0, -1, 1.5, True, "4"])
def test_rounds_that_cannot_be(rounds):
    with pytest.raises(ValueError, match="max_rounds"):
        get_benchmark("bamboogle", max_rounds=rounds)


@pytest.mark.parametrize(
    "content", [None, "[{", "{}", "[]", '[{"Question": "q"}]', '[{"Question": " ", "Answer": "a"}]']
)
def test_a_damaged_release_is_named_with_the_remedy(bamboogle, tmp_path, content):
    if content is not None:
        (tmp_path / "data.json").write_text(content)
    with pytest.raises(ReleaseError, match="download") as error:
        bamboogle.load(tmp_path)
    assert str(tmp_path / "data.json") in str(error.value)
    with pytest.raises(ReleaseError, match="download"):
        bamboogle.load(None)


def test_every_official_verdict(bamboogle):
    if "GENENV_BENCHMARK_DATA" not in os.environ:
        pytest.skip("GENENV_BENCHMARK_DATA names no folder with the releases")
    real = Path(os.environ["GENENV_BENCHMARK_DATA"])
    records = bamboogle.load(real / "benchmarks/bamboogle")
    assert bamboogle.counts(records) == {"test": 125}
    known = {record.record_id: record for record in records}
    lines = [json.loads(line) for line in (real / "verdicts/bamboogle_dev.jsonl").open(encoding="utf-8")]
    searches = 0
    for line in lines:
        verdict, official = bamboogle.score(known[line["record_id"]], line), line["official"]
        if official["searchr1_em"] is None:  # No verdict: ToolRL would go on with the search that is called.
            searches += 1
            assert verdict.score == 0.0
            continue
        assert verdict.score == official["searchr1_em"], line["id"]
        assert verdict.details["f1"] == pytest.approx(official["flashrag_f1"], abs=1e-6), line["id"]
    assert (len(lines), searches) == (1283, 30)
