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
import json
import os
import subprocess
import sys

import pytest

from genenv_verl.trainer import run_directory
from genenv_verl.trainer.run_directory import EpochFile, RunDirectory, RunInUse, lock_run, write_atomically


def traces(step, count=2):
    return [{"id": f"{step}-{place}", "task": {"goal": "x"}} for place in range(count)]


def epoch_lines(run):
    return [json.loads(line) for line in run.epochs_file.read_text().splitlines()]


def tasks_of(run, epoch):
    with open(run.tasks_file(epoch), encoding="utf-8") as file:
        return [json.loads(line) for line in file]


@pytest.fixture
def run(tmp_path):
    return RunDirectory(tmp_path / "genenv")


def test_write_atomically_makes_folders_and_leaves_no_other_file(tmp_path):
    path = tmp_path / "a" / "b" / "file.json"
    write_atomically(path, "old")
    write_atomically(path, "new é")
    assert path.read_text(encoding="utf-8") == "new é"
    assert list(path.parent.iterdir()) == [path]


@pytest.mark.parametrize("call", ["fsync", "replace"])
def test_a_write_that_is_cut_off_leaves_the_old_text(tmp_path, monkeypatch, call):
    path = tmp_path / "file.json"
    write_atomically(path, "old")

    def cut_off(*_):
        raise KeyboardInterrupt

    with monkeypatch.context() as patched, pytest.raises(KeyboardInterrupt):
        patched.setattr(run_directory.os, call, cut_off)
        write_atomically(path, "new text that is longer")
    assert path.read_text() == "old"
    write_atomically(path, "newer")
    assert path.read_text() == "newer"
    assert list(tmp_path.iterdir()) == [path]


def test_the_text_is_on_disk_before_the_name_changes(tmp_path, monkeypatch):
    calls = []
    for name in ("fsync", "replace"):
        real = getattr(os, name)
        monkeypatch.setattr(run_directory.os, name, lambda *a, _real=real, _name=name: (calls.append(_name), _real(*a)))
    write_atomically(tmp_path / "file", "text")
    assert calls == ["fsync", "replace", "fsync"]


def test_text_that_is_no_utf8_is_written_all_the_same(tmp_path):
    write_atomically(tmp_path / "file", "half a pair: \ud83d.")
    assert (tmp_path / "file").read_text(encoding="utf-8") == "half a pair: ?."


def test_epochs_are_appended_and_an_epoch_written_again_replaces_its_line(run):
    run.write_epoch(0, {"epoch": 0, "valid": 3}, [{"task_id": "a"}])
    run.write_epoch(1, {"epoch": 1, "valid": 4}, [{"task_id": "b"}, {"task_id": "c"}])
    run.write_epoch(1, {"epoch": 1, "valid": 5}, [{"task_id": "d"}])
    assert epoch_lines(run) == [{"epoch": 0, "valid": 3}, {"epoch": 1, "valid": 5}]
    assert tasks_of(run, 0) == [{"task_id": "a"}]
    assert tasks_of(run, 1) == [{"task_id": "d"}]


def test_the_task_file_is_there_before_its_line(run, monkeypatch):
    written = []
    for writer in ("write_atomically", "append_line"):
        monkeypatch.setattr(run_directory, writer, lambda path, text: written.append(path))
    run.write_epoch(7, {"epoch": 7}, [])
    assert written == [run.root / "tasks" / "epoch_0007.jsonl", run.root / "epochs.jsonl"]


@pytest.mark.parametrize(
    "text", ["plain", "two\nlines", "line\u2028separator", "next\x85line", "half \ud83d", "\x00", "ünï"]
)
def test_a_record_is_one_line_whatever_the_model_wrote(run, text):
    run.write_epoch(0, {"epoch": 0}, [{"task_id": "a", "text": text}, {"task_id": "b"}])
    records = [json.loads(line) for line in run.tasks_file(0).read_text(encoding="utf-8").splitlines()]
    assert records == [{"task_id": "a", "text": text}, {"task_id": "b"}]


def test_cut_back_removes_later_records_lines_and_files(run):
    run.d_train.append(traces(1), step=1)
    run.d_env.append(traces(1), step=1)
    run.write_epoch(0, {"epoch": 0}, [])
    marker = json.loads(json.dumps(run.marker()))
    for epoch in (1, 2):
        run.d_train.append(traces(epoch + 1), step=epoch + 1)
        run.d_env.append(traces(epoch + 1), step=epoch + 1)
        run.write_epoch(epoch, {"epoch": epoch}, [])

    run.cut_back(marker, epoch=1)
    for reopened in (run, RunDirectory(run.root)):
        assert [record["id"] for record in reopened.d_train] == ["1-0", "1-1"]
        assert [record["id"] for record in reopened.d_env] == ["1-0", "1-1"]
        assert [line["epoch"] for line in epoch_lines(reopened)] == [0]
        assert [path.name for path in (run.root / "tasks").iterdir()] == ["epoch_0000.jsonl"]
    # what is cut off can be written again, without doubles
    run.d_train.append(traces(2), step=2)
    run.write_epoch(1, {"epoch": 1}, [])
    assert [line["epoch"] for line in epoch_lines(run)] == [0, 1]


