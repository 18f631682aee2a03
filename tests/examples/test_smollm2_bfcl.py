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
"""The data side of examples/smollm2_bfcl: real records become sound tasks, and their variations stay right."""

from __future__ import annotations

import itertools
import json
import os
import random
import sys
from pathlib import Path

import pytest

EXAMPLE = Path(__file__).parents[2] / "examples" / "smollm2_bfcl"
sys.path.insert(0, str(EXAMPLE))

from bfcl_records import CATEGORIES, gold_arguments, is_sound, json_schema, read_wheel, to_task  # noqa: E402
from conversations import Conversations, environment_answer  # noqa: E402
from split import split_by_tools  # noqa: E402
from variations import Values, find_slots, join, substitute  # noqa: E402

from genenv_verl.rewards.agent_reward import score_response  # noqa: E402
from genenv_verl.rewards.solved import is_solved  # noqa: E402
from genenv_verl.tasks.generation import read_generation  # noqa: E402
from genenv_verl.tasks.novelty import SeenTasks  # noqa: E402
from genenv_verl.tasks.prompts import AgentPrompt, EnvironmentPrompt  # noqa: E402
from genenv_verl.tasks.schema import Generator, Task  # noqa: E402
from genenv_verl.tasks.validity import ValidityFilter  # noqa: E402

WHEEL = os.environ.get("GENENV_BFCL_WHEEL", "")

LIMITS = ValidityFilter(
    max_prompt_tokens=10_000,
    max_response_tokens=10_000,
    count_prompt_tokens=lambda task: 1,
    count_response_tokens=lambda text: len(text.split()),
    seen=SeenTasks(),
    solves=is_solved,
)


def make_task(task_id: str, goal: str, calls: list[tuple[str, dict]], **properties: dict) -> Task:
    """A task whose tools all have the given properties, none of them required."""
    tools = [
        {"type": "function", "function": {"name": name, "parameters": {"type": "object", "properties": properties}}}
        for name in dict.fromkeys(name for name, _ in calls)
    ]
    gold = [{"name": name, "arguments": arguments} for name, arguments in calls]
    return Task.model_validate({"task_id": task_id, "context": {"tools": tools, "goal": goal}, "gold_action": gold})


def weather(task_id: str, city: str, days: int) -> Task:
    goal = f"What is the weather in {city} over the next {days} days?"
    return make_task(
        task_id, goal, [("weather", {"city": city, "days": days})], city={"type": "string"}, days={"type": "integer"}
    )


RECORDS = [weather("w1", "Paris", 3), weather("w2", "Oslo", 7), weather("w3", "New York", 5)]

WEATHER_RECORD = {
    "id": "simple_python_7",
    "question": [[{"role": "user", "content": "Weather in Rome for 2 days"}]],
    "function": [
        {
            "name": "weather",
            "description": "Forecast.",
            "parameters": {
                "type": "dict",
                "properties": {"city": {"type": "string"}, "days": {"type": "float"}, "unit": {"type": "string"}},
                "required": ["city"],
            },
        }
    ],
}


# ---------------------------------------------------------------------------------------------------- records


def test_type_names_become_those_of_json_schema():
    bfcl = {
        "type": "dict",
        "properties": {
            "point": {"type": "tuple", "items": {"type": "float"}, "description": "x, y"},
            "anything": {"type": "any"},
            "rows": {"type": "array", "items": {"type": "dict", "properties": {"n": {"type": "integer"}}}},
        },
        "required": ["point"],
    }
    assert json_schema(bfcl) == {
        "type": "object",
        "properties": {
            "point": {"type": "array", "items": {"type": "number"}, "description": "x, y"},
            "anything": {},
            "rows": {"type": "array", "items": {"type": "object", "properties": {"n": {"type": "integer"}}}},
        },
        "required": ["point"],
    }


def test_a_property_called_type_is_no_type():
    schema = {"type": "dict", "properties": {"type": {"type": "float"}, "items": {"type": "dict"}}}
    assert json_schema(schema)["properties"] == {"type": {"type": "number"}, "items": {"type": "object"}}


def test_gold_takes_the_first_acceptable_value_and_leaves_optional_arguments_out():
    acceptable = {"base": [10.0, 9.0], "unit": ["units", ""], "other": ["", "x"], "rate": [0.5], "on": [True]}
    assert gold_arguments(acceptable) == {"base": 10, "rate": 0.5, "on": True}
    assert gold_arguments({"drink": [{"size": ["large", "L"], "milk": ["", "oat"]}]}) == {"drink": {"size": "large"}}


