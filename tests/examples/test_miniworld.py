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
"""The miniature world of the quickstart: its language, its tokenizer, its data and a three-step build."""

from __future__ import annotations

import json
import random
import sys
from pathlib import Path

import pytest

pytest.importorskip("torch")
transformers = pytest.importorskip("transformers")

MINIWORLD = Path(__file__).parents[2] / "examples" / "miniworld"
sys.path.insert(0, str(MINIWORLD))

import build  # noqa: E402
import models  # noqa: E402
import warm_start  # noqa: E402
import world  # noqa: E402

from genenv_verl.rewards.compute_score import compute_score  # noqa: E402
from genenv_verl.rewards.solved import is_solved  # noqa: E402
from genenv_verl.tasks.prompts import AgentPrompt, EnvironmentPrompt  # noqa: E402
from genenv_verl.tasks.records import from_verl_row, read_tasks, to_verl_row  # noqa: E402
from genenv_verl.tasks.schema import Task  # noqa: E402
from genenv_verl.tasks.tool_calls import format_calls  # noqa: E402
from genenv_verl.tasks.validity import ValidityFilter  # noqa: E402


def call(tool: str, number: str) -> dict:
    return {"name": tool, "arguments": {"n": number}}


@pytest.fixture(scope="module")
def tokenizer(tmp_path_factory):
    """The tokenizer as verl and vLLM get it: read back from the folder."""
    folder = tmp_path_factory.mktemp("tokenizer")
    models.build_tokenizer().save_pretrained(folder)
    return transformers.AutoTokenizer.from_pretrained(folder)


# ------------------------------------------------------------------------------------------------------- language


@pytest.mark.parametrize(
    ("goal", "calls"),
    [
        ("dial trio, wire teens, post 27", [call("ring", "3"), call("pay", "15"), call("send", "27")]),
        ("lend gross", [call("pay", "144")]),
        ("pass 7, pass 7", [call("send", "7"), call("send", "7")]),
        ("ring 99", [call("ring", "99")]),
    ],
)
def test_solver_knows_the_only_right_calls(goal, calls):
    assert world.solve(goal) == calls


@pytest.mark.parametrize(
    "goal", ["", "dial", "dial trio,", "dial trio,wire 3", "sing trio", "dial 100", "dial ٣", "dial  trio", "Dial trio"]
)
def test_solver_knows_no_calls_for_other_texts(goal):
    assert world.solve(goal) is None
    assert world.difficulty(goal) is None


def test_difficulty_is_the_demonstrators_chance_to_fail():
    goal = "dial trio, wire 27"
    rng = random.Random(0)
    failures = sum(world.demonstrate(goal, rng) != world.solve(goal) for _ in range(4000)) / 4000
    assert world.difficulty(goal) == pytest.approx(1 - 0.75 * 0.50 * 0.60)
    assert failures == pytest.approx(world.difficulty(goal), abs=0.03)


def test_a_misunderstood_word_is_always_misunderstood_in_the_same_way():
    rng = random.Random(0)
    seen = {json.dumps(world.demonstrate("ping hand", rng)) for _ in range(300)}
    assert len(seen) == 4  # right or confused verb, right or confused word
    assert json.dumps(world.solve("ping hand")) in seen


def test_generators_never_write_an_exam_goal():
    rng = random.Random(0)
    for _ in range(300):
        goal = world.random_goal(rng, rng.choice((1, 1, 3)))
        assert not world.held_out(goal)
        assert not world.held_out(world.vary(rng, goal, 1))
        assert world.held_out(world.random_goal(rng, 1, exam=True))


def test_a_variation_has_the_wanted_length_and_is_in_the_language():
    rng = random.Random(0)
    for k in range(1, world.MAX_CLAUSES + 1):
        variation = world.vary(rng, world.random_goal(rng, 4), k)
        assert world.clause_count(variation) == k == len(world.solve(variation))


# ---------------------------------------------------------------------------------------------------------- data


@pytest.mark.parametrize(("name", "counts"), [("mild", {3, 4, 5, 6}), ("hard", {6, 7, 8})])
def test_seeds_belong_to_their_world_and_share_no_goal_with_the_exam(name, counts):
    seeds, exam = build.seed_tasks(name, seed=0), build.exam_tasks()
    goals = {task.context.goal for task in seeds}
    assert len(goals) == len(seeds) == 32
    assert {world.clause_count(goal) for goal in goals} == counts
    assert not goals & {task.context.goal for task in exam}
    assert all(world.held_out(task.context.goal) for task in exam)
    assert [task.family for task in exam] == [f"mini-k{k}" for k in range(1, 9) for _ in range(12)]


