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

import csv
import io
import json

import pytest

from genenv_verl.evaluation.paper_rows import COLUMNS, PAPER_ROWS
from genenv_verl.evaluation.results import ResultError, read_answer_lines, read_results, write_result
from genenv_verl.evaluation.table import as_csv, as_json, markdown, measured_row, paper_rows, row_names

SETTINGS = {"model": "mine", "style": "unified", "decoding": {"temperature": 0.0}, "context_tokens": 9000}


def result(name, figure=0.5, *, failed=0, limited=False, splits=None, **settings):
    interval = {"low": 0.4, "high": 0.6, "standard_error": 0.05}
    return {
        "benchmark": name,
        "metric": "exact match" if name == "bamboogle" else "score",
        "figure": figure,
        "interval": None if figure is None else interval,
        "scored_steps": 30,
        "scored_records": 10 if name == "bfcl" else 30,
        "failed_steps": failed,
        "limited": limited,
        "splits": splits or {"validation": 30},
        "settings": SETTINGS | settings,
    }


def all_five(**changes):
    return {name: result(name, **changes.get(name, {})) for name in COLUMNS}


def test_the_papers_averages_are_the_means_of_its_columns():
    assert len(PAPER_ROWS) == 12
    for figures in PAPER_ROWS.values():
        assert sum(figures[:5]) / 5 == pytest.approx(figures[5], abs=0.0501)


def test_the_average_needs_all_five():
    assert measured_row("mine", all_five()).average.value == pytest.approx(50.0)
    four = all_five()
    del four["alfworld"]
    assert measured_row("mine", four).average is None
    assert measured_row("mine", all_five(bfcl={"figure": None})).average is None
    assert measured_row("mine", all_five() | {"bfcl_ast": result("bfcl_ast", 1.0)}).average.value == pytest.approx(50.0)


def test_an_average_over_a_column_of_unknown_spread_has_no_interval():
    nothing = result("bfcl", 0.0) | {"interval": {"low": 0.0, "high": 0.26, "standard_error": 0.0}}
    average = measured_row("mine", all_five() | {"bfcl": nothing}).average
    assert average.value == pytest.approx(40.0) and average.low is None and average.standard_error is None


def test_the_interval_of_the_average_is_narrower_than_those_of_its_columns():
    average = measured_row("mine", all_five()).average
    assert average.standard_error == pytest.approx(5.0 / 5**0.5)
    assert (average.low, average.high) == pytest.approx((50 - 1.96 * 5 / 5**0.5, 50 + 1.96 * 5 / 5**0.5), abs=1e-4)


def test_markdown_marks_what_is_quoted_incomplete_or_a_part():
    results = all_five(alfworld={"failed": 3}, bfcl={"limited": True}, travelplanner={"splits": {"train": 30}})
    lines = markdown([*paper_rows(), measured_row("mi|ne", results)]).splitlines()
    assert lines[0] == "| Model | ALFWorld | BFCL | API-Bank | Bamboogle | TravelPlanner | Average |"
    assert lines[2] == "| Llama 3.1 405B *(quoted)* | 65.3 | 5.5 | 74.4 | 77.6 | 16.5 | 47.9 |"
    mine = lines[14].split(" | ")
    assert mine[0] == r"| **mi\|ne**"
    assert mine[1] == "50.0 [40.0, 60.0] n=30 †3 failed"
    assert mine[2] == "50.0 [40.0, 60.0] n=30 of 10 records‡"
    assert mine[4] == "50.0 [40.0, 60.0] n=30 (exact match)"
    assert mine[5] == "50.0 [40.0, 60.0] n=30 (score, training split)"
    assert mine[6].startswith("50.0 [") and "†3 failed" in mine[6] and "‡" in mine[6]
    text = "\n".join(lines[15:])
    assert "†: incomplete" in text and "‡: a part" in text
    whole = markdown([measured_row("mine", all_five())])
    assert "†" not in whole and "‡" not in whole and "quoted" in whole


@pytest.mark.parametrize(
    ("model", "shown"),
    [(r"a\|b", r"a\\\|b"), (r"C:\models" + "\\", r"C:\\models\\"), ("a\rb\u2028c\n", "a b c")],
)
def test_no_model_name_breaks_its_row(model, shown):
    row = markdown([measured_row(model, {"apibank": result("apibank")})]).splitlines()[2]
    assert row.startswith(f"| **{shown}** | – | – | 50.0 ") and row.endswith(" | – |")


def test_csv_and_json_hold_the_same_figures():
    rows = [*paper_rows(), measured_row('my, "model"', {"apibank": result("apibank")})]
    lines = list(csv.DictReader(io.StringIO(as_csv(rows))))
    assert [line["source"] for line in lines] == ["quoted"] * 12 + ["measured"]
    assert lines[11] | {"model": "GenEnv 7B", "average": "53.6000", "bfcl_steps": ""} == lines[11]
    mine = {"apibank": "50.0000", "apibank_low": "40.0000", "apibank_steps": "30", "apibank_failed": "0", "average": ""}
    assert lines[12] | mine | {"model": 'my, "model"', "bfcl": ""} == lines[12]
    parsed = json.loads(as_json(rows))
    assert parsed[12]["cells"]["apibank"]["value"] == 50.0 and parsed[12]["average"] is None
    assert parsed[0]["cells"]["bfcl"]["value"] == 5.5


def test_rows_of_one_model_are_told_apart(tmp_path):
    one, two, styled = tmp_path / "one", tmp_path / "two", tmp_path / "styled"
    results = {one: all_five(), two: all_five(), styled: {"bfcl": result("bfcl", style="qwen")}}
    assert row_names(results) == {one: f"mine ({one})", two: f"mine ({two})", styled: "mine, qwen"}


def test_results_of_a_folder_belong_together(tmp_path):
    for name in ("bfcl", "apibank"):
        write_result(tmp_path / name, result(name), [])
    assert read_results(tmp_path).keys() == {"bfcl", "apibank"}
    write_result(tmp_path / "alfworld", result("alfworld", decoding={"temperature": 1.0}), [])
    with pytest.raises(ResultError, match="with decoding .*one folder is one row"):
        read_results(tmp_path)


def test_answers_that_are_cut_are_damaged(tmp_path):
    write_result(tmp_path / "bfcl", result("bfcl"), [{"id": "a"}, {"id": "b"}])
    path = tmp_path / "bfcl" / "answers.jsonl"
    assert read_answer_lines(tmp_path / "bfcl").keys() == {"a", "b"}
    path.write_text(path.read_text()[:-4])
    with pytest.raises(ResultError, match="answers.jsonl is missing or damaged .its last line is cut"):
        read_answer_lines(tmp_path / "bfcl")


@pytest.mark.parametrize("content", ["", "{}", "[]", '{"settings": 1, "benchmark": "x"}', "null"])
def test_a_damaged_result_is_named(tmp_path, content):
    (tmp_path / "bfcl").mkdir()
    (tmp_path / "bfcl" / "result.json").write_text(content)
    with pytest.raises(ResultError, match="bfcl/result.json is damaged"):
        read_results(tmp_path)


def test_a_folder_without_results(tmp_path):
    with pytest.raises(ResultError, match="holds no result"):
        read_results(tmp_path / "nowhere")
