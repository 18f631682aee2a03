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

import json
from pathlib import Path

import pytest

from genenv_verl.report.fields import clipped, counts, number
from genenv_verl.report.json_lines import read_json_lines
from genenv_verl.report.run_files import NoRun, read_run, run_names
from genenv_verl.report.series import (
    epoch_series,
    histograms,
    share_series,
    stacked_counts,
    success_over_tokens,
    total_tokens,
    validation_over_tokens,
    validation_series,
)


def test_damaged_lines_are_none_and_the_rest_is_read(tmp_path):
    path = tmp_path / "lines.jsonl"
    deep = b"[" * 100_000
    path.write_bytes(
        b'{"a": 1}\n\n{"a": \n[1]\n' + deep + b'\n{"a": NaN}\n\xff{\n{"b": "' + b"x" * 500 + b'"}\n{"c": 3}'
    )
    assert list(read_json_lines(path, 400)) == [{"a": 1}, None, None, None, {"a": None}, None, None, {"c": 3}]


@pytest.mark.parametrize("value", [True, "1", None, [1], float("nan"), float("inf"), 10**400, -(10**400)])
def test_what_is_no_finite_number_is_none(value):
    assert number({"a": {"b": value}}, "a.b") is None
    assert counts({"a": {"b": value, "c": 2, "d": -1}}, "a") == {"c": 2.0}


@pytest.mark.parametrize("least", [5e-324, -5e-324, 1e-300])
def test_no_quotient_of_numbers_is_infinite(make_run, lines, least):
    run = read_run(make_run(epochs=[lines.epoch(0, groups=least), lines.epoch(1)]), "run")
    assert number({"a": least}, "a") == 0.0
    assert [epoch for epoch, _ in share_series(run, "accepted_groups", "groups")] == [1.0]


def test_long_and_broken_text_is_cut_and_mended():
    assert clipped("a" * 30, 10).startswith("aaaaaaaaaa … (20 more")
    assert clipped("\ud800x") == "�x"
    nested: list = []
    for _ in range(100_000):
        nested = [nested]
    assert "nested too deeply" in clipped(nested)


def test_a_damaged_run_is_read_with_notes(make_run, lines):
    run = make_run(epochs=[lines.epoch(0), lines.epoch(2)], tasks={2: [lines.task(0)], 7: []})
    file = run / "genenv" / "epochs.jsonl"
    bad = [
        "{",
        "[]",
        '{"epoch": "1"}',
        '{"epoch": true}',
        '{"epoch": -1}',
        json.dumps(lines.epoch(2, success_rate=0.9)),
    ]
    file.write_text(file.read_text() + "\n".join(bad) + '\n{"epoch": 3, "succ')
    read = read_run(run, "run")
    assert [line["epoch"] for line in read.epochs] == [0, 2]
    assert epoch_series(read, "success_rate") == [(0.0, 0.1), (2.0, 0.9)]  # the later line of an epoch counts
    text = " ".join(read.notes)
    for part in ("6 damaged lines", "1 line in epochs.jsonl for an epoch that is there twice",
                 "No task file for epoch 0", "without an epoch line: epoch 7", "No configuration"):  # fmt: skip
        assert part in text


@pytest.mark.parametrize(
    ("variant", "is_missed"), [("genenv", True), ("random", True), ("grpo", False), ("static", False)]
)
def test_task_files_are_missed_only_where_tasks_are_written(make_run, lines, variant, is_missed):
    notes = read_run(make_run(epochs=[lines.epoch(0, variant=variant)]), "run").notes
    assert any("No task file" in note for note in notes) is is_missed


def test_eight_responses_of_a_megabyte_are_no_damage(tmp_path):
    (tmp_path / "big.jsonl").write_text(json.dumps({"attempts": [{"response": "x" * 1_000_000}] * 8}) + "\n")
    [record] = read_json_lines(tmp_path / "big.jsonl")
    assert record is not None