def test_the_exam_does_not_depend_on_the_seed_but_the_base_data_do():
    assert build.exam_tasks() == build.exam_tasks()
    assert build.seed_tasks("mild", 0) == build.seed_tasks("mild", 0)
    assert build.seed_tasks("mild", 0) != build.seed_tasks("mild", 1)


def test_rows_convert_back_to_their_tasks():
    task = build.task_of("dial trio, post 27", "mini-000")
    messages = AgentPrompt(str(warm_start.AGENT_TEMPLATE)).messages(task)
    assert messages == [{"role": "user", "content": "dial trio, post 27"}]
    row = to_verl_row(task, messages)
    assert from_verl_row(row) == task
    assert row["data_source"] == "genenv/mini-k2"


def test_a_right_response_scores_and_a_wrong_one_does_not():
    goal = "dial trio, post 27"
    truth = build.task_of(goal, "mini-000").ground_truth()
    right = world.write_response(goal, world.solve(goal))
    wrong = world.write_response(goal, world.solve("dial trio, post 26"))
    assert compute_score("genenv", right, truth)["score"] == 1.0
    assert compute_score("genenv", wrong, truth)["score"] == 0.0


@pytest.mark.parametrize("k", [1, 8])
def test_a_well_written_generation_is_a_valid_task_within_the_quickstarts_limits(tokenizer, k):
    seed = build.task_of("dial trio, post 27, tip 3", "mini-000")
    goal = world.random_goal(random.Random(k), k)
    task = build.read_written(world.write_generation(goal, world.solve(goal)), seed)
    assert isinstance(task, Task)
    assert [call.model_dump() for call in task.gold_action] == world.solve(goal)
    prompt = AgentPrompt(str(warm_start.AGENT_TEMPLATE))
    limits = ValidityFilter(
        max_prompt_tokens=32,
        max_response_tokens=32,
        count_prompt_tokens=lambda task: len(
            tokenizer.apply_chat_template(prompt.messages(task), add_generation_prompt=True, return_dict=False)
        ),
        count_response_tokens=lambda text: len(tokenizer(text)["input_ids"]),
        seen=frozenset(),
        solves=is_solved,
    )
    assert limits.check(task, seed) is None


# ------------------------------------------------------------------------------------------------------ tokenizer


@pytest.mark.parametrize(
    "text",
    [
        "vary success 10: dial trio, wire teens, post 27",
        world.write_generation("dial gross", world.solve("dial gross")),
        world.write_response("dial gross, pay 7", world.solve("dial gross, pay 7")),
        'Any other text, "quoted" — naïve 12345\n\ttoo',
    ],
)
def test_tokenizer_gives_texts_back(tokenizer, text):
    assert tokenizer.decode(tokenizer(text)["input_ids"]) == text


def test_clauses_have_three_tokens_and_calls_five_whatever_their_words(tokenizer):
    def length(text: str) -> int:
        return len(tokenizer(text)["input_ids"])

    rng = random.Random(0)
    for k in range(1, world.MAX_CLAUSES + 1):
        goal = world.random_goal(rng, k)
        assert length(goal) == 3 * k - 1
        assert length(world.write_response(goal, world.solve(goal))) == 5 * k + 1
        assert length(format_calls(build.task_of(goal, "x").gold_action)) == 3 * k + 1


def test_chat_template_gives_the_ids_of_the_training_c21(tokenizer):
    """C21: the template and the tokenizer must not both add a begin token; here neither does."""
    task = build.task_of("dial trio, post 27", "mini-000")
    messages = AgentPrompt(str(warm_start.AGENT_TEMPLATE)).messages(task)
    ids = tokenizer.apply_chat_template(messages, add_generation_prompt=True, return_dict=False)
    rendered = tokenizer.apply_chat_template(messages, add_generation_prompt=True, tokenize=False)
    assert tokenizer(rendered)["input_ids"] == ids
    assert tokenizer.bos_token is None
    assert rendered == "<|user|>dial trio, post 27<|assistant|>"


