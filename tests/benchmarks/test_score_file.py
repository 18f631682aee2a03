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
"""``genenv-verl score``: one verdict a line, in order, whatever the lines hold."""

import json
import os
import threading
from pathlib import Path

import pytest
from typer.testing import CliRunner

from genenv_verl.benchmarks import MODULES, base, benchmark_class, get_benchmark
from genenv_verl.benchmarks.base import Benchmark, Record, ReleaseError, Verdict, register
from genenv_verl.benchmarks.scoring import score_file
from genenv_verl.cli import app

runner = CliRunner()


class Toy(Benchmark):
    """Ten records; the answer is the record's number. Scoring ``broken`` records fails."""

    name = "toy"
    download = "nothing"

    def __init__(self, broken: list[str] | None = None):
        self.broken = broken or []

    def load(self, source):
        if source is not None and not source.exists():
            raise ReleaseError(f"{source} is missing; download {self.download}")
        return [Record(f"r{number}", "test", {"gold": str(number)}) for number in range(10)]

    def steps(self, records):
        return iter(())

    def parse(self, step, response):
        return {"model_output": response}

    def score(self, record, answer):
        if record.record_id in self.broken:
            raise KeyError("missing")
        solved = answer.get("model_output") == record.data["gold"]
        return Verdict(float(solved), "ok" if solved else "wrong", {"half": 0.5})

    def aggregate(self, verdicts):
        return {"score": sum(verdict.score for _, verdict in verdicts) / len(verdicts)} if verdicts else {}


@pytest.fixture
def toy(monkeypatch):
    monkeypatch.setitem(base._REGISTRY, "toy", Toy)


def answers(*, count=10):
    return [{"id": f"a{number}", "record_id": f"r{number}", "model_output": str(number)} for number in range(count)]


def write(path, lines):
    path.write_bytes(
        b"".join((line if isinstance(line, bytes) else json.dumps(line).encode()) + b"\n" for line in lines)
    )
    return path


def score(tmp_path, lines, *arguments):
    outputs, out = write(tmp_path / "answers.jsonl", lines), tmp_path / "deep" / "verdicts.jsonl"
    command = ["score", "toy", "--outputs", str(outputs), "--out", str(out), *arguments]
    result = runner.invoke(app, command)
    verdicts = [json.loads(line) for line in out.read_text().splitlines()] if out.exists() else None
    return result, verdicts


def test_verdicts_in_order_with_details(toy, tmp_path):
    lines = list(reversed(answers()))
    lines[2] = {**lines[2], "model_output": "no", "official": {"toy": 1}, "score": 1, "reason": "ok"}
    result, verdicts = score(tmp_path, lines)
    assert result.exit_code == 0
    assert [verdict["id"] for verdict in verdicts] == [line["id"] for line in lines]
    assert verdicts[0] == {"id": "a9", "score": 1, "reason": "ok", "half": 0.5}
    assert verdicts[2] == {"id": "a7", "score": 0, "reason": "wrong", "half": 0.5}
    assert isinstance(verdicts[0]["score"], int)
    assert list(tmp_path.glob("**/*.tmp")) == []


@pytest.mark.parametrize(
    ("line", "verdict"),
    [
        (b"{", {"id": None, "score": 0, "reason": "not_json: line 2"}),
        (b"\xff\xfe", {"id": None, "score": 0, "reason": "not_json: line 2"}),
        (b"[" * 100_000, {"id": None, "score": 0, "reason": "not_json: line 2"}),
        (
            b'{"id": "x", "record_id": "r1", "model_output": NaN}',
            {"id": None, "score": 0, "reason": "not_json: line 2"},
        ),
        (b"[1]", {"id": None, "score": 0, "reason": "not_an_object: line 2"}),
        ({"id": "x", "model_output": "1"}, {"id": "x", "score": 0, "reason": "no_record_id: line 2"}),
        ({"id": 7, "record_id": "r99"}, {"id": 7, "score": 0, "reason": "unknown_record: line 2"}),
        ({"id": ["x"], "record_id": ["r1"]}, {"id": None, "score": 0, "reason": "unknown_record: line 2"}),
        ({"record_id": "r1", "model_output": "1"}, {"id": None, "score": 1, "reason": "ok", "half": 0.5}),
        ({"id": "\ud800", "record_id": "r1"}, {"id": "\ud800", "score": 0, "reason": "wrong", "half": 0.5}),
    ],
)
def test_a_bad_line_gets_its_verdict_and_is_counted_apart(toy, tmp_path, line, verdict):
    lines = answers()
    lines[1] = line
    result, verdicts = score(tmp_path, lines, "--summary")
    assert result.exit_code == 0
    assert verdicts[1] == verdict and len(verdicts) == 10
    summary = json.loads(result.stdout)
    if "line 2" in verdict["reason"]:
        assert summary["unattributed_lines"] == {verdict["reason"].partition(":")[0]: 1}
        assert summary["scored_lines"] == 9 and summary["score"] == 1.0, "it says nothing about the model"
        assert "1 of 10 lines" in result.stderr
    else:
        assert summary["scored_lines"] == 10


def test_answers_to_another_release_are_an_error(toy, tmp_path):
    lines = [{"id": n, "record_id": f"other-{n}", "model_output": "1"} for n in range(3)]
    result, verdicts = score(tmp_path, lines)
    assert result.exit_code == 1 and len(verdicts) == 3
    assert "no line of" in str(result.exception) + result.stderr


