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
"""Free-text half of R_agent: normalisation, numbers by value, similarity."""

import itertools
import time
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from genenv_verl.rewards.text import MAX_CHARACTERS, MAX_MARKS, normalise, similarity, token_f1


@pytest.mark.parametrize(
    ("text", "normalised"),
    [
        ("  Oslo.\n", "oslo"),
        ("**Oslo**", "oslo"),
        ('"Oslo".', "oslo"),
        ("Straße", "strasse"),
        ("Oslo", "oslo"),
        ("New\u00a0 York !", "new york"),
        ("-5", "-5"),
        ("\N{MINUS SIGN}5", "-5"),
        (".5", ".5"),
        ("C++", "c++"),
        ("...", "..."),
        ("", ""),
        ("(a) or (b)", "a) or (b"),
    ],
)
def test_normalise(text, normalised):
    assert normalise(text) == normalised


@pytest.mark.parametrize(
    ("predicted", "gold", "equal"),
    [
        ("Oslo.", "oslo", True),
        ("1,200 km", "1200km", True),
        ("1,200", "12,00", False),
        ("12,00", "1200", False),
        ("1,200", "1.200", False),
        ("3.140", "3.14", True),
        ("O’Brien doesn’t", "O'Brien doesn't", True),
        ("“A” and “B”", '"A" and "B"', True),
        ("5’000", "5000", True),
        ("»Oslo«", "„Oslo“", True),
        ("「東京」", "東京", True),
        ("2,3,5", "2, 3, 5", True),
        ("[2,-3,5]", "[2, -3, 5]", True),
        ("2,3,5", "2, 5, 3", False),
        ("1, 234", "1,234", False),
        ("[1, 234, 5]", "[1,234, 5]", False),
        ("Oslo ,Bergen", "Oslo, Bergen", True),
        ("3 : 2", "3:2", True),
        ("1 / 2", "1/2", True),
        ("x=5", "x = 5", True),
        ("x=-5", "x = -5", True),
        ("low:-5, high:3", "low: -5, high: 3", True),
        ("[10,1000]", "[10, 1000]", True),
        ("2 × 10^3", "2000", False),
        ("10²", "102", False),
        ("10⁵", "10^5", True),
        ("10\N{SUPERSCRIPT MINUS}²", "10^-2", True),
        ("5 m²", "5 m2", True),
        ("H₂O", "H2O", True),
        ("10₂", "102", False),
        ("½", "1/2", True),
        ("1½", "11/2", False),
        ("1½", "1 1/2", True),
        ("①②", "12", False),
        ("①", "1", True),
        ("①200", "1200", False),
        ("1₂₀₀", "1200", False),
        ("1⓪", "10", False),
        ("1↉", "10/3", False),
        ("²5", "25", False),
        ("½5", "1/25", False),
        ("5\u33e0", "51日", False),
        ("１２", "12", True),
        ("10²³", "10^23", True),
        ("Os\u200blo\ufeff", "Oslo", True),
        ("1e3", "1000", True),
        ("$1,000", "$1000.00", True),
        ("5 %", "5%", True),
        ("5", "5%", False),
        ("5 km", "5 miles", False),
        ("1 km", "1000 m", False),
        ("5 or six", "5", False),
        # B11: punctuation around a number goes, punctuation that makes the number stays.
        ("(3.14)", "3.14", True),
        ("314", "3.14", False),
        ("3,000", "3000", True),
        ("-5", "5", False),
        ("\N{MINUS SIGN}5", "-5", True),
        # B14: no tolerance, no comparison of the first part alone. A fraction is not evaluated.
        ("2e-30", "1e-30", False),
        ("1:00", "12:00", False),
        ("1, 2, 3", "2, 3, 4", False),
        ("-2021", "2021", False),
        ("0.5", "1/2", False),
        # B08: listing the options is not an answer.
        ("Paris or Berlin or Rome", "Berlin", False),
    ],
)
def test_the_same_answer_and_only_it_scores_1(predicted, gold, equal):
    assert (similarity(predicted=predicted, gold=gold) == 1.0) is equal


@pytest.mark.parametrize(
    ("predicted", "gold"),
    [
        ("1999", "1998"),
        ("1,201 km", "1,200 km"),
        ("1:00", "12:00"),
        ("1, 2, 3", "2, 3, 4"),
        ("555-0100", "555-0101"),
        ("5 degrees in Oslo", "-5 degrees in Oslo"),
        ("x=-5", "x=5"),
        ("in Oslo it is -5", "in Oslo it is 5"),
        ("Room 5, 6", "Room 5"),
        ("not applicable", "applicable"),
        ("there is no 5th floor", "there is a 5th floor"),
        ("The request can't be granted", "The request can be granted"),
    ],
)
def test_a_wrong_value_is_not_nearly_right(predicted, gold):
    assert similarity(predicted=predicted, gold=gold) == 0.0