def test_cut_back_twice_and_of_a_run_without_epochs(run):
    marker = run.marker()
    run.cut_back(marker, epoch=0)
    run.d_train.append(traces(1), step=1)
    run.cut_back(marker, epoch=0)
    run.cut_back(marker, epoch=0)
    assert len(run.d_train) == 0
    assert not run.epochs_file.exists()


@pytest.mark.parametrize("cut_off_at", ["d_train", "d_env", "epochs", "tasks"])
def test_a_cut_back_that_is_cut_off_is_finished_by_the_next_start(run, monkeypatch, cut_off_at):
    run.d_train.append(traces(1), step=1)
    run.d_env.append(traces(1), step=1)
    marker = run.marker()
    run.d_train.append(traces(2), step=2)
    run.d_env.append(traces(2), step=2)
    run.write_epoch(0, {"epoch": 0}, [])

    def cut_off(*_, **__):
        raise KeyboardInterrupt

    with monkeypatch.context() as patched, pytest.raises(KeyboardInterrupt):
        if cut_off_at in ("d_train", "d_env"):
            patched.setattr(getattr(run, cut_off_at), "cut_back", cut_off)
        elif cut_off_at == "epochs":
            patched.setattr(run_directory, "write_atomically", cut_off)
        else:
            patched.setattr(type(run.root), "unlink", cut_off)
        run.cut_back(marker, epoch=0)
    reopened = RunDirectory(run.root)
    reopened.cut_back(marker, epoch=0)
    assert [record["id"] for record in reopened.d_train] == ["1-0", "1-1"]
    assert [record["id"] for record in reopened.d_env] == ["1-0", "1-1"]
    assert epoch_lines(reopened) == [] and list((run.root / "tasks").iterdir()) == []


def test_a_second_process_is_kept_out_until_the_first_ends(tmp_path):
    module = "genenv_verl.trainer.run_directory"
    lock_again = f"import pathlib, {module}; {module}.lock_run(pathlib.Path({str(tmp_path)!r}))"
    lock = lock_run(tmp_path)
    second = subprocess.run([sys.executable, "-c", lock_again], capture_output=True, text=True)
    assert second.returncode != 0 and "RunInUse: another process is running in" in second.stderr
    with pytest.raises(RunInUse):
        lock_run(tmp_path)
    os.close(lock)
    subprocess.run([sys.executable, "-c", lock_again], check=True)
    os.close(lock_run(tmp_path))


def test_epoch_lines_of_a_run_without_an_environment_are_replaced_and_cut_back(tmp_path):
    epochs = EpochFile(tmp_path / "genenv" / "epochs.jsonl")
    epochs.cut_back(0)
    assert not epochs.path.exists()
    for epoch, step in ((0, 2), (1, 3), (1, 4), (2, 6)):  # the line of epoch 1 is written again at its end
        epochs.write({"epoch": epoch, "global_step": step, "text": "\u2028"})
    read = [json.loads(line) for line in epochs.path.read_text().splitlines()]
    assert [(line["epoch"], line["global_step"]) for line in read] == [(0, 2), (1, 4), (2, 6)]
    epochs.cut_back(2)
    assert len(epochs.path.read_text().splitlines()) == 2


def test_the_cost_of_an_epoch_line_does_not_grow_with_the_run(tmp_path, monkeypatch):
    epochs = EpochFile(tmp_path / "epochs.jsonl")
    epochs.write({"epoch": 0})
    monkeypatch.setattr(run_directory, "write_atomically", lambda *_: pytest.fail("the whole file is written again"))
    for epoch in (1, 2, 5):
        epochs.write({"epoch": epoch})
    assert [json.loads(line)["epoch"] for line in epochs.path.read_text().splitlines()] == [0, 1, 2, 5]


@pytest.mark.parametrize("again", [1, 2])
def test_an_epoch_line_that_was_cut_off_is_gone_after_the_next_start(tmp_path, again):
    path = tmp_path / "epochs.jsonl"
    path.write_text('{"epoch": 0}\n{"epoch": 1}\n{"epoch": 2, "val')
    EpochFile(path).write({"epoch": again, "again": True})
    lines = [json.loads(line) for line in path.read_text().splitlines()]
    assert lines == [{"epoch": epoch} for epoch in range(again)] + [{"epoch": again, "again": True}]


def test_a_cut_back_drops_a_line_that_was_cut_off(tmp_path):
    path = tmp_path / "epochs.jsonl"
    path.write_text('{"epoch": 0}\n{"epoch": 1, "val')
    EpochFile(path).cut_back(5)
    assert path.read_text() == '{"epoch": 0}\n'
