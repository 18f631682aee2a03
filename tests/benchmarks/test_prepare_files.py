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
"""``genenv-verl prepare``: the files of a run, the same bytes every time, nothing trained on that is validated on."""

import json

import pyarrow.parquet as pq
import pytest
from typer.testing import CliRunner

from genenv_verl.benchmarks import get_benchmark
from genenv_verl.benchmarks.base import Record, ReleaseError
from genenv_verl.benchmarks.prepare import check_counts, prepare
from genenv_verl.cli import app
from genenv_verl.tasks.records import read_tasks

runner = CliRunner()


@pytest.fixture
def release(tmp_path):
    folder = tmp_path / "release"
    folder.mkdir()
    entries = [{"Question": f"Question {number}?", "Answer": f"answer {number}"} for number in range(125)]
    (folder / "data.json").write_text(json.dumps(entries))
    return folder


def run(release, out, *arguments):
    return runner.invoke(app, ["prepare", "bamboogle", "--source", str(release), "--out", str(out), *arguments])


def record_ids(path):
    rows = pq.read_table(path).to_pylist()
    return [json.loads(row["reward_model"]["ground_truth"])["step"]["record"]["record_id"] for row in rows]


def test_the_files_and_the_counts(release, tmp_path):
    out = tmp_path / "out"
    result = run(release, out)
    assert result.exit_code == 0, result.exception
    assert "test: 125 (official: 125)" in result.stdout
    assert f"{out / 'validation.parquet'}: 100" in result.stdout
    validation, train = record_ids(out / "validation.parquet"), record_ids(out / "train.parquet")
    assert (len(validation), len(train)) == (100, 25)
    assert not set(validation) & set(train)
    seeds = read_tasks(out / "seeds.jsonl")
    assert [task.task_id for task in seeds] == [f"bamboogle/{record_id}" for record_id in train]
    assert [task.task_id for task in read_tasks(out / "train.parquet")] == [task.task_id for task in seeds]


def test_a_row_is_complete_and_does_not_show_the_gold(release, tmp_path):
    run(release, tmp_path)
    row = pq.read_table(tmp_path / "validation.parquet").to_pylist()[7]
    assert row["data_source"] == "bamboogle"
    assert [message["role"] for message in row["prompt"]] == ["system", "user"]
    record = json.loads(row["reward_model"]["ground_truth"])["step"]["record"]
    assert record["data"]["answer"].startswith("answer ")
    assert record["data"]["answer"] not in json.dumps(row["prompt"]) + json.dumps(row["extra_info"])
    assert "Search" not in json.dumps(row["prompt"]), "nobody searches for a row"
    assert (row["extra_info"]["split"], row["extra_info"]["index"]) == ("validation", 7)


def test_the_same_bytes_again(release, tmp_path):
    for out in ("first", "second"):
        run(release, tmp_path / out)
    for name in ("validation.parquet", "train.parquet", "seeds.jsonl"):
        assert (tmp_path / "first" / name).read_bytes() == (tmp_path / "second" / name).read_bytes()
    assert {path.name for path in (tmp_path / "first").iterdir()} == {
        "validation.parquet",
        "train.parquet",
        "seeds.jsonl",
    }


def test_without_a_share_all_is_validation_and_old_files_go(release, tmp_path):
    run(release, tmp_path)
    result = run(release, tmp_path, "--train-share", "0")
    assert len(record_ids(tmp_path / "validation.parquet")) == 125
    assert not (tmp_path / "train.parquet").exists() and not (tmp_path / "seeds.jsonl").exists()
    assert "train.parquet: 0 (not written)" in result.stdout


def test_other_counts_are_refused_unless_they_are_meant(release, tmp_path):
    entries = json.loads((release / "data.json").read_text())
    (release / "data.json").write_text(json.dumps(entries[:10]))
    result = run(release, tmp_path / "out")
    assert result.exit_code != 0 and not (tmp_path / "out").exists()
    for part in (str(release), "split test has 10, the official release 125", "download", "--partial"):
        assert part in str(result.exception)
    assert run(release, tmp_path / "out", "--partial").exit_code == 0


def test_a_split_that_is_not_there_is_no_wrong_count():
    benchmark = get_benchmark("apibank")
    check_counts(benchmark, {"level1": 399}, None)
    with pytest.raises(ReleaseError, match="level3 has 130, the official release 131"):
        check_counts(benchmark, {"level1": 399, "level3": 130}, None)


def test_a_damaged_release_writes_nothing(release, tmp_path):
    (release / "data.json").write_text("[")
    result = run(release, tmp_path / "out")
    assert isinstance(result.exception, SystemExit) and str(release / "data.json") in str(result.exception)
    assert not (tmp_path / "out").exists()


def test_a_release_without_a_step_is_an_error(release, tmp_path, monkeypatch):
    benchmark = get_benchmark("bamboogle", max_rounds=1)
    monkeypatch.setattr(benchmark, "steps", lambda records: iter(()))
    with pytest.raises(ReleaseError, match="holds no step; download"):
        prepare(benchmark, release, tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_E14_the_releases_own_training_split_is_used_and_episodes_stay_whole(release, tmp_path, monkeypatch):
    benchmark = get_benchmark("bamboogle", max_rounds=1)
    records = benchmark.load(release)[:8]
    own = [
        Record(each.record_id, "train" if index < 3 else "validation", each.data) for index, each in enumerate(records)
    ]
    monkeypatch.setattr(benchmark, "load", lambda source: own)
    assert prepare(benchmark, None, tmp_path).rows["train.parquet"] == 3
    monkeypatch.setattr(benchmark, "load", lambda source: records)
    monkeypatch.setattr(benchmark, "episode", lambda record: str(int(record.record_id[-1]) // 4))
    prepare(benchmark, None, tmp_path, train_share=0.5, partial=True)
    assert record_ids(tmp_path / "train.parquet") in (
        [f"bamboogle_{index}" for index in range(4)],
        [f"bamboogle_{index}" for index in range(4, 8)],
    )


def test_a_defective_record_is_never_a_seed(release, tmp_path, monkeypatch):
    benchmark = get_benchmark("bamboogle", max_rounds=1)
    monkeypatch.setattr(benchmark, "defect", lambda record: "odd" if int(record.record_id[10:]) % 2 else None)
    result = prepare(benchmark, release, tmp_path)
    assert result.left_out["odd"] + result.rows["seeds.jsonl"] == 25
    assert all(int(name[10:]) % 2 == 0 for name in record_ids(tmp_path / "train.parquet"))
    assert any(int(name[10:]) % 2 for name in record_ids(tmp_path / "validation.parquet")), (
        "they are scored all the same"
    )


def test_prompts_beyond_the_budget_are_told(release, tmp_path):
    result = run(release, tmp_path, "--max-tokens", "100", "--response-tokens", "90")
    assert "125 prompts are longer than the budget" in result.stderr


@pytest.mark.parametrize("share", [-0.1, 1.0, float("nan")])
def test_a_share_out_of_range(release, tmp_path, share):
    with pytest.raises(ValueError, match="train_share"):
        prepare(get_benchmark("bamboogle"), release, tmp_path, train_share=share)