def test_gold_without_lists_is_refused():
    with pytest.raises(ValueError, match="acceptable"):
        gold_arguments({"point": [{"x": 1.5}]})


def test_a_record_becomes_a_task_that_its_own_gold_solves():
    truth = [{"weather": {"city": ["Rome"], "days": [2.0], "unit": ["", "C"]}}]
    task = to_task(WEATHER_RECORD, truth, "simple_python")
    assert (task.task_id, task.family, task.context.goal) == (
        "simple_python_7",
        "bfcl/simple_python",
        "Weather in Rome for 2 days",
    )
    assert is_sound(task, LIMITS)
    answer = '<tool_call>\n{"name": "weather", "arguments": {"city": "Rome", "days": 2}}\n</tool_call>'
    truth = task.ground_truth()
    assert score_response(answer, truth, truth["tools"]).success
    assert not score_response(answer.replace("Rome", "Oslo"), truth, truth["tools"]).success


@pytest.mark.parametrize(
    "arguments", [{"city": [5], "days": [2]}, {"days": [2]}, {"city": ["Rome"], "town": ["Rome"]}], ids=str
)
def test_a_gold_that_breaks_its_own_schema_is_not_sound(arguments):
    assert not is_sound(to_task(WEATHER_RECORD, [{"weather": arguments}], "simple_python"), LIMITS)


def test_a_dialogue_is_refused():
    turns = {"question": [[{"role": "user", "content": "a"}], [{"role": "user", "content": "b"}]]}
    with pytest.raises(ValueError, match="2 turns"):
        to_task({**WEATHER_RECORD, **turns}, [], "simple_python")


# ---------------------------------------------------------------------------------------------------- split


def test_no_tool_is_on_two_sides_of_the_split():
    # tool 7 and tool 8 are tied together by one record
    names = [(f"tool{i}",) for i in range(60) for _ in range(1 + i % 2)] + [("tool7", "tool8")]
    tasks = [make_task(f"t{i}", "do it", [(name, {}) for name in tools]) for i, tools in enumerate(names)]
    split = split_by_tools(tasks, n_seeds=20, n_validation=16, rng=random.Random(3))
    sides = [split.seeds, split.validation, split.warm_start]
    tools = [{tool.name for task in side for tool in task.context.tools} for side in sides]
    for a, b in itertools.combinations(tools, 2):
        assert not a & b
    assert sorted(task.task_id for side in sides for task in side) == sorted(task.task_id for task in tasks)
    assert 18 <= len(split.seeds) <= 20 and 15 <= len(split.validation) <= 16
    assert split == split_by_tools(tasks, n_seeds=20, n_validation=16, rng=random.Random(3))
    assert split != split_by_tools(tasks, n_seeds=20, n_validation=16, rng=random.Random(4))


def test_a_large_group_warms_up():
    tasks = [make_task(f"t{i}", "do it", [("shared" if i < 30 else f"tool{i}", {})]) for i in range(60)]
    split = split_by_tools(tasks, n_seeds=8, n_validation=16, rng=random.Random(0))
    assert {f"t{i}" for i in range(30)} <= {task.task_id for task in split.warm_start}


# ---------------------------------------------------------------------------------------------------- variations


def test_substitution_keeps_goal_and_gold_consistent():
    values, rng = Values(RECORDS), random.Random(0)
    seen = set()
    for _ in range(100):
        varied = substitute(RECORDS[0], values, rng)
        arguments = varied.gold_action[0].arguments
        assert varied.context.goal == weather("x", arguments["city"], arguments["days"]).context.goal
        assert type(arguments["days"]) is int
        assert LIMITS.check(varied, RECORDS[0]) is None
        seen.add((arguments["city"], arguments["days"]))
    assert len(seen) > 4 and ("Paris", 3) not in seen


def test_substitution_leaves_its_task_alone():
    before = RECORDS[0].model_dump_json()
    substitute(RECORDS[0], Values(RECORDS), random.Random(0))
    assert RECORDS[0].model_dump_json() == before


@pytest.mark.parametrize(
    ("goal", "arguments"),
    [
        ("Compare 3 and 3 apples", {"days": 3}),  # twice in the goal: which one is it?
        ("Start on 2024-03-03", {"days": 3}),  # part of a date
        ("It costs 3.50", {"days": 3}),
        ("It costs 13", {"days": 3}),
        ("Paris in 10 minutes", {"days": 600}),  # a converted unit
        ("Weather in Parisian suburbs", {"city": "Paris"}),
        ("Weather in Boston", {"city": "Boston", "state": "MA"}),  # the state follows from the city
        ("Two sides of 4", {"width": 4, "height": 4}),  # one number, two arguments
        ("Sum of 4", {"numbers": [4, 4]}),
        ("Is it on?", {"on": True}),
    ],
)
def test_what_must_not_be_exchanged(goal, arguments):
    assert find_slots(make_task("t", goal, [("tool", arguments)])) == []


