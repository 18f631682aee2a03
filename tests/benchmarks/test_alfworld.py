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

import io
import json
import os
import random
import sys
import tarfile
from pathlib import Path

import pytest

from genenv_verl.benchmarks import alfworld as alfworld_module
from genenv_verl.benchmarks import get_benchmark
from genenv_verl.benchmarks.alfworld_engine import Moment, Replay, replay
from genenv_verl.benchmarks.alfworld_release import read_game
from genenv_verl.benchmarks.base import Record, ReleaseError, Verdict
from genenv_verl.benchmarks.rows import score_row, step_row

PUT = 'template :: "put {o} in/on {r}"; "You put the {o.name} in/on the {r.name}." "You arrive at {lend.name}."'
MOVE = 'template :: "move {o} to {r}"; "You move the {o.name} to the {r.name}." "You arrive at {r.name}."'
MUG = "valid_seen/pick_and_place_simple-Mug-None-Desk-1/trial_1"
BOOK = "valid_unseen/look_at_obj_in_light-Book-None-Lamp-2/trial_2"


def game(grammar=PUT, solvable=True):
    return {"pddl_domain": "", "pddl_problem": "", "grammar": grammar, "solvable": solvable}


def write_game(folder: Path, trial: str, content=None, task_type="pick_and_place_simple"):
    place = folder / "json_2.1.1" / trial
    place.mkdir(parents=True)
    (place / "game.tw-pddl").write_text(json.dumps(content or game()))
    (place / "traj_data.json").write_text(json.dumps({"task_type": task_type, "pddl_params": {}}))
    return folder


@pytest.fixture
def alfworld():
    return get_benchmark("alfworld")


COMMANDS = ["go to desk 1", "look", "put mug 2 in/on desk 1"]
RECORD = Record(f"{MUG}/game.tw-pddl", "valid_seen", {"task_type": "pick_and_place_simple", "wording": "2.1.1"})


@pytest.mark.parametrize(
    ("action", "exact", "admissible"),
    [
        ("put mug 2 in/on desk 1", True, True),
        ("put mug 2 on desk 1", False, False),
        ("move mug 2 to desk 1", False, False),
        ("Put mug 2 in/on desk 1", False, False),
        ("look", False, True),
    ],
)
def test_exactly_one_wording_is_accepted_b24(alfworld, action, exact, admissible):
    """Case B24: the engine accepts the place action in one wording only, in lower case."""
    answer = {"model_action": action, "admissible_commands": COMMANDS, "gold_action": "put mug 2 in/on desk 1"}
    verdict = alfworld.score(RECORD, answer)
    assert (verdict.score, verdict.details) == (float(admissible), {"exact_match": exact})
    assert verdict.reason == ("ok" if admissible else "not_admissible")


@pytest.mark.parametrize(
    ("answer", "reason"),
    [
        ({"model_action": " look", "admissible_commands": COMMANDS}, "not_admissible"),
        ({"model_action": "look\n", "admissible_commands": COMMANDS}, "not_admissible"),
        ({"model_action": "look look", "admissible_commands": COMMANDS}, "not_admissible"),
        ({"model_action": "loo", "admissible_commands": COMMANDS}, "not_admissible"),
        ({"model_action": "look", "admissible_commands": [["look"], {"look": 1}, None]}, "not_admissible"),
        ({"model_action": "", "admissible_commands": ["", *COMMANDS]}, "no_action"),
        ({"model_action": None, "admissible_commands": [None]}, "no_action"),
        ({"model_action": ["look"], "admissible_commands": [["look"]]}, "no_action"),
        ({"admissible_commands": COMMANDS}, "no_action"),
        ({"model_action": "look", "admissible_commands": "look"}, "no_admissible_commands"),
        ({"model_action": "look", "admissible_commands": {"look": 1}}, "no_admissible_commands"),
        ({"model_action": "look"}, "no_admissible_commands"),
        ({}, "no_admissible_commands"),
    ],
)
def test_what_is_no_admissible_command_scores_zero(alfworld, answer, reason):
    assert alfworld.score(RECORD, answer) == Verdict(0.0, reason, {})


def test_a_line_of_verdicts_is_scored_without_its_other_fields(alfworld):
    line = {"model_action": "look", "admissible_commands": COMMANDS, "expert_action": "go", "official": {"won": True}}
    assert alfworld.score(RECORD, line) == Verdict(1.0, "ok", {})


