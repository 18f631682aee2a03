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
"""The domain of docs/own_domain.md, as its reader would try it: seeds, self-test in the jail, prompt, rule, reward."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner

from genenv_verl.cli import app
from genenv_verl.rewards.compute_score import compute_score
from genenv_verl.rewards.solved import is_solved
from genenv_verl.tasks.generation import Rejection
from genenv_verl.tasks.near_duplicates import NoveltyIndex
from genenv_verl.tasks.prompts import AgentPrompt, EnvironmentPrompt
from genenv_verl.tasks.records import read_tasks, to_verl_row
from genenv_verl.tasks.sandbox.backends import open_backend
from genenv_verl.tasks.sandbox.base import Unavailable
from genenv_verl.tasks.sandbox.settings import SandboxSettings
from genenv_verl.tasks.schema import Generator, Task
from genenv_verl.tasks.validity import RULES, ValidityFilter, load_rules
from genenv_verl.tasks.writing import read_valid_task

DOMAIN = Path(__file__).parents[2] / "examples" / "meeting_rooms" / "domain.py"


@pytest.fixture(scope="module")
def backend():
    backend = open_backend(SandboxSettings())
    if isinstance(backend, Unavailable):
        pytest.skip(backend.why)
    yield backend
    backend.close()


@pytest.fixture(scope="module")
def seeds(tmp_path_factory) -> Path:
    path = tmp_path_factory.mktemp("rooms") / "seeds.jsonl"
    subprocess.run([sys.executable, str(DOMAIN), str(path)], check=True)
    return path


@pytest.fixture
def rules():
    known = dict(RULES)
    load_rules([str(DOMAIN)])
    yield
    RULES.clear()
    RULES.update(known)


def write(changes: dict, seed: Task, backend) -> Task | Rejection:
    """What the loop makes of a variation of the seed."""
    form = {"goal": seed.context.goal, "checker": seed.evaluation.checker, "calls": [seed.gold_action[0].model_dump()]}
    validity = ValidityFilter(
        max_prompt_tokens=10_000,
        max_response_tokens=1_000,
        count_prompt_tokens=lambda task: len(AgentPrompt().messages(task)[-1]["content"]),
        count_response_tokens=len,
        seen=frozenset(),
        solves=is_solved,
        checkers=backend,
    )
    outcome, _ = read_valid_task(
        json.dumps({**form, **changes}),
        seed=seed,
        task_id="written",
        epoch=0,
        generator=Generator(model="test", step=0),
        truncated=False,
        success_threshold=None,
        validity=validity,
        novelty=NoveltyIndex([], None),
    )
    return outcome


def test_the_domain_is_as_short_as_promised():
    assert len(DOMAIN.read_text().splitlines()) <= 80


def test_its_seeds_pass_the_commands_of_the_documentation(seeds, backend):
    for command in (["check-seeds", str(seeds)], ["tasks", "validate", str(seeds)]):
        done = CliRunner().invoke(app, command)
        assert done.exit_code == 0, done.output
    assert "12 of 12 tasks are valid" in done.output


def test_the_first_checker_that_the_documentation_tells_of_is_refused(seeds, backend):
    """int() reads "9" as well: the self-test has to find that."""
    seed = read_tasks(seeds)[0]
    careless = seed.evaluation.checker.replace("(call[", "(int(call[").replace(".pop(key) for", ".pop(key)) for")
    assert careless.count("int(call") == 1
    outcome = write({"goal": "Book 2 hours, 8 to 18.", "checker": careless}, seed, backend)
    assert outcome.reason == "checker_undiscriminating"
    assert outcome.detail.startswith("it accepts: changed_type, such as") and '"end": "15"}' in outcome.detail


def test_a_variation_goes_the_way_of_a_run(seeds, backend, rules):
    seed = read_tasks(seeds)[0]
    goal = f"Please note: {seed.context.goal}"
    assert isinstance(task := write({"goal": goal}, seed, backend), Task) and task.context.goal == goal
    late = [{"name": "book", "arguments": {"start": 30, "end": 31}}]
    assert write({"goal": goal, "calls": late}, seed, backend).reason == "checker_rejects_gold"
    assert write({"goal": "Book the room for a while."}, seed, backend).reason == "no_hours"


def test_the_environment_is_asked_for_a_checker(seeds):
    unknown = {"seed_success": None, "family_success": None, "overall_success": None, "target_success": 0.5}
    asked = EnvironmentPrompt().messages(read_tasks(seeds)[0], **unknown)[-1]["content"]
    assert "def check(" in asked and "Book" in asked


def test_every_free_room_is_a_right_answer_and_no_other(seeds, backend):
    seed = read_tasks(seeds)[0]
    truth = to_verl_row(seed, prompt=AgentPrompt().messages(seed))["reward_model"]["ground_truth"]
    hours = seed.gold_action[0].arguments["end"] - seed.gold_action[0].arguments["start"]
    right = []
    for start in range(6, 20):
        call = json.dumps({"name": "book", "arguments": {"start": start, "end": start + hours}})
        if compute_score("genenv", f"<tool_call>\n{call}\n</tool_call>", truth)["score"] == 1.0:
            right.append(start)
    taken = {int(word) for word in seed.context.goal.split("begin at ")[1].split(".")[0].replace("and", ",").split(",")}
    assert right == [s for s in range(8, 19 - hours) if not taken & set(range(s, s + hours))] and len(right) > 1


@pytest.mark.parametrize("response", ['{"arguments": 5}', '{"arguments": "start"}', "[" * 5000, "null"])
def test_whatever_is_answered_in_words_is_an_attempt_that_counts(seeds, backend, response):
    seed = read_tasks(seeds)[0]
    truth = to_verl_row(seed, prompt=AgentPrompt().messages(seed))["reward_model"]["ground_truth"]
    verdict = compute_score("genenv", response, truth)
    assert (verdict["score"], verdict["scored"]) == (0.0, 1.0), verdict
