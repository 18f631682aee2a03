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
import pytest

from genenv_verl.tasks.contamination import EvaluationSet
from genenv_verl.tasks.schema import Task


def task(goal, task_id="t", name="book", arguments=None, **context):
    gold = [{"name": name, "arguments": arguments or {}}]
    return Task.model_validate({"task_id": task_id, "context": {"goal": goal, **context}, "gold_action": gold})


FORM = "Answer with one call of a tool in the form that the manual of this service describes in detail."
EXAM = [
    task("Book a quiet room in Rome for 2 nights and tell the night porter about the late arrival.", "exam1"),
    task("Dial the plumber.", "exam2"),
    task(f"{FORM} Which train leaves last?", "exam3"),
    task("Yes, please.", "exam4", history=[{"role": "assistant", "content": "Shall I book it?"}]),
]
SEEDS = [task("Book a room.", "seed1"), task(f"{FORM} Which bus leaves first?", "seed2")]


@pytest.fixture(scope="module")
def evaluation():
    return EvaluationSet(EXAM, SEEDS, threshold=0.6)


@pytest.mark.parametrize(
    "generated",
    [
        EXAM[0],
        task("book a QUIET room in rome  for 2 nights, and tell the night porter about the late arrival"),
        task("Book a quiet room in Rome for 2 nights and inform the night porter about the late arrival."),
        task(EXAM[0].context.goal, name="wrong_gold", arguments={"x": 1}),
        task("Dial the plumber.", name="ring", arguments={"number": 5}),
        task(f"My guest wrote: {EXAM[0].context.goal} What would you do?"),
        task("Go on.", history=[{"role": "user", "content": EXAM[0].context.goal}]),
        task("Go on.", constraints=[EXAM[0].context.goal]),
        task("Go on.", system=EXAM[0].context.goal.upper()),
        task("Yes, please.", history=[{"role": "assistant", "content": "Shall I  book it?"}]),
    ],
)
def test_overlap_is_found(evaluation, generated):
    assert evaluation.overlap(generated) is not None


@pytest.mark.parametrize(
    "generated",
    [
        task("Book a quiet room in Bonn for 3 nights, the porter is asleep.", arguments={"city": "Bonn"}),
        task("Dial the electrician."),
        task(f"{FORM} Which ferry is the cheapest?", arguments={"cheapest": "ferry"}),
        task("Yes, please.", name="cancel", history=[{"role": "assistant", "content": "Shall I cancel it?"}]),
        task("Yes, please.", name="other"),
        SEEDS[1],
        task("🙂"),
    ],
)
def test_other_tasks_pass(evaluation, generated):
    assert evaluation.overlap(generated) is None


def test_without_a_threshold_paraphrases_pass_and_quotes_do_not():
    evaluation = EvaluationSet(EXAM, SEEDS, threshold=None)
    assert evaluation.overlap(task("Please dial the plumber.")) is None
    assert evaluation.overlap(EXAM[0]) is not None


def test_a_seed_that_is_in_the_evaluation_is_named_and_its_variations_pass():
    evaluation = EvaluationSet(EXAM, [*SEEDS, EXAM[0]], threshold=0.6)
    assert evaluation.same_task(EXAM[0]) == "exam1" and evaluation.same_task(SEEDS[0]) is None
    varied = task("Book a loud room in Oslo for 5 nights and tell the night porter about the late arrival.")
    assert evaluation.overlap(varied) is None


def test_files_may_share_ids_and_sets_may_be_empty():
    evaluation = EvaluationSet([EXAM[0], EXAM[1].model_copy(update={"task_id": "exam1"})], [], threshold=0.6)
    assert len(evaluation) == 2 and evaluation.overlap(EXAM[0]) and evaluation.overlap(EXAM[1])
    assert EvaluationSet([], [], threshold=0.6).overlap(EXAM[0]) is None