def test_a_value_shared_by_parallel_calls_changes_in_both():
    task = make_task(
        "t",
        "Add 2 to 10, then 5 to it, both at rate 33",
        [("add", {"n": 2, "rate": 33}), ("add", {"n": 5, "rate": 33})],
    )
    others = [make_task(f"o{i}", f"At rate {i}", [("other", {"rate": i})]) for i in (44, 55)]
    for seed in range(30):
        varied = substitute(task, Values(others), random.Random(seed))
        rates = [call.arguments["rate"] for call in varied.gold_action]
        assert rates[0] == rates[1] in (44, 55)
        assert varied.context.goal.endswith(f"rate {rates[0]}")


def test_an_enum_is_exchanged_within_itself():
    unit = {"type": "string", "enum": ["celsius", "kelvin"]}
    task = make_task("t", "Temperature in celsius please", [("read", {"unit": "celsius"})], unit=unit)
    varied = substitute(task, Values([task]), random.Random(0))
    assert (varied.context.goal, varied.gold_action[0].arguments) == (
        "Temperature in kelvin please",
        {"unit": "kelvin"},
    )


def test_nothing_to_exchange():
    assert substitute(make_task("t", "Roll the dice", [("roll", {})]), Values(RECORDS), random.Random(0)) is None


def test_join_asks_for_both():
    joined = join(RECORDS[0], RECORDS[1], random.Random(0))
    assert RECORDS[0].context.goal in joined.context.goal and RECORDS[1].context.goal in joined.context.goal
    assert joined.gold_action == RECORDS[0].gold_action + RECORDS[1].gold_action


# ---------------------------------------------------------------------------------------------------- conversations


def draw(records: list[Task], n: int, seed: int = 0) -> list[list[dict[str, str]]]:
    prompts = AgentPrompt(str(EXAMPLE / "agent.jinja")), EnvironmentPrompt(str(EXAMPLE / "environment.jinja"))
    return list(itertools.islice(Conversations(records, *prompts, LIMITS, random.Random(seed)), n))


def test_conversations_are_drawn_by_seed():
    assert draw(RECORDS, 40) == draw(RECORDS, 40) != draw(RECORDS, 40, seed=1)


def test_the_environments_answers_are_valid_tasks_and_the_agents_are_right():
    conversations = draw(RECORDS, 60)
    for agent, environment in zip(conversations[::2], conversations[1::2], strict=True):
        assert [message["role"] for message in agent] == ["system", "user", "assistant"]
        assert json.loads(agent[-1]["content"].split("\n")[1])["arguments"]["city"] in agent[-2]["content"]
        assert "calls" not in agent[-2]["content"]
        written = read_generation(
            environment[-1]["content"],
            seed=RECORDS[0],
            task_id="new",
            epoch=0,
            generator=Generator(model="m", step=0),
            truncated=False,
            success_threshold=None,
        )
        assert isinstance(written, Task)
        assert environment_answer(written) == environment[-1]["content"]


def test_the_agents_prompt_shows_types_choices_and_what_is_optional():
    task = to_task(WEATHER_RECORD, [{"weather": {"city": ["Rome"]}}], "simple_python")
    [system, user] = AgentPrompt(str(EXAMPLE / "agent.jinja")).messages(task)
    assert system["content"] == "Call tools."
    assert user["content"].startswith(
        "weather(city: string, days?: number, unit?: string): Forecast.\n\nWeather in Rome"
    )


# ---------------------------------------------------------------------------------------------------- the real wheel


@pytest.mark.skipif(not WHEEL, reason="GENENV_BFCL_WHEEL does not name a bfcl-eval wheel")
def test_the_real_records():
    tasks, refused = read_wheel(Path(WHEEL))
    sound = [task for task in tasks if is_sound(task, LIMITS)]
    assert {task.family for task in sound} == {f"bfcl/{category}" for category in CATEGORIES}
    assert refused < 10 and len(sound) > 2200
    values, rng = Values(sound), random.Random(0)
    varied = [(task, other) for task in sound[:400] if (other := substitute(task, values, rng)) is not None]
    assert len(varied) > 250
    accepted = [LIMITS.check(other, task) is None for task, other in varied]
    assert sum(accepted) / len(accepted) > 0.95
