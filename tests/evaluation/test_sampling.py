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

from genenv_verl.benchmarks.base import Benchmark, Record, Step
from genenv_verl.evaluation.sampling import by_use, choose_steps
from genenv_verl.tasks.schema import Context, Task


class Games(Benchmark):
    """A record has as many steps as its data says. Not registered: it has no module of its own."""

    name = "games"
    download = "nothing"

    def load(self, source):
        return [Record(f"game{n}", "train" if n % 4 == 0 else "valid", {"steps": n % 3}) for n in range(20)]

    def steps(self, records):
        for record in records:
            for number in range(record.data["steps"]):
                task = Task(task_id="t", context=Context(goal="g"), gold_action=[])
                yield Step(f"{record.record_id}/{number}", record, task)

    def parse(self, step, response):
        return {}

    def score(self, record, answer):
        raise NotImplementedError

    def aggregate(self, verdicts):
        raise NotImplementedError


def chosen(limit):
    games = Games()
    return [step.step_id for step in choose_steps(games, games.load(None), limit)]


def test_without_a_limit_all_are_chosen_and_a_large_one_is_none():
    assert len(chosen(None)) == 19 and chosen(19) == chosen(100) == chosen(None)


def test_a_smaller_choice_is_a_part_of_a_larger_one_in_the_same_order():
    for limit in range(1, 19):
        smaller, larger = chosen(limit), chosen(limit + 1)
        assert len(smaller) == limit and set(smaller) < set(larger)
        assert smaller == [step for step in chosen(None) if step in smaller]


def test_a_choice_spreads_over_the_records_that_have_steps():
    assert len({step.partition("/")[0] for step in chosen(13)}) == 13


def test_a_choice_does_not_depend_on_the_order_of_the_release():
    games = Games()
    backwards = [step.step_id for step in choose_steps(games, games.load(None)[::-1], 7)]
    assert sorted(backwards) == sorted(chosen(7))


def test_a_choice_cuts_no_more_records_than_it_needs():
    games, cut = Games(), []
    steps = games.steps
    games.steps = lambda records: cut.extend(records := list(records)) or steps(records)
    choose_steps(games, games.load(None), 3)
    assert len(cut) <= 15


def test_no_model_is_judged_by_the_training_split():
    judged, training = by_use(Games().load(None))
    assert {record.split for record in judged} == {"valid"} and {record.split for record in training} == {"train"}
    assert len(judged) + len(training) == 20
