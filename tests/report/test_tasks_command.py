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
import re

import pytest
from typer.testing import CliRunner

from genenv_verl.cli import app
from genenv_verl.report.task_text import MAX_TEXT_CHARS, printable
from genenv_verl.tasks.validity import RULES

CALL = {"name": "find_bus", "arguments": {"seats": 2}}
PARAMETERS = {"type": "object", "properties": {"seats": {"type": "integer"}, "day": {}}, "required": ["seats"]}
TOOL = {"type": "function", "function": {"name": "find_bus", "parameters": PARAMETERS}}
HOSTILE = "\x1b]0;owned\x07\x1b[2J [bold red]no markup[/] \u202etxt.exe\u200b \r\x9b31m :smile:"


LONG = " ".join(f"item {number}" for number in range(200))


def task(task_id, goal="Find a bus for two."):
    return {"task_id": task_id, "family": "travel", "context": {"goal": goal, "tools": [TOOL]}, "gold_action": [CALL]}


def attempt(score, response):
    return {"response": response, "score": score, "success": score == 1.0, "scored": True, "reason": "correct"}


@pytest.fixture
def epoch(tmp_path):
    worth = {
        "successes": 1,
        "scored": 2,
        "p_hat": 0.5,
        "group_p_hat": 0.4,
        "reward": 0.98,
        "weight": 1.2,
        "accepted": True,
    }
    rejection = {"reason": "not_json", "detail": HOSTILE}
    tries = [attempt(1.0, "yes"), attempt(0.0, "no")]
    lines = [
        {"task_id": "a", "task": task("a"), "rejection": None, "attempts": tries, **worth},
        {"task_id": "b", "task": None, "rejection": rejection, "text": HOSTILE, "attempts": []},
        {"task_id": "c", "task": task("c", HOSTILE + LONG), "rejection": None, "attempts": []},
    ]  # fmt: skip
    path = tmp_path / "epoch_0000.jsonl"
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    return path


def run(*arguments):
    return CliRunner().invoke(app, ["tasks", *map(str, arguments)])


def test_validate_counts_reasons_and_fails(epoch):
    result = run("validate", epoch)
    assert result.exit_code == 1
    assert "2 of 3 tasks are valid" in result.output
    assert re.search(r"not_json\W+1", result.output)
    report = json.loads(run("validate", epoch, "--json").output)
    assert (report["tasks"], report["valid"], report["invalid_reasons"]) == (3, 2, {"not_json": 1})
    assert report["invalid"] == [{"row": 2, "task_id": "b", "reason": "not_json", "detail": HOSTILE}]


def test_validate_of_valid_tasks_succeeds(tmp_path):
    path = tmp_path / "seeds.jsonl"
    path.write_text(json.dumps(task("a")) + "\n")
    result = run("validate", path)
    assert (result.exit_code, "1 of 1 tasks are valid" in result.output) == (0, True)


@pytest.mark.parametrize("command", ["validate", "show"])
def test_a_missing_file_is_named(tmp_path, command):
    result = run(command, tmp_path / "none.jsonl")
    assert result.exit_code == 2
    assert "none.jsonl" in result.output


def test_rules_of_ones_own_are_applied(tmp_path):
    path, rules = tmp_path / "seeds.jsonl", tmp_path / "my_rules.py"
    path.write_text(json.dumps(task("a")) + "\n" + json.dumps(task("b", "FIND A BUS FOR TWO.")) + "\n")
    rules.write_text(
        "from genenv_verl.tasks.validity import Candidate, rule\n"
        "@rule('shouting_in_a_file')\n"
        "def goal_is_not_all_capitals(candidate: Candidate):\n"
        "    return 'capitals' if candidate.task.context.goal.isupper() else None\n"
    )
    try:
        result = CliRunner().invoke(app, ["tasks", "validate", str(path), "--json", "--rules", str(rules)])
    finally:
        RULES.pop("shouting_in_a_file")
    assert result.exit_code == 1
    assert json.loads(result.stdout)["invalid_reasons"] == {"shouting_in_a_file": 1}
    missing = CliRunner().invoke(app, ["tasks", "validate", str(path), "--rules", str(tmp_path / "none.py")])
    assert missing.exit_code == 2 and "none.py" in missing.stderr


def test_show_says_what_a_task_is_and_was_worth(epoch):
    result = run("show", epoch, "--id", "a")
    assert result.exit_code == 0
    for expected in (
        "row 1: a  (travel)",
        "find_bus(seats: integer, day?: any)",
        "Find a bus for two.",
        'find_bus {"seats": 2}',
        "exact_match, a success from 1",
        "1 of 2 scored succeeded",
        "p̂ 0.500, of its group 0.400, R_env 0.980, weight 1.200, accepted",
    ):
        assert expected in result.output
    assert "row 2" not in result.output


def test_show_says_that_attempts_are_left_out(tmp_path):
    path = tmp_path / "epoch_0000.jsonl"
    line = {"task_id": "a", "task": task("a"), "rejection": None, "attempts": [attempt(0.0, "no")] * 8}
    path.write_text(json.dumps(line))
    cut, full = run("show", path).output, run("show", path, "--full").output
    assert "8 in all, the first 3 here, --full shows all" in " ".join(cut.split())
    assert "here" not in full and full.count("no") > cut.count("no")


def test_show_chooses_by_reason_and_number(epoch):
    assert "row 2" in run("show", epoch, "--reason", "not_json").output
    assert re.findall(r"row \d", run("show", epoch, "--reason", "valid").output) == ["row 1", "row 3"]
    assert re.findall(r"row \d", run("show", epoch, "--limit", "2").output) == ["row 1", "row 2"]
    nothing = run("show", epoch, "--id", "zzz")
    assert (nothing.exit_code, "no such task" in nothing.output) == (1, True)


@pytest.mark.parametrize("arguments", [["show"], ["show", "--full"], ["validate"], ["validate", "--json"]])
def test_text_from_models_cannot_steer_the_terminal(epoch, arguments):
    command, *options = arguments
    output = run(command, epoch, *options).output
    assert not re.search(r"[\x00-\x09\x0b-\x1f\x7f-\x9f\u200b\u202e]", output)
    if command == "show":
        assert "[bold red]no markup[/]" in output and ":smile:" in output
        assert r"\x1b[2J" in output and r"\u202e" in output


def test_long_texts_are_cut_unless_asked_for(epoch):
    def letters(*options):
        return run("show", epoch, "--id", "c", *options).output.count("item")

    assert letters("--full") > letters()
    assert "more characters, --full shows them" in " ".join(run("show", epoch, "--id", "c").output.split())
    assert MAX_TEXT_CHARS < len(LONG)


def test_printable_keeps_words_of_any_script():
    assert printable("naïve 東京 😀\nשלום") == "naïve 東京 😀\nשלום"
    assert printable("\ud83d\u2028\t") == r"\ud83d\u2028\t"


def test_a_file_of_any_garbage_is_reported_line_by_line(tmp_path):
    path = tmp_path / "garbage.jsonl"
    lines = [b"[" * 10_000, b"\xff\xfe", b"null", b'{"task": 1, "rejection": 2}', b'{"task": null, "rejection": "x"}']
    lines += [json.dumps({"task": task("a"), "rejection": None, "attempts": value}).encode() for value in (1, [1], {})]
    lines += [json.dumps({"task": task("b"), "rejection": None, "attempts": [], "p_hat": "high"}).encode()]
    path.write_bytes(b"\n".join(lines))
    report = json.loads(run("validate", path, "--json").output)
    assert (report["tasks"], report["valid"]) == (9, 2)
    assert run("show", path).exit_code == 0
