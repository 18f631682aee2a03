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
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

import genenv_verl
from genenv_verl.pools import pool as pool_module
from genenv_verl.pools.pool import Pool, PoolError


def batch(step, size=3, **fields):
    return [{"id": f"{step}-{i}", "step": step, **fields} for i in range(size)]


@pytest.fixture
def directory(tmp_path):
    return tmp_path / "d_train"


def filled(directory, steps, **options):
    pool = Pool(directory, "d_train", **options)
    for step in steps:
        pool.append(batch(step), step=step)
    return pool


def test_records_come_back_in_order_after_reopening(directory):
    pool = filled(directory, [1, 2])
    for opened in (pool, Pool(directory, "d_train")):
        assert list(opened) == batch(1) + batch(2)
        assert opened[4] == {"id": "2-1", "step": 2}
        assert opened[-1] == opened[5]
        assert "1-2" in opened and "3-0" not in opened


def test_a_pool_that_does_not_exist_is_empty_and_opening_writes_nothing(directory):
    pool = Pool(directory, "d_train")
    assert len(pool) == 0
    assert not directory.exists()


def test_a_pool_of_many_segments_keeps_few_files_open(directory, monkeypatch):
    monkeypatch.setattr(pool_module, "MAX_OPEN_FILES", 3)
    pool = filled(directory, range(10), segment_bytes=1)
    before = len(os.listdir("/proc/self/fd"))
    assert list(pool) == [record for step in range(10) for record in batch(step)]
    assert len(os.listdir("/proc/self/fd")) - before == 3
    assert pool[0] == batch(0)[0]
    pool.close()
    assert len(os.listdir("/proc/self/fd")) == before


@pytest.mark.parametrize("index", [6, -7])
def test_there_is_no_record_outside(directory, index):
    with pytest.raises(IndexError, match="6 records"):
        filled(directory, [1, 2])[index]


def test_hostile_text_comes_back_as_it_was(directory):
    text = '\ud800 \n\r\u2028\x00 𝄞 "}\n{"id":"x"}\n'
    Pool(directory, "d_train").append([{"id": text, "text": text, text: [text]}], step=1)
    pool = Pool(directory, "d_train")
    assert pool[0] == {"id": text, "text": text, text: [text]}
    assert text in pool


def test_the_files_are_plain_json_lines(directory):
    filled(directory, [1, 2])
    lines = (directory / "d_train-000000.jsonl").read_text().splitlines()
    assert [json.loads(line) for line in lines] == batch(1) + batch(2)


def test_the_position_of_the_id_in_the_record_does_not_matter(directory):
    Pool(directory, "d_train").append([{"step": 1, "id": "late"}], step=1)
    assert "late" in Pool(directory, "d_train")


def test_segments_rotate_between_batches(directory):
    filled(directory, range(1, 7), segment_bytes=100)
    assert len(list(directory.glob("*.jsonl"))) == 3
    pool = Pool(directory, "d_train", segment_bytes=100)
    assert list(pool) == [record for step in range(1, 7) for record in batch(step)]
    pool.append(batch(7), step=7)
    assert pool[-1] == batch(7)[-1]


@pytest.mark.parametrize(
    "records", [[{"id": "1-1"}], [{"id": "new"}, {"id": "new"}], [{"id": "new"}, {"id": "1-1"}]], ids=str
)
def test_no_id_twice(directory, records):
    filled(directory, [1])
    pool = Pool(directory, "d_train")
    with pytest.raises(ValueError, match="already"):
        pool.append(records, step=2)
    assert list(pool) == list(Pool(directory, "d_train")) == batch(1)


@pytest.mark.parametrize("record", [{}, {"id": ""}, {"id": 7}, {"id": "x", "p": float("nan")}], ids=str)
def test_a_bad_record_leaves_the_whole_batch_out(directory, record):
    pool = filled(directory, [1])
    with pytest.raises(ValueError):
        pool.append([{"id": "good"}, record], step=2)
    assert list(pool) == list(Pool(directory, "d_train")) == batch(1)