def test_blank_lines_are_no_lines(toy, tmp_path):
    _, verdicts = score(tmp_path, [b"", *answers(), b"  "])
    assert len(verdicts) == 10


def test_b05_a_scorer_error_is_a_finding_of_its_own(toy, tmp_path):
    result, verdicts = score(tmp_path, answers(), "--summary", "--option", 'broken=["r2", "r5", "r7"]')
    assert [verdict["reason"] for verdict in verdicts].count("scorer_error:KeyError") == 3
    summary = json.loads(result.stdout)
    assert summary["score"] == 0.7
    assert [fault["record_id"] for fault in summary["scorer_errors"]] == ["r2", "r5", "r7"]
    assert summary["unattributed_lines"] == {}
    for record_id in ("r2", "r5", "r7"):
        assert f"(record {record_id})" in result.stderr and "KeyError: 'missing'" in result.stderr


def test_an_interrupted_run_leaves_the_earlier_file(toy, tmp_path):
    class Stopped(Toy):
        def score(self, record, answer):
            raise KeyboardInterrupt

    out = tmp_path / "verdicts.jsonl"
    out.write_text("earlier\n")
    with pytest.raises(KeyboardInterrupt):
        score_file(Stopped(), Toy().load(None), write(tmp_path / "answers.jsonl", answers()), out)
    assert out.read_text() == "earlier\n"
    assert list(tmp_path.glob("*.tmp")) == []


def test_answers_may_be_replaced_by_their_verdicts(toy, tmp_path):
    file = write(tmp_path / "both.jsonl", answers())
    score_file(Toy(), Toy().load(None), file, file)
    assert [json.loads(line)["score"] for line in file.read_text().splitlines()] == [1] * 10


@pytest.mark.parametrize("kind", ["pipe", "link", "device"])
def test_what_is_no_plain_file_is_written_into_and_never_replaced(toy, tmp_path, kind):
    out, target, received = tmp_path / "out", tmp_path / "target", []
    if kind == "pipe":
        os.mkfifo(out)
        reader = threading.Thread(target=lambda: received.append(out.read_text()), daemon=True)
        reader.start()
    else:
        target.write_text("earlier\n")
        out.symlink_to(target if kind == "link" else "/dev/null")
    score_file(Toy(), Toy().load(None), write(tmp_path / "answers.jsonl", answers()), out)
    if kind == "pipe":
        reader.join(10)
    elif kind == "link":
        received.append(target.read_text())
    else:
        received.append("{}\n" * 10)  # swallowed
    assert out.is_fifo() if kind == "pipe" else out.is_symlink()
    assert len(received[0].splitlines()) == 10
    assert not list(tmp_path.glob("*.tmp")) and Path("/dev/null").is_char_device()


def test_verdicts_on_standard_output_stand_between_what_else_is_said_there(toy, tmp_path, capfd):
    """Also where the shell made it a file (``> all.txt``, ``>> all.txt``), as pytest does."""
    print("earlier", flush=True)
    score_file(Toy(), Toy().load(None), write(tmp_path / "answers.jsonl", answers()), Path("/dev/stdout"))
    print("later", flush=True)
    lines = capfd.readouterr().out.splitlines()
    assert (lines[0], lines[-1], len(lines)) == ("earlier", "later", 12)


def test_missing_answers_are_named_once_and_without_a_number(toy, tmp_path):
    missing = str(tmp_path / "none.jsonl")
    result = runner.invoke(app, ["score", "toy", "--outputs", missing, "--out", str(tmp_path / "verdicts.jsonl")])
    assert str(result.exception) == f"genenv: {missing}: No such file or directory"


@pytest.mark.parametrize("out", ["folder", "."])
def test_a_folder_is_no_file_for_verdicts(toy, tmp_path, monkeypatch, out):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "folder").mkdir()
    outputs = write(tmp_path / "answers.jsonl", answers())
    result = runner.invoke(app, ["score", "toy", "--outputs", str(outputs), "--out", out])
    assert isinstance(result.exception, SystemExit) and f"{out}: Is a directory" in str(result.exception)


def test_an_empty_file_has_no_score(toy, tmp_path):
    result, verdicts = score(tmp_path, [], "--summary")
    assert verdicts == [] and "score" not in json.loads(result.stdout)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--data", "nowhere"], "nowhere is missing; download"),
        (["--option", "broken"], "NAME=VALUE"),
        (["--option", "open=1"], "no option 'open'; known are broken"),
    ],
)
def test_an_error_is_one_line_with_the_remedy(toy, tmp_path, arguments, message):
    result, verdicts = score(tmp_path, answers(), *arguments)
    assert result.exit_code != 0 and verdicts is None
    assert message in str(result.exception) and isinstance(result.exception, SystemExit)


def test_missing_answers_and_unknown_benchmarks(tmp_path, toy):
    out = str(tmp_path / "o")
    result = runner.invoke(app, ["score", "toy", "--outputs", str(tmp_path / "none"), "--out", out])
    assert "none" in str(result.exception) and isinstance(result.exception, SystemExit)
    result = runner.invoke(app, ["score", "gsm8k", "--outputs", "x", "--out", out])
    assert "known are apibank, alfworld" in str(result.exception)


def test_a_name_is_given_once():
    with pytest.raises(ValueError, match="registered already"):
        register(benchmark_class("apibank"))
    with pytest.raises(ValueError, match="it has none"):
        get_benchmark("apibank", rounds=3)
    assert set(MODULES) == {"apibank", "alfworld", "bfcl", "bfcl_ast", "bamboogle", "travelplanner"}