def test_the_number_of_a_house_is_no_denial():
    assert similarity(predicted="No. 5 Baker Street", gold="5 Baker Street") > 0.8
    assert similarity(predicted="№ 5", gold="number 5") > 0.0


def test_wording_is_graded():
    gold = "the train leaves at noon"
    near = similarity(predicted="the train left at noon", gold=gold)
    far = similarity(predicted="no idea", gold=gold)
    assert 0.8 < near < 1.0
    assert 0.0 <= far < 0.4
    assert similarity(predicted=gold + " x" * 5_000, gold=gold) < 0.01
    assert similarity(predicted=" \n", gold=gold) == 0.0
    assert similarity(predicted="\N{SOFT HYPHEN}", gold="\N{SOFT HYPHEN}") == 0.0, "nothing to be seen is no answer"


def test_a_single_differing_character_in_a_long_text_is_below_1():
    gold = "abcdefgh" * 1_900
    assert similarity(predicted=gold + "i", gold=gold) < 1.0


def test_over_long_texts_are_only_compared_for_identity():
    long = "a" * (MAX_CHARACTERS + 1)
    assert similarity(predicted=long, gold=long) == 1.0
    assert similarity(predicted=long, gold=long[:-1]) == 0.0
    assert token_f1(predicted=long, gold=long) == 1.0
    assert token_f1(predicted=long, gold=long + "b") == 0.0


@pytest.mark.parametrize(
    ("predicted", "gold"),
    [
        ("a, " * 66_667, "a, b"),  # C14
        ("\u0301\u0323" * (MAX_CHARACTERS // 2), "e"),  # a run of combining marks is sorted in quadratic time
        ("e" + "\u0345\u0301" * (MAX_CHARACTERS // 2 - 1), "e" + "\u0301\u0345" * (MAX_CHARACTERS // 2 - 1)),
        ("\u0f73" * MAX_CHARACTERS, "e"),  # no mark itself, but it becomes two
        ("\u0301\uff9e" * (MAX_CHARACTERS // 2), "e"),
        ("\ufdfa" * MAX_CHARACTERS, "\ufdfa" * (MAX_CHARACTERS - 1)),  # one character becomes eighteen
        ("(" * (MAX_CHARACTERS // 2) + ")" * (MAX_CHARACTERS // 2), "a"),
    ],
)
def test_c14_hostile_texts_cost_little(predicted, gold):
    start = time.process_time()
    similarity(predicted=predicted, gold=gold)
    token_f1(predicted=predicted, gold=gold)
    assert time.process_time() - start < 5  # A third of a second; the margin is for busy machines.


@pytest.mark.parametrize(
    "text", ["\u0301\u0323" * 5_000, "e" + "\u0345\u0301" * 5_000, "\u0f73" * 5_000, "\u0301\uff9e" * 5_000]
)
def test_no_run_of_marks_is_long_enough_to_be_slow(text):
    """Sorting a run of combining marks takes quadratic time, whoever sorts it."""
    kinds = map(unicodedata.combining, unicodedata.normalize("NFKD", normalise(text)))
    assert max(len(list(run)) for mark, run in itertools.groupby(kinds, key=bool) if mark) <= MAX_MARKS


def test_marks_beyond_the_stream_safe_run_still_tell_answers_apart():
    marks = "\u0301\u0323" * 40
    assert similarity(predicted="e" + marks, gold="e" + marks) == 1.0
    assert similarity(predicted="e" + marks, gold="e" + marks + "\u0301") < 1.0


def test_b12_f1_counts_words_with_their_multiplicity():
    f1 = token_f1(predicted="Paris Paris Paris Paris Paris", gold="Paris")
    assert f1 == pytest.approx(1 / 3, abs=1e-4)
    assert token_f1(predicted="in Paris, France", gold="Paris") == pytest.approx(0.5)
    assert token_f1(predicted="", gold="Paris") == 0.0
    assert token_f1(predicted="Paris", gold="paris.") == 1.0


@pytest.mark.parametrize("function", [similarity, token_f1])
def test_b15_the_two_texts_go_by_keyword(function):
    with pytest.raises(TypeError):
        function("4", "x = 4")
    function(predicted="4", gold="x = 4")


@given(st.text(), st.text())
def test_any_two_texts_score_in_range(predicted, gold):
    assert 0.0 <= similarity(predicted=predicted, gold=gold) <= 1.0
    assert 0.0 <= token_f1(predicted=predicted, gold=gold) <= 1.0


@given(st.text().filter(normalise))
def test_a_text_is_the_same_answer_as_itself(text):
    assert similarity(predicted=text, gold=text) == 1.0


@given(st.from_regex(r"-?[0-9]{1,6}(\.[0-9]{1,3})?", fullmatch=True), st.sampled_from(["", " km", "%", " °C"]))
def test_a_changed_number_scores_0(number, unit):
    assert similarity(predicted=number + unit, gold=number + unit) == 1.0
    assert similarity(predicted="1" + number.lstrip("-") + unit, gold=number + unit) == 0.0
