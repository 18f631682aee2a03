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

import random
import time
from typing import Any

import pytest

from genenv_verl.tasks.near_duplicates import MAX_COMPARISONS, Novelty, NoveltyIndex
from genenv_verl.tasks.schema import Task


def task(goal: str, task_id: str = "new", name: str = "book", reference: str | None = None, **arguments: Any) -> Task:
    evaluation = {"kind": "exact_match"} if reference is None else {"kind": "reference_answer", "reference": reference}
    gold = [{"name": name, "arguments": arguments}] if reference is None else None
    return Task.model_validate(
        {"task_id": task_id, "context": {"goal": goal}, "evaluation": evaluation, "gold_action": gold}
    )


SEED = task("Look up the opening hours of the town library.", "seed", name="look_up", place="town library")


def index(*tasks: Task, threshold: float | None = 0.6) -> NoveltyIndex:
    made = NoveltyIndex([SEED], threshold)
    for pooled in tasks:
        made.add(pooled)
    return made


def measure(new: Task, *tasks: Task, threshold: float | None = 0.6) -> Novelty:
    return index(*tasks, threshold=threshold).measure(new, SEED)


BOOKING = task("Please book a quiet room in Rome for 2 nights.", "rome", city="Rome", nights=2)
PARAPHRASES = [
    task("Please reserve a quiet room in Rome for 2 nights.", city="Rome", nights=2),
    task("PLEASE BOOK a quiet room in rome for 2 nights, thanks", city="rome", nights=2.0),
    task("For 2 nights, please book a quiet room in Rome", nights="2", city="Rome"),
    task("Please book me a quiet room in Rome for 2 nights!!", city="Rome", nights=2),
]
NEWS = [
    task("Please book a quiet room in Bonn for 2 nights.", city="Bonn", nights=2),
    task("Please book a quiet room in Rome for 3 nights.", city="Rome", nights=3),
    task("Please book a quiet room in Rome for 2 nights.", city="Rome", nights=2, pets=True),
    task("Please book a quiet room in Rome for 2 nights.", name="cancel", city="Rome", nights=2),
    task("Does the hotel that we had last year in Rome still have 2 rooms?", city="Rome", nights=2),
]


@pytest.mark.parametrize("other", PARAPHRASES)
def test_a_paraphrase_with_the_same_values_is_a_near_duplicate(other):
    novelty = measure(other, BOOKING)
    assert (novelty.near_duplicate_of, novelty.nearest, novelty.repeated) == ("rome", "rome", True)
    assert 0.6 <= novelty.similarity <= 1.0


@pytest.mark.parametrize("other", NEWS)
def test_another_value_call_or_question_is_new(other):
    novelty = measure(other, BOOKING)
    assert novelty.near_duplicate_of is None and not novelty.repeated


@pytest.mark.parametrize(
    ("first", "second"),
    [
        (task("Add 3 and 5.", name="add", a=3, b=5), task("Add 4 and 7.", name="add", a=4, b=7)),
        (task("Add 3 and 5.", name="add", a=3, b=5), task("Add 5 and 3.", name="add", a=5, b=3)),
        (task("What is 3 + 5 - 1?", reference="7"), task("What is 3 * 5 - 8?", reference="7")),
        (task("Is Rome larger than Bonn?", reference="no"), task("Is Bonn larger than Rome?", reference="no")),
        (
            task("请查询北京的天气。", name="weather", city="北京"),
            task("请查询上海的天气。", name="weather", city="上海"),
        ),
        (task("Was Anna born before Marie?", reference="yes"), task("Was Otto born before Marie?", reference="yes")),
    ],
)
def test_small_templates_with_other_values_are_other_tasks(first, second):
    novelty = measure(second, first)
    assert novelty.near_duplicate_of is None and not novelty.repeated


def test_a_chinese_paraphrase_is_found():
    first = task("请帮我查询一下北京明天的天气情况。", name="weather", city="北京")
    assert (
        measure(task("请帮我查一下北京明天的天气情况!", name="weather", city="北京"), first).near_duplicate_of == "new"
    )


def test_a_small_template_is_no_duplicate_of_itself_a_hundred_times():
    made = index()
    for a in range(10):
        for b in range(10):
            new = task(f"Add {a} and {b}.", f"{a}+{b}", name="add", a=a, b=b)
            novelty = made.measure(new, SEED)
            assert novelty.near_duplicate_of is None
            assert novelty.template_uses == 10 * a + b
            made.add(new)