def test_aggregate_reports_both_and_scores_agreement_where_it_is_known(alfworld):
    known = [Verdict(1.0, "ok", {"exact_match": True}), Verdict(1.0, "ok", {"exact_match": False})]
    broken = Verdict(0.0, "scorer_error:X")
    assert alfworld.aggregate([(RECORD, verdict) for verdict in [*known, broken, broken]]) == {
        "score": 0.25,
        "admissible": 0.5,
        "exact_match": 0.25,
    }
    assert alfworld.aggregate([(RECORD, Verdict(1.0, "ok")), (RECORD, broken)]) == {"score": 0.5, "admissible": 0.5}
    assert alfworld.aggregate([]) == {}


def test_games_are_found_and_filtered_as_the_official_environment_does(alfworld, tmp_path):
    write_game(tmp_path, MUG)
    write_game(tmp_path, BOOK, task_type="look_at_obj_in_light")
    write_game(tmp_path, "valid_seen/pick_and_place_with_movable_recep-Fork-Cup-Table-3/trial_3")
    write_game(tmp_path, "valid_seen/pick_and_place_simple-AppleSliced-None-Desk-4/trial_4")
    write_game(tmp_path, "valid_seen/pick_and_place_simple-Pen-None-Desk-5/trial_5", game(solvable=False))
    write_game(tmp_path, "valid_seen/pick_and_place_simple-Pen-None-Desk-6/trial_6", {"grammar": PUT})
    write_game(tmp_path, "valid_seen/stack-Pen-None-Desk-7/trial_7", task_type="stack")
    write_game(tmp_path, "tests/pick_and_place_simple-Pen-None-Desk-8/trial_8")
    without_game = tmp_path / "json_2.1.1/valid_seen/pick_and_place_simple-Pen-None-Desk-9/trial_9"
    without_game.mkdir(parents=True)
    (without_game / "traj_data.json").write_text("{}")
    records = alfworld.load(tmp_path)
    assert [record.record_id for record in records] == [f"{MUG}/game.tw-pddl", f"{BOOK}/game.tw-pddl"]
    assert alfworld.counts(records) == {"valid_seen": 1, "valid_unseen": 1}
    assert records[1].data["task_type"] == "look_at_obj_in_light"


def test_games_in_an_archive(alfworld, tmp_path):
    write_game(tmp_path / "inside", MUG)
    write_game(tmp_path / "inside", "valid_seen/pick_and_place_simple-AppleSliced-None-Desk-4/trial_4")
    release = tmp_path / "release"
    release.mkdir()
    with tarfile.open(release / "json_2.1.1.tar.xz", "w:xz") as archive:
        archive.add(tmp_path / "inside/json_2.1.1", "json_2.1.1")
    (record,) = alfworld.load(release)
    assert record.record_id == f"{MUG}/game.tw-pddl"
    content, trajectory = read_game(record, "2.1.1")
    assert (content, trajectory["task_type"]) == (game(), "pick_and_place_simple")


def test_a_game_is_worded_anew(alfworld, tmp_path):
    (record,) = alfworld.load(write_game(tmp_path, MUG))
    assert read_game(record, "2.1.2")[0]["grammar"] == MOVE
    assert read_game(record, "2.1.1")[0]["grammar"] == PUT


def test_a_newer_game_does_not_become_an_older_one(alfworld, tmp_path):
    (record,) = alfworld.load(write_game(tmp_path, MUG, game(MOVE)))
    assert read_game(record, "2.1.2")[0]["grammar"] == MOVE
    with pytest.raises(ReleaseError, match="not turned back into 2.1.1"):
        read_game(record, "2.1.1")


def test_a_folder_of_mixed_versions_is_refused_b24(alfworld, tmp_path):
    """Case B24: with both wordings in one folder every model would fail the placing steps of one of them."""
    write_game(tmp_path, MUG)
    write_game(tmp_path, BOOK, game(MOVE))
    with pytest.raises(
        ReleaseError, match=r"mixed \(.*trial_1/game.tw-pddl has 2.1.1, .*trial_2/game.tw-pddl has 2.1.2"
    ):
        alfworld.load(tmp_path)


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("game.tw-pddl", "{", "game.tw-pddl is damaged"),
        ("game.tw-pddl", "[]", "game.tw-pddl is damaged .no JSON object"),
        ("game.tw-pddl", json.dumps(game("no placing")), "neither 2.1.1 nor 2.1.2"),
        ("game.tw-pddl", json.dumps(game(PUT + MOVE)), "neither 2.1.1 nor 2.1.2"),
        ("game.tw-pddl", json.dumps(game(7)), "neither 2.1.1 nor 2.1.2"),
        ("game.tw-pddl", "[" * 100_000, "game.tw-pddl is damaged"),
        ("traj_data.json", "\xff", "traj_data.json is damaged"),
        ("traj_data.json", None, "traj_data.json cannot be read"),
        ("../../../x.tar.xz", "no archive", "x.tar.xz is damaged"),
    ],
)
def test_a_damaged_file_is_named_with_what_to_download(alfworld, tmp_path, name, content, message):
    write_game(tmp_path, MUG)
    path = (tmp_path / "json_2.1.1" / MUG / name).resolve()
    path = tmp_path / path.name if path.suffix == ".xz" else path
    path.unlink() if content is None else path.write_bytes(content.encode("latin-1"))
    with pytest.raises(ReleaseError, match=message) as error:
        alfworld.load(tmp_path)
    assert "alfworld-download" in str(error.value)