def test_an_empty_batch_changes_nothing(directory):
    pool = filled(directory, [1])
    before = pool.marker()
    pool.append([], step=2)
    assert pool.marker() == before


def test_a_step_before_the_last_one_means_that_the_pool_was_not_cut_back(directory):
    pool = filled(directory, [20])
    with pytest.raises(ValueError, match="step 20, later than 11"):
        pool.append(batch(11), step=11)


def test_a_tail_torn_at_any_byte_is_not_there_and_the_pool_goes_on(directory):
    """A kill leaves a prefix of the last batch's records, or all of them and a prefix of its commit line."""
    pool = filled(directory, [1])
    segment, commits = directory / "d_train-000000.jsonl", directory / "d_train.commits"
    kept = segment.read_bytes(), commits.read_bytes()
    pool.append(batch(2, text="é\n"), step=2)
    whole = segment.read_bytes(), commits.read_bytes()
    torn = [(whole[0][:cut], kept[1]) for cut in range(len(kept[0]), len(whole[0]) + 1)]
    torn += [(whole[0], whole[1][:cut]) for cut in range(len(kept[1]), len(whole[1]))]
    for files in torn:
        segment.write_bytes(files[0])
        commits.write_bytes(files[1])
        reopened = Pool(directory, "d_train")
        assert list(reopened) == batch(1)
        assert (segment.read_bytes(), commits.read_bytes()) == files
        reopened.append(batch(3), step=3)
        assert list(reopened) == list(Pool(directory, "d_train")) == batch(1) + batch(3)


def test_a_torn_new_segment_is_not_there(directory):
    filled(directory, [1], segment_bytes=1)
    (directory / "d_train-000001.jsonl").write_bytes(b'{"id":"torn"')
    pool = Pool(directory, "d_train", segment_bytes=1)
    assert list(pool) == batch(1)
    pool.append(batch(2), step=2)
    assert list(Pool(directory, "d_train")) == batch(1) + batch(2)


WRITER = """
import sys
from genenv_verl.pools.pool import Pool
pool = Pool(sys.argv[1], "d_train", segment_bytes=20_000)
step = pool[-1]["step"] if len(pool) else 0
while True:
    step += 1
    pool.append([{"id": f"{step}-{i}", "step": step, "text": "x" * 500} for i in range(20)], step=step)
    print(step, flush=True)
"""


def test_kill_9_of_a_writer_loses_and_doubles_nothing(directory):
    moments = random.Random(7)
    environment = {**os.environ, "PYTHONPATH": str(Path(genenv_verl.__file__).parents[1])}
    for _ in range(4):
        writer = subprocess.Popen(
            [sys.executable, "-c", WRITER, str(directory)], stdout=subprocess.PIPE, text=True, env=environment
        )
        reported = int(writer.stdout.readline())
        time.sleep(moments.uniform(0.0, 0.05))
        os.kill(writer.pid, signal.SIGKILL)
        reported = max([reported, *map(int, writer.communicate()[0].split())])
        pool = Pool(directory, "d_train")
        steps = [record["step"] for record in pool]
        # One batch may be committed and not yet reported.
        assert steps[-1] in (reported, reported + 1)
        assert [record["id"] for record in pool] == [f"{s}-{i}" for s in range(1, steps[-1] + 1) for i in range(20)]


def test_c06_a_resume_cuts_back_to_the_marker_and_writes_the_rest_again_without_doubles(directory):
    pool = filled(directory, range(1, 11), segment_bytes=300)
    marker = json.loads(json.dumps(pool.marker()))
    for step in range(11, 21):
        pool.append(batch(step), step=step)
    resumed = Pool(directory, "d_train", segment_bytes=300)
    resumed.cut_back(marker)
    assert resumed.marker() == marker
    assert {record["step"] for record in resumed} == set(range(1, 11))
    assert "11-0" not in resumed
    for step in range(11, 21):
        resumed.append(batch(step), step=step)
    expected = [record for step in range(1, 21) for record in batch(step)]
    assert list(resumed) == list(Pool(directory, "d_train")) == expected