@pytest.mark.parametrize(
    "change",
    [
        {
            "success_rate": "high",
            "tokens": 7,
            "seconds": None,
            "p_hat_histogram": [1, 2],
            "invalid_reasons": [],
            "trust": 3,
        },
        {"tokens": {"env_generate": "x"}, "p_hat_histogram": [None] * 10, "invalid_reasons": {"a": -1, "b": "2"}},
        {"p_hat_histogram": [0] * 10, "warnings": "none", "env_update": None, "novelty": [], "coverage": {"tools": {}}},
    ],
)
def test_fields_of_other_types_are_missing(make_run, lines, change):
    run = read_run(make_run(epochs=[lines.epoch(0, **change)]), "run")
    assert histograms(run) == []
    assert sum(map(sum, stacked_counts(run, "invalid_reasons")[1].values())) in (0, 2)
    for path in ("success_rate", "trust.lucky", "env_update.kl_step"):
        assert all(isinstance(value, float) for _, value in epoch_series(run, path))


def test_many_reasons_are_ranked_and_the_rest_is_added_up(make_run, lines):
    reasons = {f"reason{n}": n for n in range(12)}
    run = read_run(
        make_run(epochs=[lines.epoch(0, invalid_reasons=reasons), lines.epoch(1, invalid_reasons={})]), "run"
    )
    epochs, table = stacked_counts(run, "invalid_reasons", most=3)
    assert epochs == [0.0, 1.0]
    assert table == {"reason11": [11, 0], "reason10": [10, 0], "reason9": [9, 0], "other": [36, 0]}


def test_tokens_of_both_players_add_up_over_epochs(make_run, lines):
    run = read_run(make_run(epochs=[lines.epoch(0), lines.epoch(1)]), "run")
    assert total_tokens(run) == [(0.0, 2800.0), (1.0, 5600.0)]


def test_scores_stand_over_the_tokens_that_they_took(make_run, lines):
    metrics = [{"step": step, "data": {"val-core/a/reward/mean@1": step / 10}} for step in (0, 4, 6)]
    run = read_run(make_run(epochs=[lines.epoch(0), lines.epoch(1)], metrics=metrics), "run")
    assert validation_over_tokens(run) == [(2800.0, 0.4)]  # epoch 1 ends at step 8, which was not validated
    assert success_over_tokens(run) == [(2800.0, 0.1), (5600.0, 0.2)]


def test_verls_file_logger_gives_the_validation_score(make_run, lines):
    scores = {"val-core/a/reward/mean@1": 0.2, "val-core/b/reward/mean@1": 0.4, "val-core/a/reward/best@4/mean": 0.9}
    metrics = [{"step": 0, "data": scores}, {"step": 4, "data": {"critic/score/mean": 0.5}}, {"step": "x"}, {"step": 8}]
    run = read_run(make_run(epochs=[lines.epoch(0)], metrics=metrics), "run")
    assert validation_series(run) == [(0.0, pytest.approx(0.3))]
    assert any("2 damaged lines in metrics.jsonl" in note for note in run.notes)


def test_a_run_is_found_from_its_root_and_from_its_inner_folder(make_run, lines):
    run = make_run(epochs=[lines.epoch(0)])
    assert len(read_run(run, "a").epochs) == len(read_run(run / "genenv", "a").epochs) == 1
    with pytest.raises(NoRun, match="default_local_dir"):
        read_run(run / "genenv" / "tasks", "a")


def test_an_epoch_may_be_written_as_a_float(make_run, lines):
    run = make_run(epochs=[lines.epoch(0.0), lines.epoch(1.0), lines.epoch(2.5)])
    found = read_run(run, "a")
    assert [repr(line["epoch"]) for line in found.epochs] == ["0", "1"]
    assert "1 damaged line in epochs.jsonl, left out of every figure." in found.notes


@pytest.mark.parametrize(("where", "given"), [("genenv", "."), ("genenv/tasks", ".."), ("..", "link")])
def test_the_inner_folder_has_its_run_however_it_is_named(make_run, lines, monkeypatch, where, given):
    run = make_run(epochs=[lines.epoch(0)], tasks={0: []}, config="genenv: {k_min: 0.2}")
    (run.parent / "link").symlink_to(run / "genenv")
    monkeypatch.chdir(run / where)
    found = read_run(Path(given), "a")
    assert found.root.resolve() == run and found.config.values == {"genenv.k_min": 0.2}


def test_names_of_runs_are_short_and_differ(make_run, lines):
    paths = [make_run(name, epochs=[lines.epoch(0)]) for name in ("s0/genenv", "s1/genenv", "s1/random")]
    assert run_names(paths) == ["s0/genenv", "s1/genenv", "s1/random"]
    assert run_names([paths[0], paths[2]]) == ["genenv", "random"]
    assert run_names(paths[:1]) == ["s0/genenv"]