def test_a_damaged_archive(alfworld, tmp_path):
    content = json.dumps(game()).encode() + random.Random(0).randbytes(50_000)
    path = tmp_path / "json_2.1.1.tar.xz"
    with tarfile.open(path, "w:xz") as archive:
        for name in ("a", f"json_2.1.1/{MUG}/game.tw-pddl"):
            member = tarfile.TarInfo(name)
            member.size = len(content)
            archive.addfile(member, io.BytesIO(content))
    whole = bytearray(path.read_bytes())
    whole[len(whole) // 2] ^= 0xFF
    for damaged in (whole, whole[: len(whole) // 3]):
        path.write_bytes(damaged)
        with pytest.raises(ReleaseError, match=f"{path.name}.* is damaged"):
            alfworld.load(tmp_path)


def test_an_archive_without_a_trajectory(alfworld, tmp_path):
    content = json.dumps(game()).encode()
    with tarfile.open(tmp_path / "json_2.1.1.tar", "w") as archive:
        member = tarfile.TarInfo(f"json_2.1.1/{MUG}/game.tw-pddl")
        member.size = len(content)
        archive.addfile(member, io.BytesIO(content))
    with pytest.raises(ReleaseError, match="has no traj_data.json"):
        alfworld.load(tmp_path)


@pytest.mark.parametrize("source", [None, "empty"])
def test_no_games(alfworld, tmp_path, source):
    with pytest.raises(ReleaseError, match="alfworld-download"):
        alfworld.load(source and tmp_path)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"expert": "oracle"}, "expert is 'oracle'; known are handcoded, planner"),
        ({"wording": "2.1.3"}, "known are 2.1.1, 2.1.2"),
        ({"wording": 2.1}, "wording is 2.1"),
        ({"wording": "2.1.1"}, "only knows the wording 2.1.2"),
        ({"idle_steps": "no"}, "idle_steps is 'no'"),
    ],
)
def test_options_that_cannot_work_are_refused(options, message):
    with pytest.raises(ValueError, match=message):
        get_benchmark("alfworld", **options)


MOMENTS = [
    Moment("You see a desk 1.", ["go to desk 1", "look"], "look"),
    Moment("You see nothing new.", ["go to desk 1", "look"], "go to desk 1"),
    Moment("You arrive at desk 1.", ["look", "move mug 2 to desk 1"], "move mug 2 to desk 1"),
]


def steps_of(monkeypatch, tmp_path, won=True, **options):
    """The steps of a game whose replay is given (the engine's own is tested with the official data)."""
    monkeypatch.setattr(alfworld_module, "replay", lambda *_: Replay("put a mug in desk.", MOMENTS, won))
    benchmark = get_benchmark("alfworld", **options)
    return benchmark, list(benchmark.steps(benchmark.load(write_game(tmp_path, MUG))))


def test_steps_of_a_game(monkeypatch, tmp_path):
    benchmark, (first, second) = steps_of(monkeypatch, tmp_path)
    assert first.step_id == f"{MUG}/game.tw-pddl:step1"
    assert second.answer_fields == {
        "history": ["look", "go to desk 1"],
        "admissible_commands": ["look", "move mug 2 to desk 1"],
        "gold_action": "move mug 2 to desk 1",
    }
    assert second.record.data == {"task_type": "pick_and_place_simple", "wording": "2.1.2"}
    prompt = benchmark.messages(second)[-1].content
    assert (
        prompt.index("You see a desk 1.") < prompt.index('{"command": "go to desk 1"}') < prompt.index("You arrive at")
    )
    assert "Your task is to: put a mug in desk.\nPossible commands now:\nlook\nmove mug 2 to desk 1 </user>" in prompt
    assert [call.arguments for call in second.task.gold_action] == [{"command": "move mug 2 to desk 1"}]


def test_idle_steps_on_demand(monkeypatch, tmp_path):
    _, steps = steps_of(monkeypatch, tmp_path, idle_steps=True)
    assert [step.answer_fields["gold_action"] for step in steps] == ["look", "go to desk 1", "move mug 2 to desk 1"]