def test_cutting_back_to_the_beginning_and_to_the_end(directory):
    pool = Pool(directory, "d_train")
    beginning = pool.marker()
    pool.append(batch(1), step=1)
    end = pool.marker()
    pool.cut_back(end)
    assert list(pool) == batch(1)
    pool.cut_back(beginning)
    assert list(pool) == list(Pool(directory, "d_train")) == []
    pool.append(batch(1), step=1)
    assert pool.marker() == end


def test_cutting_back_also_drops_a_torn_tail(directory):
    pool = filled(directory, [1])
    marker = pool.marker()
    pool.append(batch(2), step=2)
    with open(directory / "d_train-000000.jsonl", "ab") as file:
        file.write(b'{"id":"torn')
    pool = Pool(directory, "d_train")
    pool.cut_back(marker)
    assert (directory / "d_train-000000.jsonl").stat().st_size == marker["bytes"]


def test_a_kill_while_cutting_back_leaves_a_good_pool(directory):
    """The commits go first: what follows may be missing."""
    pool = filled(directory, range(1, 5), segment_bytes=100)
    commits = directory / "d_train.commits"
    commits.write_bytes(b"".join(commits.read_bytes().splitlines(keepends=True)[:1]))
    pool = Pool(directory, "d_train", segment_bytes=100)
    assert list(pool) == batch(1)
    for step in range(2, 6):
        pool.append(batch(step), step=step)
    assert list(Pool(directory, "d_train")) == [record for step in range(1, 6) for record in batch(step)]


def test_a_marker_ahead_of_the_files_is_an_error_and_removes_nothing(directory, tmp_path):
    ahead = filled(tmp_path / "other", [1, 2, 3]).marker()
    pool = filled(directory, [1, 2])
    with pytest.raises(PoolError, match="records are missing"):
        pool.cut_back(ahead)
    assert list(pool) == batch(1) + batch(2)


def test_a_marker_of_another_run_is_an_error(directory):
    pool = filled(directory, [1, 2])
    with pytest.raises(PoolError, match="another run"):
        pool.cut_back({**pool.marker(), "batches": 1})


def damage_shorten(segment, commits):
    segment.write_bytes(segment.read_bytes()[:-5])


def damage_remove_line(segment, commits):
    segment.write_bytes(b"".join(segment.read_bytes().splitlines(keepends=True)[1:]))


def damage_zero(segment, commits):
    segment.write_bytes(bytes(len(segment.read_bytes())))


def damage_remove_segment(segment, commits):
    segment.unlink()


def damage_commits(segment, commits):
    commits.write_bytes(b"oops\n" + commits.read_bytes())


@pytest.mark.parametrize(
    "damage", [damage_shorten, damage_remove_line, damage_zero, damage_remove_segment, damage_commits]
)
def test_committed_records_that_are_gone_are_an_error(directory, damage):
    filled(directory, [1, 2])
    damage(directory / "d_train-000000.jsonl", directory / "d_train.commits")
    with pytest.raises(PoolError, match="d_train"):
        Pool(directory, "d_train")


def test_a_write_that_fails_leaves_the_pool_as_it_was(directory, monkeypatch):
    pool = filled(directory, [1])

    def full_disk(_):
        raise OSError("no space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(os, "fsync", full_disk)
        with pytest.raises(OSError, match="no space"):
            pool.append(batch(2), step=2)
    assert list(pool) == list(Pool(directory, "d_train")) == batch(1)
    pool.append(batch(3), step=3)
    assert list(pool) == list(Pool(directory, "d_train")) == batch(1) + batch(3)


def test_a_reader_of_a_live_pool_sees_what_was_committed_when_it_opened(directory):
    writer = filled(directory, [1])
    reader = Pool(directory, "d_train")
    writer.append(batch(2), step=2)
    assert list(reader) == batch(1)
    assert list(Pool(directory, "d_train")) == batch(1) + batch(2)