@pytest.mark.parametrize("success", [None, 0.0, 0.44, 1.0])
def test_lessons_use_the_prompts_that_the_policies_will_get(tokenizer, success):
    lessons = warm_start.Lessons(tokenizer, random.Random(0))
    seed = build.task_of("dial trio, post 27", "mini-000")
    rates = {"seed_success": success, "family_success": None, "overall_success": None, "target_success": 0.5}
    requests = {
        lessons.agent_prompt("dial trio, post 27"): AgentPrompt(str(warm_start.AGENT_TEMPLATE)).messages(seed),
        lessons.environment_prompt("dial trio, post 27", success): EnvironmentPrompt(
            str(warm_start.ENVIRONMENT_TEMPLATE)
        ).messages(seed, **rates),
    }
    for text, messages in requests.items():
        expected = tokenizer.apply_chat_template(messages, add_generation_prompt=True, return_dict=False)
        [example] = lessons.examples([(text, "whatever")])
        assert example.prompt == expected
        assert example.response[-1] == tokenizer.eos_token_id


def test_only_the_goal_of_a_generation_weighs_less(tokenizer):
    lessons = warm_start.Lessons(tokenizer, random.Random(0))
    [example, *_] = lessons.variations(3, 2, goal_weight=0.15)
    weighed = zip(example.response, example.weights, strict=True)
    goal = tokenizer.decode([token for token, weight in weighed if weight == 0.15]).removeprefix('{"goal": "')
    assert len(world.solve(goal)) == 2
    assert set(lessons.solutions(2)[0].weights) == {1.0}


def test_chat_template_refuses_turns_that_it_would_drop(tokenizer):
    with pytest.raises(Exception, match="user and assistant turns only"):
        tokenizer.apply_chat_template([{"role": "system", "content": "x"}])


# ---------------------------------------------------------------------------------------------------------- build


@pytest.mark.slow
def test_an_environment_that_cannot_solve_begins_anew(tmp_path, monkeypatch, capsys):
    shares = iter([1.0, 0.1, 1.0, 1.0, 1.0, 1.0])
    found = {"valid": 1.0, "unique": 1.0, "clauses": 4.0}
    monkeypatch.setattr(build, "examine_environment", lambda *_, **__: found | {"wrong_gold": next(shares)})
    schedule = warm_start.Schedule(environment=1, agent=1)
    assert build.build(tmp_path, "mild", 0, schedule, attempts=1)["beginnings"] == 2
    assert "100% wrong golds: the environment has not learned to solve" in capsys.readouterr().out
    with pytest.raises(SystemExit, match="seed 7: the environment did not learn to solve"):
        build.build(tmp_path / "never", "mild", 7, schedule, attempts=1)
    assert not (tmp_path / "never" / "environment").exists()


def test_a_build_that_is_interrupted_says_how_to_go_on(tmp_path, monkeypatch, capsys):
    def interrupted(*_, **__):
        raise KeyboardInterrupt

    monkeypatch.setattr(build, "build", interrupted)
    for setting in ("set_num_threads", "set_flush_denormal"):  # they would hold for all tests after this one
        monkeypatch.setattr(build.torch, setting, lambda _: None)
    monkeypatch.setattr("sys.argv", ["build.py", "--out", str(tmp_path)])
    with pytest.raises(SystemExit) as ended:
        build.main()
    assert ended.value.code == 130 and "stopped; the same command" in capsys.readouterr().err


@pytest.mark.slow
def test_a_three_step_build_writes_what_verl_and_vllm_load(tmp_path):
    schedule = warm_start.Schedule(environment=3, agent=3, most_wrong_golds=1.0)
    result = build.build(tmp_path, "mild", 0, schedule, attempts=1)
    assert json.loads((tmp_path / "build.json").read_text())["schedule"]["agent"] == 3
    assert set(result["agent"]["exam_by_clauses"]) == set(range(1, 9))
    assert len(read_tasks(tmp_path / "seeds.parquet")) == 32
    assert len(read_tasks(tmp_path / "exam.parquet")) == 96
    for player in ("agent", "environment"):
        config = transformers.AutoConfig.from_pretrained(tmp_path / player)
        generation = transformers.GenerationConfig.from_pretrained(tmp_path / player)
        tokenizer = transformers.AutoTokenizer.from_pretrained(tmp_path / player)
        model = transformers.AutoModelForCausalLM.from_pretrained(tmp_path / player)
        assert config.architectures == ["LlamaForCausalLM"]
        assert config.hidden_size // config.num_attention_heads == 32
        assert model.get_input_embeddings().num_embeddings == len(tokenizer) == config.vocab_size
        assert str(model.dtype) == "torch.float32"
        for settings in (config, generation, tokenizer):
            assert settings.eos_token_id == 1
            assert settings.pad_token_id == 0