def test_a_game_that_the_expert_does_not_solve_makes_no_steps(monkeypatch, tmp_path, caplog):
    _, steps = steps_of(monkeypatch, tmp_path, won=False)
    assert steps == []
    assert "1 games that the handcoded expert does not solve make no steps: valid_seen" in caplog.text


def test_no_records_no_steps(alfworld):
    assert list(alfworld.steps([])) == []


@pytest.mark.parametrize(
    ("response", "action"),
    [
        ('<think>go</think><tool_call>\n{"name": "act", "parameters": {"command": "look"}}\n</tool_call>', "look"),
        ('{"name": "act", "arguments": {"command": " look "}}', " look "),
        ("<think>look</think>\n go to desk 1 \n", "go to desk 1"),
        ("<response> look </response>", "look"),
        ("", ""),
        ('<tool_call>{"name": "act", "parameters": {"command": ["look"]}}</tool_call>', ""),
        ('<tool_call>{"name": "act", "parameters": {"command": "look", "hard": 1}}</tool_call>', "look"),
        ('<tool_call>{"name": "do", "parameters": {"command": "look"}}</tool_call>', ""),
        ('<tool_call>{"name": "act", "parameters": {}}</tool_call>', ""),
        ('<tool_call>\n{"name": "act", "parameters": {"command": "look"}}\n' * 2 + "</tool_call>", ""),
        ("<tool_call>{'name'", ""),
        ("x" * 100_000, ""),
    ],
    ids=lambda text: text[:40],
)
def test_parse(alfworld, response, action):
    assert alfworld.parse(None, response) == {"model_action": action}


def test_a_row_scores_a_response(monkeypatch, tmp_path):
    benchmark, (_, step) = steps_of(monkeypatch, tmp_path)
    row = step_row("alfworld", step, benchmark.messages(step), split="validation", index=0)
    truth = (row["reward_model"]["ground_truth"], row["extra_info"])
    assert score_row("alfworld", "move mug 2 to desk 1", *truth) == Verdict(1.0, "ok", {"exact_match": True})
    assert score_row("alfworld", "look", *truth) == Verdict(1.0, "ok", {"exact_match": False})
    assert score_row("alfworld", "jump", *truth) == Verdict(0.0, "not_admissible", {"exact_match": False})


DATA = os.environ.get("GENENV_BENCHMARK_DATA")
needs_data = pytest.mark.skipif(not DATA, reason="GENENV_BENCHMARK_DATA names no folder with the official data")


@pytest.fixture(scope="module")
def official():
    benchmark = get_benchmark("alfworld")
    return benchmark, benchmark.load(Path(DATA) / "benchmarks/alfworld")


@needs_data
def test_official_counts_and_every_verdict(official):
    alfworld, records = official
    assert alfworld.counts(records) == alfworld.official_counts
    by_id = {record.record_id: record for record in records}
    for line in (Path(DATA) / "verdicts/alfworld_dev.jsonl").read_text().splitlines():
        line = json.loads(line)
        assert alfworld.score(by_id[line["record_id"]], line).score == line["official"]["admissible"], line["id"]


@needs_data
@pytest.mark.parametrize("expert", ["planner", "handcoded"])
def test_the_engine_replays_as_recorded(official, expert):
    pytest.importorskip("alfworld", reason="the extra alfworld is not installed")
    path = Path(DATA) / f"benchmarks/alfworld/trajectories/{expert}_valid_unseen.jsonl"
    recorded = json.loads(path.read_text().partition("\n")[0])
    (record,) = [record for record in official[1] if recorded["gamefile"].endswith(record.record_id)]
    played = replay(*read_game(record, "2.1.2"), expert)
    steps = recorded["steps"]
    assert played.won
    assert [(m.admissible_commands, m.action) for m in played.moments] == [
        (step["admissible_commands"], step["action"]) for step in steps
    ]
    assert [m.observation for m in played.moments[1:]] == [step["observation"].strip() for step in steps[1:]]
    assert recorded["initial_observation"].endswith(
        f"{played.moments[0].observation}\n\nYour task is to: {played.task}"
    )


@needs_data
def test_the_engine_without_its_extra(official, monkeypatch):
    """The same whether the extra is installed or not: every import of the engine is refused."""
    for module in [name for name in sys.modules if name.partition(".")[0] in ("alfworld", "textworld")]:
        monkeypatch.delitem(sys.modules, module)
    for engine in ("alfworld", "textworld"):
        monkeypatch.setitem(sys.modules, engine, None)
    with pytest.raises(ReleaseError, match=r"pip install '\.\[alfworld\]' in genenv_verl's folder"):
        list(official[0].steps(official[1][:1]))
