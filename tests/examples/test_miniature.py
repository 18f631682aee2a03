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
"""The study of the miniature world: its plan, its exams, and the tables that it makes of runs."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

pytest.importorskip("torch")
pytest.importorskip("transformers")

EXAMPLES = Path(__file__).parents[2] / "examples"
sys.path[:0] = [str(EXAMPLES / "miniature"), str(EXAMPLES / "miniworld")]

import build  # noqa: E402
import evidence  # noqa: E402
import study  # noqa: E402
import world  # noqa: E402

from genenv_verl.tasks.records import read_tasks  # noqa: E402

RIGHT = "send 3, ring ten"


def record(goal: str, p_hat: float | None, gold: list | None = None) -> dict:
    task = {"context": {"goal": goal}, "gold_action": gold or world.solve(goal)}
    return {"text": goal, "task": task, "p_hat": p_hat}


def rejected(text: str) -> dict:
    return {"text": text, "task": None, "p_hat": None}


def write_run(run: Path, success: list[float], scores: list[float], *, arm: str = "genenv", tokens: int = 100) -> None:
    """A run of epochs of four steps, an exam before the first and after each."""
    folder = run / "genenv"
    (folder / "tasks").mkdir(parents=True)
    lines, exams = [], [{"step": 0, "data": {"val-core/a/reward/mean@2": scores[0]}}]
    for epoch, (rate, score) in enumerate(zip(success, scores[1:], strict=True)):
        step = 4 * (epoch + 1)
        used = {"agent_steps": step, "agent_tokens": step * tokens, "total_tokens": step * tokens * 5 // 4}
        line = {"epoch": epoch, "global_step": step, "budget": {"used": used}}
        if arm != "grpo":
            records = [
                record(RIGHT, rate), record("pay 7", 1.0, [{"name": "send", "arguments": {"n": "7"}}]), rejected("{"),
                rejected(RIGHT),
            ]  # fmt: skip
            (folder / "tasks" / f"epoch_{epoch:04d}.jsonl").write_text("\n".join(map(json.dumps, records)) + "\n")
            line |= {"generated": 4, "valid_fraction": 0.5, "success_rate": rate, "response_tokens_mean": 9.0}
        lines.append(line)
        exams.append({"step": step, "data": {"val-core/a/reward/mean@2": score}})
    (folder / "epochs.jsonl").write_text("\n".join(map(json.dumps, lines)) + "\n")
    (folder / "validation.jsonl").write_text("\n".join(map(json.dumps, exams)) + "\n")


def test_the_final_exam_shares_no_goal_with_the_practice_exam_seeds_or_lessons():
    practice = {task.context.goal for task in build.exam_tasks()}
    final = {task.context.goal for task in build.final_exam_tasks()}
    assert len(practice) == 96 and len(final) == 128 and not practice & final
    assert all(world.held_out(goal) for goal in practice | final)
    seeds = [
        task.context.goal for name in ("mild", "hard") for seed in range(3) for task in build.seed_tasks(name, seed)
    ]
    assert not any(world.held_out(goal) for goal in seeds)


def test_a_plan_has_whole_comparisons_first_and_a_folder_for_each_run(tmp_path):
    trials = study.plan(["mild", "hard"], ["genenv", "grpo"], [0, 1])
    assert [(t.world, t.arm, t.seed) for t in trials[:4]] == [
        ("mild", "genenv", 0), ("mild", "grpo", 0), ("hard", "genenv", 0), ("hard", "grpo", 0),
    ]  # fmt: skip
    assert len({trial.folder(tmp_path) for trial in trials}) == len(trials) == 8


@pytest.mark.parametrize("arm", study.ARMS)
def test_arms_differ_in_nothing_but_variant_and_preset(arm, tmp_path):
    def settings(arm: str) -> set[str]:
        command = study.command_of(study.Trial("mild", arm, 3), tmp_path, 48, ["a=1"])
        return {part.replace(f"{arm}-3", "RUN") for part in command} - set(study.ARMS[arm])

    assert settings(arm) == settings("genenv") and "genenv.seed=3" in settings(arm)


def test_both_worlds_of_a_seed_have_the_same_players(tmp_path):
    players = tmp_path / "players" / "5"
    for player in ("agent", "environment"):
        (players / player).mkdir(parents=True)
        (players / player / "weights").write_text(player)
    (players / "build.json").write_text("{}")
    for name in ("mild", "hard"):
        trial = study.Trial(name, "random", 5)
        study.prepare_world(trial, tmp_path, "final", fast=False)
        folder = trial.world_folder(tmp_path)
        assert (folder / "agent" / "weights").read_text() == "agent"
        assert len(read_tasks(folder / "exam.parquet")) == 128
        counts = {world.clause_count(task.context.goal) for task in read_tasks(folder / "seeds.parquet")}
        assert counts == set(build.SEED_CLAUSES[name])


def test_measures_of_a_run(tmp_path):
    write_run(tmp_path, [0.2, 0.5], [0.1, 0.2, 0.4])
    run = evidence.measure(tmp_path)
    assert [exam.score for exam in run.exams] == [0.1, 0.2, 0.4] and run.exams[1].agent_tokens == 400
    assert run.success == [0.2, 0.5] == run.success_right
    assert run.wrong_gold == [0.5, 0.5] and run.unique == [0.75, 0.75] and run.clauses == [1.5, 1.5]
    assert run.environment_share == pytest.approx(0.2)
    assert evidence.steps_done(tmp_path) == 8 and evidence.steps_done(tmp_path / "nothing") == 0


@pytest.mark.parametrize(("amount", "score"), [(0, 0.1), (200, 0.15), (400, 0.2), (700, 0.35), (800, 0.4), (900, 0.4)])
def test_scores_between_two_exams_lie_on_the_line_between_them(tmp_path, amount, score):
    write_run(tmp_path, [0.2, 0.5], [0.1, 0.2, 0.4])
    assert evidence.score_at(evidence.measure(tmp_path).exams, "agent_tokens", amount) == pytest.approx(score)


def test_the_tables_compare_at_the_budget_that_every_run_has_spent(tmp_path):
    for seed in (0, 1):
        runs = tmp_path / "runs" / "mild"
        write_run(runs / f"genenv-{seed}", [0.2, 0.5], [0.1, 0.2, 0.4 + seed / 10], tokens=100)
        write_run(runs / f"grpo-{seed}", [0.2, 0.5], [0.1, 0.1, 0.3], arm="grpo", tokens=200)
    (tmp_path / "runs" / "mild" / "random-0").mkdir()  # not begun
    write_run(tmp_path / "runs" / "mild" / "paper-0", [0.2], [0.1, 0.2])  # goes on
    text = evidence.write(tmp_path)
    assert "| genenv | 2 | 0.100 ± 0.000 | 0.450 ± 0.071 | 0.450 ± 0.071 | 0.450 ± 0.071 | 1 ± 0 | 1 ± 0 |" in text
    # 800 agent tokens are grpo's first epoch
    assert "| grpo | 2 | 0.100 ± 0.000 | 0.300 ± 0.000 | 0.100 ± 0.000 | 0.100 ± 0.000 | 2 ± 0 | 2 ± 0 |" in text
    assert "| genenv − grpo | +0.100 +0.200 | +0.300 +0.400 | +0.300 +0.400 |" in text
    assert "| genenv | 0.20 | 0.50 | 1 1 |" in text and "random" not in text and "paper" not in text
    assert (tmp_path / "results.md").read_text() == text
    assert json.loads((tmp_path / "results.json").read_text())["mild"]["grpo"]["1"]["exams"][0]["score"] == 0.1