def test_e01_the_template_counts_what_only_changes_names_and_numbers():
    made, kept = index(), []
    cities = ["Rome", "Bonn", "New York", "Oslo", "Lyon", "Kyoto", "Quito", "Lima", "Cairo", "Delhi", "Graz", "Minsk"]
    same = [
        task(f"What will the weather be like in {city} in {place + 2} days?", city, name="weather", city=city)
        for place, city in enumerate(cities)
    ]
    others = [
        task("Ring the plumber, the tap drips.", "o1", name="call", whom="plumber"),
        task("Which trains leave for the coast after nine?", "o2", name="trains", after="nine"),
        task("Remind me to water the plants.", "o3", name="remind", what="water the plants"),
        task("Convert the recipe to grams, please.", "o4", name="convert", unit="grams"),
    ]
    repeated_templates = 0
    for new in random.Random(1).sample([*same, *others], 16):
        novelty = made.measure(new, SEED)
        repeated_templates += novelty.template_uses > 0
        if novelty.template_uses == 0:
            kept.append(new.task_id)
            made.add(new)
        if novelty.template_uses > 0:
            assert novelty.similarity > 0.4  # What the reward term sees.
    assert (repeated_templates, len(kept)) == (11, 5)


def test_e03_a_synonym_of_an_old_row_is_found_in_a_large_pool_with_few_comparisons():
    rng = random.Random(0)
    words = [f"w{chr(97 + i)}{chr(97 + j)}" for i in range(20) for j in range(20)]
    pool = [task(" ".join(rng.choices(words, k=12)), f"row{n}", number=n) for n in range(5000)]
    made = NoveltyIndex([SEED], 0.6)
    made.rebuild(pool)
    old = pool[3].context.goal.split()
    new = task(" ".join([*old[:5], "synonym", *old[6:]]), number=3)
    assert made.measure(new, SEED).near_duplicate_of == "row3"
    assert MAX_COMPARISONS <= 200


def test_a_twin_is_found_where_thousands_share_its_template():
    made = NoveltyIndex([SEED], 0.6)
    made.rebuild(task(f"Please book a quiet room in number {n}.", f"t{n}", number=n) for n in range(3000))
    assert made.measure(task("Please book one quiet room in number 7.", number=7), SEED).near_duplicate_of == "t7"


def test_without_a_threshold_only_the_same_words_repeat():
    novelty = measure(PARAPHRASES[0], BOOKING, threshold=None)
    assert novelty.near_duplicate_of is None and not novelty.repeated and novelty.similarity > 0.5
    again = measure(BOOKING, BOOKING, threshold=None)
    assert again.near_duplicate_of is None and again.repeated


def test_seeds_are_relatives_too_but_use_no_template():
    novelty = measure(task("Look up the opening hours of the town library!", name="look_up", place="town library"))
    assert novelty.near_duplicate_of == "seed" and novelty.seed_similarity == 1.0 and novelty.template_uses == 0


def test_what_is_not_valid_makes_a_repetition_but_no_near_duplicate():
    made = index()
    made.add(BOOKING, valid=False)
    novelty = made.measure(PARAPHRASES[0], SEED)
    assert novelty.repeated and novelty.near_duplicate_of is None and novelty.nearest is None
    assert made.measure(NEWS[0], SEED).template_uses == 0


def test_tool_documentation_makes_no_tasks_alike():
    tool = {"function": {"name": "book", "description": "books " * 200}}
    one, other = (
        Task.model_validate({"task_id": name, "context": {"goal": goal, "tools": [tool]}, "gold_action": []})
        for name, goal in (("one", "Walk the dog."), ("two", "Which film is best?"))
    )
    assert measure(other, one).similarity == 0.0


def test_e02_a_new_epoch_forgets_what_did_not_come_into_the_pool_and_a_rebuilt_index_is_the_same():
    made = index(BOOKING, NEWS[4].model_copy(update={"task_id": "lost"}))
    made.add(task("Sing a song.", "invalid", name="sing"), valid=False)
    made.begin_epoch({"rome"})
    assert len(made) == 2
    rebuilt = NoveltyIndex([SEED], 0.6)
    rebuilt.rebuild([BOOKING])
    for probe in [*PARAPHRASES, *NEWS]:
        assert made.measure(probe, SEED) == rebuilt.measure(probe, SEED)
    assert made.measure(NEWS[4], SEED).near_duplicate_of is None
    assert made.measure(NEWS[0], SEED).template_uses == 1


HOSTILE = [
    "🙂🙂🙂",
    "\u200b\u200b",
    "a" * 100_000,
    "x " * 50_000,
    "\N{COMBINING ACUTE ACCENT}" * 50_000,
    "1" * 50_000,
    "1." * 40_000,
    "¿?!" * 30_000,
    "汉" * 50_000,
    "Aa. " * 30_000,
]


@pytest.mark.parametrize("goal", HOSTILE, ids=range(len(HOSTILE)))
def test_hostile_goals_cost_little_and_repeat_themselves(goal):
    first = task(goal, "first", text=goal[:20_000], nested={"a": [goal[:50], None, True, 1e308, -0.0, 10**299]})
    started = time.process_time()
    made = index(first)
    novelty = made.measure(first.model_copy(update={"task_id": "again"}), SEED)
    assert novelty.near_duplicate_of == "first" and novelty.similarity == 1.0
    assert time.process_time() - started < 2.0
