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

import errno
import json
import os
import subprocess
import sys

import pytest

from genenv_verl.evaluation.cache import AnswerCache, CacheInUse


def test_what_was_put_is_there_again(tmp_path):
    path = tmp_path / "deep" / "answers.jsonl"
    with AnswerCache(path) as cache:
        cache.put("a", {"content": "ä\n\u2028"})
        cache.put("a", {"content": "another"})
        assert cache.get("b") is None
    with AnswerCache(path) as cache:
        assert cache.get("a") == {"content": "ä\n\u2028"} and len(cache) == 1
    assert len(path.read_text().split("\n")) == 2


@pytest.mark.parametrize("kept", range(1, 30, 4))
def test_a_line_that_a_kill_cut_off_is_cut_away(tmp_path, kept):
    path = tmp_path / "answers.jsonl"
    with AnswerCache(path) as cache:
        cache.put("a", {"content": "1"})
        whole = path.stat().st_size
        cache.put("b", {"content": "2"})
    path.write_bytes(path.read_bytes()[: whole + kept])
    with AnswerCache(path) as cache:
        assert (cache.get("a"), cache.get("b")) == ({"content": "1"}, None)
        cache.put("b", {"content": "3"})
    with AnswerCache(path) as cache:
        assert cache.get("b") == {"content": "3"} and cache.damaged_lines == 0


@pytest.mark.parametrize(
    "line", ["", "junk", "[]", "null", '{"key": "x"}', '{"key": 1, "answer": {}}', "\xff", "[" * 99999]
)
def test_a_damaged_line_costs_its_answer_alone(tmp_path, line):
    path = tmp_path / "answers.jsonl"
    good = [json.dumps({"key": key, "answer": {"content": key}}) for key in "ab"]
    path.write_bytes("\n".join([good[0], line, good[1], ""]).encode("latin-1"))
    with AnswerCache(path) as cache:
        assert cache.get("a") and cache.get("b") and cache.damaged_lines == 1


def test_two_evaluations_do_not_write_into_one_folder(tmp_path):
    path = tmp_path / "answers.jsonl"
    with AnswerCache(path), pytest.raises(CacheInUse, match="another --out"):
        AnswerCache(path)
    with AnswerCache(path):
        pass


def test_a_full_disk_names_the_file(tmp_path, monkeypatch):
    def full(*_):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    with AnswerCache(tmp_path / "answers.jsonl") as cache:
        monkeypatch.setattr(os, "write", full)
        with pytest.raises(OSError, match="No space left on device: '.*answers.jsonl'"):
            cache.put("a", {"content": "x"})


WRITER = """
import os, signal, sys
from pathlib import Path
from genenv_verl.evaluation.cache import AnswerCache
cache = AnswerCache(Path(sys.argv[1]))
for number in range(20):
    cache.put(str(number), {"content": "x" * 100})
os.kill(os.getpid(), signal.SIGKILL)
"""


def test_what_was_put_survives_sigkill(tmp_path):
    path = tmp_path / "answers.jsonl"
    done = subprocess.run([sys.executable, "-c", WRITER, str(path)], timeout=120)
    assert done.returncode == -9
    with AnswerCache(path) as cache:
        assert len(cache) == 20
