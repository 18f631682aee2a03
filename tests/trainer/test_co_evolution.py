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
"""The loop between two models, played by a scripted environment and scripted agents on the real pools and filters."""

import hashlib
import json
import random
from collections import Counter
from types import SimpleNamespace

import pytest

from genenv_verl.config.settings import read_settings
from genenv_verl.pools.pool import Pool
from genenv_verl.rewards.solved import is_solved
from genenv_verl.tasks.prompts import AgentPrompt, TemplateError
from genenv_verl.tasks.records import to_verl_row
from genenv_verl.tasks.schema import Task
from genenv_verl.tasks.validity import ValidityFilter
from genenv_verl.trainer.co_evolution import CoEvolution, state_to_text, steps_per_epoch
from genenv_verl.trainer.generation import Attempt
from genenv_verl.trainer.run_directory import RunDirectory

BATCH = 8
N_ATTEMPTS = 8
N_SEEDS = 5
SHELF = {
    "type": "function",
    "function": {
        "name": "fetch",
        "description": "Fetches a thing from a shelf.",
        "parameters": {
            "type": "object",
            "properties": {"thing": {"type": "string"}, "count": {"type": "integer"}},
            "required": ["thing"],
        },
    },
}
THINGS = ["lamp", "rope", "jar", "map", "bell"]


def seed_task(place, gold=None):
    return Task.model_validate(
        {
            "task_id": f"seed{place}",
            "family": "shelves" if place % 2 else "boxes",
            "context": {"goal": f"Bring what hangs on hook {place}, please.", "tools": [SHELF]},
            "gold_action": [{"name": "fetch", "arguments": {"thing": gold or THINGS[place]}}],
        }
    )


def seed_rows(tasks=None):
    tasks = tasks or [seed_task(place) for place in range(N_SEEDS)]
    return [to_verl_row(task, AgentPrompt().messages(task), index=index) for index, task in enumerate(tasks)]


def settings(**block):
    return read_settings({"seeds": "seeds.jsonl", "n_variations": 2, "steps_per_epoch": 3, "min_accepted": 2, **block})


def new_loop(root, rows=None, **block):
    configured = settings(**block)

    def validity(seen):
        return ValidityFilter(
            max_prompt_tokens=2000,
            max_response_tokens=200,
            count_prompt_tokens=lambda task: len(task.context.goal.split()),
            count_response_tokens=lambda text: len(text.split()),
            seen=seen,
            solves=is_solved,
            max_same_template=configured.novelty.max_same_template,
        )

    return CoEvolution(
        settings=configured,
        seeds=rows or seed_rows(),
        run=RunDirectory(root / "genenv"),
        batch_size=BATCH,
        make_validity_filter=validity,
        model_name="scripted",
        sampling={"temperature": 1.0},
    )


def chance(*key):
    """A number in [0, 1) that the key alone decides: the same request gets the same answer after a resume."""
    return random.Random(repr(key)).random()


def task_text(request, thing="box"):
    return text_about(hashlib.blake2b(request.task_id.encode(), digest_size=6).hexdigest(), thing)


def text_about(name, thing="box"):
    calls = [{"name": "fetch", "arguments": {"thing": thing + name}}]
    return json.dumps({"goal": f"Bring thing {name}.", "calls": calls})


def broken_text(request, kind):
    """One text for each way to fail, with the reason that it has to be counted under."""
    undeclared = {"goal": f"Open it. {request.task_id}", "calls": [{"name": "open", "arguments": {}}]}
    wrong = {"goal": f"Bring it. {request.task_id}", "calls": [{"name": "fetch", "arguments": {"count": "three"}}]}
    seed = {"goal": request.seed.context.goal, "calls": [call.model_dump() for call in request.seed.gold_action]}
    return {
        "not_json": "Here is a task: {goal",
        "refusal": "I'm sorry, I cannot write that.",
        "missing_goal": '{"calls": []}',
        "missing_evaluation": '{"goal": "Bring it."}',
        "undeclared_tool": json.dumps(undeclared),
        "bad_arguments": json.dumps(wrong),
        "duplicate": json.dumps(seed),
    }[kind]


BROKEN = ["not_json", "refusal", "missing_goal", "missing_evaluation", "undeclared_tool", "bad_arguments", "duplicate"]


def mostly_valid(request):
    """Half of the texts are new tasks, some say what an earlier one may have said, the others fail in all the ways."""
    if request.sampling_seed % 4 == 0:
        return text_about(f"number {int(3 * chance('number', request.sampling_seed))}")
    if chance("valid", request.sampling_seed) < 0.6:
        return task_text(request)
    return broken_text(request, random.Random(request.sampling_seed).choice(BROKEN))


def all_valid(request):
    return task_text(request)


def attempt(success, scored=True, reason=""):
    return Attempt("I bring it.", float(success), success, scored, reason, response_tokens=3, prompt_tokens=40)


def agent(item, step):
    """Eight attempts; a task's difficulty is its own."""
    p = chance("difficulty", item.task_id)
    return [attempt(chance(item.task_id, step, place) < p) for place in range(N_ATTEMPTS)]


class Log:
    """What an outsider sees of a run: requests and batches, step by step."""

    def __init__(self):
        self.requests = {}
        self.batches = {}
        self.generations = {}
        self.verdicts = {}
        self.training_sets = {}
        self.summaries = {}


def play(loop, first, last, log, *, environment=mostly_valid, agent=agent, after_step=lambda step, state: None):
    """Agent steps ``first`` to ``last``, as the trainer makes them."""
    per_epoch = loop.steps_per_epoch
    for step in range(first, last + 1):
        epoch, place = divmod(step - 1, per_epoch)
        if place == 0:
            requests = loop.requests(epoch)
            log.requests[epoch] = requests
            generations = []
            for index, request in enumerate(requests):
                text = environment(request)
                ids = [epoch, index, len(text)]
                generations.append(
                    loop.read(
                        request, epoch=epoch, step=step - 1, prompt_ids=[1, 2, index], response_ids=ids, text=text,
                        truncated=False,
                    )
                )  # fmt: skip
            log.generations[epoch] = generations
            loop.begin_epoch(epoch, generations)
        items = loop.batch(place)
        log.batches[step] = items
        loop.record(step, items, [agent(item, step) for item in items])
        finished = place == per_epoch - 1
        if finished:
            verdict = loop.judge()
            log.verdicts[epoch] = verdict
            log.training_sets[epoch] = loop.training_set(verdict)
            loop.store_environment_records(verdict, step)
            log.summaries[epoch] = loop.summary(verdict)
            line = {"epoch": epoch, "global_step": step, **log.summaries[epoch]}
            loop.run.write_epoch(epoch, line, loop.task_records(verdict))
        after_step(step, state_to_text(loop.state_dict(finished=finished)))
    return log


def task_lines(loop, epoch):
    return [json.loads(line) for line in loop.run.tasks_file(epoch).read_text().splitlines()]


def rejected_ids(log):
    return {g.task_id for generations in log.generations.values() for g in generations if g.task is None}


def fresh_ids(log):
    return [item.task_id for items in log.batches.values() for item in items if item.origin == "fresh"]


# ------------------------------------------------------------------------------------------------- one epoch


def test_every_batch_is_full_and_every_valid_task_is_attempted_once(tmp_path):
    loop = new_loop(tmp_path)
    log = play(loop, 1, 12, Log())
    assert {len(items) for items in log.batches.values()} == {BATCH}
    valid = [g.task_id for generations in log.generations.values() for g in generations if g.task is not None]
    assert sorted(fresh_ids(log)) == sorted(valid)
    assert len(set(valid)) == len(valid) > 10


def test_the_mixture_has_its_shares_when_all_tasks_are_valid(tmp_path):
    loop = new_loop(tmp_path)
    log = play(loop, 1, 12, Log(), environment=all_valid)
    origins = Counter(item.origin for step in range(4, 13) for item in log.batches[step])
    assert origins == {"fresh": 36, "pool": 18, "base": 18}  # half, a quarter, a quarter of 9 x 8 places
    assert [log.summaries[epoch]["refilled"] for epoch in log.summaries] == [0, 0, 0, 0]


def test_the_first_epoch_has_no_pool_and_takes_base_data_for_it(tmp_path):
    log = play(new_loop(tmp_path), 1, 3, Log(), environment=all_valid)
    assert {item.origin for step in (1, 2, 3) for item in log.batches[step]} == {"fresh", "base"}


def test_requests_ask_for_whole_seeds_with_names_and_sampling_seeds_of_their_own(tmp_path):
    loop = new_loop(tmp_path)
    log = play(loop, 1, 12, Log())
    requests = [request for epoch in log.requests.values() for request in epoch]
    assert all(len(epoch) == 12 for epoch in log.requests.values())  # half of 3 x 8 places
    assert len({request.task_id for request in requests}) == len(requests)
    assert len({request.sampling_seed for request in requests}) == len(requests)
    for epoch in log.requests.values():
        assert {count % 2 for count in Counter(request.seed.task_id for request in epoch).values()} == {0}


def test_all_seeds_are_varied_before_one_is_varied_again(tmp_path):
    loop = new_loop(tmp_path, steps_per_epoch=1, n_variations=4)  # one seed an epoch
    order = [loop.requests(epoch)[0].seed.task_id for epoch in range(2 * N_SEEDS)]
    assert sorted(order[:N_SEEDS]) == sorted(order[N_SEEDS:]) == [f"seed{place}" for place in range(N_SEEDS)]


@pytest.mark.parametrize(
    ("seeds", "variations", "fresh", "batch", "steps"),
    [(544, 4, 0.5, 64, 68), (5, 2, 0.5, 8, 3), (1, 1, 1.0, 64, 1), (10, 4, 0.25, 16, 10)],
)
def test_an_epoch_is_one_pass_over_all_seeds_by_default(seeds, variations, fresh, batch, steps):
    mixture = {"base": 1.0 - fresh, "pool": 0.0, "fresh": fresh}
    configured = settings(steps_per_epoch=None, n_variations=variations, mixture=mixture)
    assert steps_per_epoch(configured, seeds, batch) == steps
    assert steps_per_epoch(settings(steps_per_epoch=7), seeds, batch) == 7


def test_the_environment_is_told_how_the_agent_does(tmp_path):
    loop = new_loop(tmp_path, history_decay=0.0)
    log = play(loop, 1, 3, Log(), environment=all_valid, agent=lambda item, step: [attempt(p < 2) for p in range(8)])
    assert all("unknown" in request.messages[-1]["content"] for request in log.requests[0])
    seen = {generation.seed_id for generation in log.generations[0]}
    for request in loop.requests(1):
        text = request.messages[-1]["content"]
        assert "at all tasks that you wrote: 25 %" in text
        assert ("at variations of this task: 25 %" in text) == (request.seed.task_id in seen)


# ------------------------------------------------------------------------------------------------- invariants


def test_invariant_1_p_hat_comes_from_the_agents_own_attempts(tmp_path):
    loop = new_loop(tmp_path, granularity="task")
    given = {}

    def remembering_agent(item, step):
        tries = agent(item, step)
        if item.origin == "fresh":
            given[item.task_id] = sum(a.success for a in tries) / len(tries)
        return tries

    log = play(loop, 1, 6, Log(), agent=remembering_agent)
    told = {task.task_id: task.p_hat for verdict in log.verdicts.values() for task in verdict.tasks}
    assert told == given
    assert {r["id"]: r["p_hat"] for r in loop.run.d_env} == given
    assert 0.0 < sum(given.values()) / len(given) < 1.0


def test_invariant_2_and_e13_only_valid_tasks_reach_the_agent_and_every_rejection_is_counted(tmp_path):
    loop = new_loop(tmp_path)
    log = play(loop, 1, 30, Log())
    rejected = rejected_ids(log)
    asked = {item.task_id for items in log.batches.values() for item in items}
    assert rejected and not rejected & asked
    assert not rejected & {record["id"] for record in loop.run.d_train}
    assert not rejected & {record["id"] for record in loop.run.d_env}
    reasons = Counter()
    for epoch, summary in log.summaries.items():
        assert summary["generated"] == summary["valid"] + sum(summary["invalid_reasons"].values()) == 12
        assert summary["valid"] == sum(record["task"] is not None for record in task_lines(loop, epoch))
        reasons.update(summary["invalid_reasons"])
    assert set(reasons) == set(BROKEN)


def test_e13_the_account_of_one_epoch(tmp_path):
    kinds = ["not_json"] * 4 + ["bad_arguments"] * 3 + ["duplicate"] * 2 + [None] * 11
    # 20 generations: 10 seeds' worth of 2 in 5 steps of 8 places, half of them fresh
    loop = new_loop(tmp_path, steps_per_epoch=5)
    queue = iter(kinds)

    def environment(request):
        kind = next(queue)
        return broken_text(request, kind) if kind else task_text(request)

    log = play(loop, 1, 5, Log(), environment=environment)
    summary = log.summaries[0]
    assert (summary["generated"], summary["valid"]) == (20, 11)
    assert summary["invalid_reasons"] == {"not_json": 4, "bad_arguments": 3, "duplicate": 2}
    assert summary["valid_fraction"] == 11 / 20
    assert len(fresh_ids(log)) == 11 and not rejected_ids(log) & set(fresh_ids(log))
    assert len(loop.run.d_train) == 11


def test_a_text_that_the_environment_writes_twice_counts_once(tmp_path):
    text = json.dumps({"goal": "Bring the drum.", "calls": [{"name": "fetch", "arguments": {"thing": "drum"}}]})
    log = play(new_loop(tmp_path), 1, 6, Log(), environment=lambda request: text)
    assert log.summaries[0]["valid"] == 1 and log.summaries[0]["invalid_reasons"] == {"duplicate": 11}
    assert log.summaries[1]["valid"] == 0 and log.summaries[1]["invalid_reasons"] == {"duplicate": 12}


def test_a_copy_of_another_seed_is_no_task(tmp_path):
    loop = new_loop(tmp_path)
    request = loop.requests(0)[0]
    other = next(task for task in loop.seed_tasks if task.task_id != request.seed.task_id)
    text = json.dumps({"goal": other.context.goal, "calls": [call.model_dump() for call in other.gold_action]})
    read = loop.read(request, epoch=0, step=0, prompt_ids=[1], response_ids=[2], text=text, truncated=False)
    assert read.outcome.reason == "duplicate"


def test_nothing_written_is_told_apart(tmp_path):
    loop = new_loop(tmp_path)
    first, second, *_ = loop.requests(0)
    nothing = {"epoch": 0, "step": 0, "response_ids": [], "text": "", "truncated": False}
    too_long = loop.read(first, prompt_ids=[], problem="seed_prompt_too_long", **nothing)
    silent = loop.read(second, epoch=0, step=0, prompt_ids=[1], response_ids=[], text="", truncated=False)
    assert (too_long.outcome.reason, silent.outcome.reason) == ("seed_prompt_too_long", "empty")


def test_invariant_3_d_env_names_the_step_and_holds_the_environments_own_tokens(tmp_path):
    loop = new_loop(tmp_path)
    log = play(loop, 1, 9, Log())
    written = {g.task_id: g for generations in log.generations.values() for g in generations}
    assert len(loop.run.d_env) == len(fresh_ids(log))
    for record in loop.run.d_env:
        generation = written[record["id"]]
        assert record["response_ids"] == generation.response_ids and record["prompt_ids"] == generation.prompt_ids
        assert record["environment_step"] == record["epoch"] * loop.steps_per_epoch
        assert 0.0 < record["reward"] <= 1.0
        assert record["accepted"] == (record["weight"] > 0.0)
    for epoch, pairs in log.training_sets.items():
        records = {record["id"]: record for record in loop.run.d_env if record["epoch"] == epoch}
        accepted = [task_id for task_id, record in records.items() if record["accepted"]]
        assert [generation.task_id for generation, _ in pairs] == accepted
        assert all(generation.response_ids == written[generation.task_id].response_ids for generation, _ in pairs)
        assert [weight for _, weight in pairs] == [records[task_id]["weight"] for task_id in accepted]
        assert sum(weight for _, weight in pairs) == pytest.approx(len(pairs))


def test_with_grpo_as_objective_worse_variations_train_the_environment_with_negative_weights(tmp_path):
    loop = new_loop(tmp_path, objective="grpo", preset="calibrated")
    log = play(loop, 1, 9, Log())
    seeds_of = {}
    for epoch, pairs in log.training_sets.items():
        for generation, weight in pairs:
            seeds_of.setdefault((epoch, generation.seed_id), []).append(weight)
    assert seeds_of
    for weights in seeds_of.values():
        assert min(weights) < 0.0 < max(weights)
        assert sum(weights) == pytest.approx(0.0, abs=1e-9)
    stored = [record["weight"] for record in loop.run.d_env if record["weight"] != 0.0]
    assert stored == [weight for pairs in log.training_sets.values() for _, weight in pairs]


def test_invariant_7_without_a_valid_task_the_epoch_trains_on_base_data_and_the_run_goes_on(tmp_path):
    def environment(request):
        return task_text(request) if ".e1." in request.task_id else broken_text(request, "not_json")

    loop = new_loop(tmp_path)
    log = play(loop, 1, 9, Log(), environment=environment)
    assert [{item.origin for step in steps for item in log.batches[step]} for steps in ((1, 2, 3), (7, 8, 9))] == [
        {"base"},
        {"base", "pool"},
    ]
    assert {len(items) for items in log.batches.values()} == {BATCH}
    empty = log.summaries[0]
    assert (empty["valid"], empty["success_rate"], empty["groups"], empty["refilled"]) == (0, None, 0, 12)
    assert log.training_sets[0] == [] and log.training_sets[1] != []
    assert [len(task_lines(loop, epoch)) for epoch in (0, 1, 2)] == [12, 12, 12]
    assert {record["epoch"] for record in loop.run.d_env} == {1}


def test_d_train_holds_fresh_scored_traces_only_once(tmp_path):
    loop = new_loop(tmp_path)
    log = play(loop, 1, 15, Log())
    ids = [record["id"] for record in loop.run.d_train]
    assert ids == fresh_ids(log)
    origins = Counter(item.origin for items in log.batches.values() for item in items)
    assert origins["pool"] > 10  # earlier tasks were practised again and did not come in twice
    for record in loop.run.d_train:
        assert Task.model_validate(record["task"]).task_id == record["id"]
        assert len(record["attempts"]) == N_ATTEMPTS
        assert all(entry["scored"] and 0.0 <= entry["score"] <= 1.0 for entry in record["attempts"])


def doubting_agent(item, step):
    """All attempts at first variations agree on another thing than the gold."""
    if item.task_id.endswith("v0"):
        response = '<tool_call>{"name": "fetch", "arguments": {"thing": "hat"}}</tool_call>'
        return [Attempt(response, 0.0, False, True, "wrong_arguments", 3, 40)] * N_ATTEMPTS
    return agent(item, step)


def test_a_suspected_wrong_gold_is_in_no_pool_and_trains_nobody(tmp_path):
    loop = new_loop(tmp_path, filter="none")
    log = play(loop, 1, 6, Log(), environment=all_valid, agent=doubting_agent)
    suspected = {task_id for task_id in fresh_ids(log) if task_id.endswith("v0")}
    assert suspected
    pooled = [record["id"] for pool in (loop.run.d_train, loop.run.d_env) for record in pool]
    assert len(pooled) > 8 and not suspected & set(pooled)
    assert not suspected & {generation.task_id for pairs in log.training_sets.values() for generation, _ in pairs}
    assert not suspected & {item.task_id for items in log.batches.values() for item in items if item.origin == "pool"}
    lines = {line["task_id"]: line for epoch in (0, 1) for line in task_lines(loop, epoch)}
    for task_id in suspected:
        assert lines[task_id]["trust"]["flags"] == ["suspected_wrong_gold"] and lines[task_id]["quarantined"]
        assert lines[task_id]["p_hat"] == 0.0 and lines[task_id]["reward"] is None
    for epoch, summary in log.summaries.items():
        here = [task_id for task_id in suspected if lines[task_id]["epoch"] == epoch]
        assert summary["trust"]["suspected_wrong_gold"] == summary["trust"]["quarantined"] == len(here)
        assert summary["success_rate_trusted"] > summary["success_rate"]
        assert summary["generated"] == summary["valid"] + sum(
            summary["invalid_reasons"].values()
        )  # quarantined are valid


def test_a_resumed_run_quarantines_the_same_tasks(tmp_path):
    whole, killed = tmp_path / "whole", tmp_path / "killed"
    play(new_loop(whole), 1, 6, Log(), agent=doubting_agent)
    states = {}
    play(new_loop(killed), 1, 5, Log(), agent=doubting_agent, after_step=states.__setitem__)
    loop = new_loop(killed)
    loop.load_state_dict(json.loads(states[2]), finished=False)
    play(loop, 3, 6, Log(), agent=doubting_agent)
    assert files_of(killed) == files_of(whole)
    assert any(line["quarantined"] for line in task_lines(loop, 0))


def test_report_alone_changes_no_pool(tmp_path):
    loop = new_loop(tmp_path, filter="none", trust={"suspected_wrong_gold": "report"})
    log = play(loop, 1, 3, Log(), environment=all_valid, agent=doubting_agent)
    assert sorted(record["id"] for record in loop.run.d_train) == sorted(fresh_ids(log))
    assert log.summaries[0]["trust"]["suspected_wrong_gold"] > 0 == log.summaries[0]["trust"]["quarantined"]


# ------------------------------------------------------------------------------------------------- three outcomes


def test_lost_and_unscored_attempts_are_in_neither_k_nor_n(tmp_path):
    def unlucky(item, step):
        lost = [attempt(False, scored=False, reason="rollout_failed")] * 3
        timed_out = [attempt(False, scored=False, reason="checker_timeout")]
        return [attempt(True), attempt(True), attempt(False), attempt(False), *lost, *timed_out]

    loop = new_loop(tmp_path, granularity="task")
    log = play(loop, 1, 3, Log(), environment=all_valid, agent=unlucky)
    summary = log.summaries[0]
    assert summary["success_rate"] == 0.5
    assert summary["unscored"] == 4 * 12
    assert {task.p_hat for task in log.verdicts[0].tasks} == {0.5}
    assert all(len(record["attempts"]) == 4 for record in loop.run.d_train)
    assert all((line["successes"], line["scored"]) == (2, 4) for line in task_lines(loop, 0))


def test_a_task_whose_attempts_were_all_lost_is_in_no_pool(tmp_path):
    loop = new_loop(tmp_path, granularity="task")

    def agent_that_loses_first_variations(item, step):
        return [attempt(True, scored=not item.task_id.endswith("v0"), reason="rollout_failed")] * N_ATTEMPTS

    log = play(loop, 1, 3, Log(), environment=all_valid, agent=agent_that_loses_first_variations)
    lost = {task_id for task_id in fresh_ids(log) if task_id.endswith("v0")}
    assert lost
    assert not lost & {record["id"] for record in loop.run.d_train}
    assert not lost & {record["id"] for record in loop.run.d_env}
    assert not lost & {generation.task_id for generation, _ in log.training_sets[0]}
    assert all(line["p_hat"] is None for line in task_lines(loop, 0) if line["task_id"] in lost)


def test_an_epoch_without_any_verdict_is_judged(tmp_path):
    silence = [attempt(False, scored=False, reason="rollout_failed")] * N_ATTEMPTS
    log = play(new_loop(tmp_path), 1, 6, Log(), environment=all_valid, agent=lambda item, step: silence)
    assert log.summaries[1]["success_rate"] is None and log.summaries[1]["groups"] == 0
    assert log.summaries[1]["warnings"]
    assert log.training_sets[1] == []


# ------------------------------------------------------------------------------------------------- resume


def observed(log, first, last, per_epoch):
    """Requests and batches of a span of steps, in a form that can be compared."""
    epochs = {(step - 1) // per_epoch for step in range(first, last + 1) if (step - 1) % per_epoch == 0}
    requests = [(r.task_id, r.messages, r.sampling_seed) for epoch in sorted(epochs) for r in log.requests[epoch]]
    batches = [[(i.origin, i.task_id, i.row) for i in log.batches[step]] for step in range(first, last + 1)]
    return requests, batches


def files_of(root):
    folder = root / "genenv"
    return {str(path.relative_to(folder)): path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file()}


STEPS = 9


@pytest.fixture(scope="module")
def uninterrupted(tmp_path_factory):
    root = tmp_path_factory.mktemp("uninterrupted")
    log = play(new_loop(root), 1, STEPS, Log())
    return log, files_of(root)


@pytest.mark.parametrize("lost_steps", [0, 4])
@pytest.mark.parametrize("saved", range(1, STEPS))
def test_a_resumed_run_is_the_same_run(tmp_path, uninterrupted, saved, lost_steps):
    """Saved after any step, in an epoch and at its end; killed up to four steps later."""
    states = {}
    play(new_loop(tmp_path), 1, min(saved + lost_steps, STEPS), Log(), after_step=states.__setitem__)

    loop = new_loop(tmp_path)
    loop.load_state_dict(json.loads(states[saved]), finished=saved % loop.steps_per_epoch == 0)
    log = play(loop, saved + 1, STEPS, Log())

    expected, files = uninterrupted
    assert observed(log, saved + 1, STEPS, 3) == observed(expected, saved + 1, STEPS, 3)
    assert files_of(tmp_path) == files


def test_the_resumed_steps_do_not_replay_the_first_ones(uninterrupted):
    log, _ = uninterrupted
    names = [tuple(sorted(r.seed.task_id for r in log.requests[epoch])) for epoch in (0, 1, 2)]
    assert len(set(names)) == 3
    base = [[item.task_id for item in log.batches[step] if item.origin == "base"] for step in (4, 5, 6, 7, 8, 9)]
    assert len(set(map(tuple, base))) > 1


def test_a_state_of_an_epoch_in_progress_keeps_attempts_and_the_state_of_a_finished_one_is_small(tmp_path):
    states = {}
    play(new_loop(tmp_path), 1, 3, Log(), after_step=states.__setitem__)
    middle, end = json.loads(states[2]), json.loads(states[3])
    assert sum(bool(record["attempts"]) for record in middle["generations"]) > 0
    assert end["generations"] == [] and end["plan"] == []


def test_texts_with_half_surrogates_survive_a_checkpoint(tmp_path):
    states = {}
    loop = new_loop(tmp_path)
    play(loop, 1, 2, Log(), environment=lambda request: "broken \ud83d", after_step=states.__setitem__)
    states[2].encode("utf-8")
    resumed = new_loop(tmp_path)
    resumed.load_state_dict(json.loads(states[2]), finished=False)
    assert [g.text for g in resumed.generations] == ["broken \ud83d"] * 12


def test_start_afresh_clears_what_a_run_without_a_checkpoint_left(tmp_path, uninterrupted):
    play(new_loop(tmp_path), 1, 4, Log())
    loop = new_loop(tmp_path)
    loop.start_afresh()
    assert (len(loop.run.d_train), len(loop.run.d_env)) == (0, 0)
    kept = Pool(tmp_path / "genenv.1" / "d_train", "d_train")
    assert len(kept) > 0, "what an earlier run wrote is kept"
    log = play(loop, 1, STEPS, Log())
    assert observed(log, 1, STEPS, 3) == observed(uninterrupted[0], 1, STEPS, 3)
    assert files_of(tmp_path) == uninterrupted[1]


def test_a_task_that_breaks_a_template_is_rejected_and_the_run_goes_on(tmp_path):
    loop = new_loop(tmp_path)

    def fail(task, seed, novelty):
        raise TemplateError("agent.jinja, line 1: list has no element 0")

    loop.validity = SimpleNamespace(check=fail)
    request = loop.requests(0)[0]
    text = json.dumps({"goal": "another goal", "calls": []})
    read = loop.read(request, epoch=0, step=0, prompt_ids=[1], response_ids=[2], text=text, truncated=False)
    assert read.outcome.reason == "prompt_failed" and "agent.jinja" in read.outcome.detail


def test_the_seed_decides_the_run(tmp_path, uninterrupted):
    log = play(new_loop(tmp_path, seed=1), 1, 3, Log())
    assert observed(log, 1, 3, 3) != observed(uninterrupted[0], 1, 3, 3)


# ------------------------------------------------------------------------------------------------- novelty

CITIES = ["Rome", "Bonn", "Oslo", "Lyon", "Kyoto", "Quito", "Lima", "Cairo", "Delhi", "Graz", "Minsk", "Turin"]
ERRANDS = ["Fold the napkins", "Where are my keys", "Sort the letters by name", "Open a window in here"]


def collapsed_texts():
    """Twelve times one task with another name in it, and four others."""
    same = [(f"Bring what they sent from {city} to the front door.", f"parcel {city}") for city in CITIES]
    others = [(errand, f"errand {place}") for place, errand in enumerate(ERRANDS)]
    return [
        json.dumps({"goal": goal, "calls": [{"name": "fetch", "arguments": {"thing": thing}}]})
        for goal, thing in [*same, *others]
    ]


def play_texts(root, texts, **block):
    """One epoch in which the environment writes these texts."""
    mixture = {"base": 0.0, "pool": 0.0, "fresh": 1.0}
    loop = new_loop(root, steps_per_epoch=2, n_variations=len(texts), mixture=mixture, **block)
    assert len(texts) == 2 * BATCH
    queue = iter(texts)
    return loop, play(loop, 1, 2, Log(), environment=lambda request: next(queue))


def test_e01_a_template_filled_again_and_again_is_kept_once_and_counted(tmp_path):
    loop, log = play_texts(tmp_path, collapsed_texts(), novelty={"max_same_template": 1})
    summary = log.summaries[0]
    assert (summary["valid"], summary["invalid_reasons"]) == (5, {"same_template": 11})
    assert summary["unique_fraction"] == 5 / 16 == 0.3125
    assert len(loop.run.d_env) == 5


def test_e01_by_default_names_and_numbers_make_other_tasks_and_the_template_is_reported_and_paid_less(tmp_path):
    loop, log = play_texts(
        tmp_path / "paid", collapsed_texts(), novelty={"lam_dup": 0.5}, filter="none", granularity="batch"
    )
    summary = log.summaries[0]
    assert summary["valid"] == 16 and summary["unique_fraction"] == 1.0
    assert summary["novelty"]["same_template"] == 11
    lines = task_lines(loop, 0)
    rewards = [line["reward"] for line in lines]
    assert max(rewards[1:12]) < min(rewards[12:]) <= max(rewards)
    for line in lines:
        assert line["reward"] == pytest.approx(
            rewards[0] / (1 - 0.5 * lines[0]["novelty"]["similarity"]) * (1 - 0.5 * line["novelty"]["similarity"])
        )
    _, log = play_texts(tmp_path / "free", collapsed_texts(), filter="none", granularity="batch")
    assert len({task.reward for task in log.verdicts[0].tasks}) == 1


def test_e20_refusals_and_copies_of_one_text(tmp_path):
    """The case counts 1 unique of 4 texts. A refusal is no task that could repeat another one: it is left out here, and
    1 of 4 is ``valid_fraction``."""
    copy = text_about("number nine")
    texts = ["I'm sorry, I can't help with that.", copy, copy, copy] * 4
    loop, log = play_texts(tmp_path, texts)
    summary = log.summaries[0]
    assert summary["invalid_reasons"] == {"refusal": 4, "duplicate": 11}
    assert summary["unique_fraction"] == 1 / 12 and summary["valid_fraction"] == 1 / 16
    seeds = [request.sampling_seed for request in log.requests[0]]
    assert len(set(seeds)) == len(seeds)


def test_the_unique_share_is_not_the_valid_share(tmp_path):
    wrong = [
        json.dumps({"goal": f"Open {thing} now.", "calls": [{"name": "open", "arguments": {"it": thing}}]})
        for thing in CITIES
    ]
    loop, log = play_texts(tmp_path, [*wrong, *wrong[:4]])
    summary = log.summaries[0]
    assert summary["valid"] == 0 and summary["invalid_reasons"] == {"undeclared_tool": 16}
    assert summary["unique_fraction"] == 12 / 16
    assert summary["novelty"]["parsed"] == 16 and summary["novelty"]["repeated"] == 4


def test_paraphrases_of_seed_epoch_and_pool_are_rejected_also_after_resuming(tmp_path):
    """E02: what is in the pool is known in later epochs and after a resume."""

    def text(wording, thing):
        return json.dumps({"goal": wording, "calls": [{"name": "fetch", "arguments": {"thing": thing}}]})

    seed = seed_task(0)
    pooled = text("Please bring me the small green watering can from the garden shed.", "watering can")
    states = {}
    rest = [task_text(SimpleNamespace(task_id=f"t{n}")) for n in range(13)]
    close = text(seed.context.goal.replace("Bring", "Fetch"), THINGS[0])
    twin = text("Please bring me the little green watering can from the garden shed!", "watering can")
    mixture = {"base": 0.0, "pool": 0.0, "fresh": 1.0}
    options = {"steps_per_epoch": 2, "n_variations": 16, "mixture": mixture}
    queue = iter([pooled, twin, close, *rest])
    loop = new_loop(tmp_path, **options)
    log = play(loop, 1, 2, Log(), environment=lambda request: next(queue), after_step=states.__setitem__)
    reasons = [getattr(g.outcome, "reason", None) for g in log.generations[0]]
    assert reasons == [None, "near_duplicate", "near_duplicate", *[None] * 13]
    resumed = new_loop(tmp_path, **options)
    resumed.load_state_dict(json.loads(states[2]), finished=True)
    later = text("Please bring me the small green watering can from the garden house.", "watering can")
    for played in (loop, resumed):
        request = played.requests(1)[0]
        read = played.read(request, epoch=1, step=2, prompt_ids=[1], response_ids=[2], text=later, truncated=False)
        assert read.outcome.reason == "near_duplicate" and log.generations[0][0].task_id in read.outcome.detail
    assert len(loop.novelty) == len(resumed.novelty)


# ------------------------------------------------------------------------------------------------- who sees the gold

CANARY = "qzxvwjkpyhfgtrmn"


def agent_sees(item):
    """All of a row but what only the reward reads."""
    return json.dumps({key: value for key, value in item.row.items() if key != "reward_model"})


def test_e06_the_gold_of_a_generated_task_is_seen_by_the_reward_only(tmp_path):
    def environment(request):
        return task_text(request, thing=CANARY)

    loop = new_loop(tmp_path)
    log = play(loop, 1, 12, Log(), environment=environment)
    practised = [item for items in log.batches.values() for item in items if item.origin != "base"]
    assert {item.origin for item in practised} == {"fresh", "pool"}
    for item in practised:
        assert CANARY not in agent_sees(item)
        assert CANARY in item.row["reward_model"]["ground_truth"]
    for requests in log.requests.values():
        assert all(CANARY not in json.dumps(request.messages) for request in requests)


def test_e06_the_gold_of_a_seed_is_seen_by_the_reward_and_in_its_own_example_only(tmp_path):
    tasks = [seed_task(0, gold=CANARY), *map(seed_task, range(1, N_SEEDS))]
    loop = new_loop(tmp_path, rows=seed_rows(tasks))
    log = play(loop, 1, 12, Log())
    items = [item for batch in log.batches.values() for item in batch]
    assert not any(CANARY in agent_sees(item) for item in items)
    assert {item.task_id for item in items if CANARY in item.row["reward_model"]["ground_truth"]} == {"seed0"}
    with_canary = {
        request.seed.task_id
        for requests in log.requests.values()
        for request in requests
        if CANARY in json.dumps(request.messages)
    }
    assert with_canary == {"seed0"}  # the example that is varied
    assert CANARY not in json.dumps(list(loop.run.d_train))


def test_the_verdict_on_an_unfinished_epoch_changes_nothing(tmp_path):
    loop = new_loop(tmp_path)
    play(loop, 1, 2, Log(), environment=all_valid)  # two of three steps
    before = state_to_text(loop.state_dict(finished=False))
    verdict = loop.verdict()
    attempted = [generation for generation in loop.generations if generation.attempts]
    assert 0 < len(verdict.tasks) == len(attempted) < len(loop.generations)
    assert len(loop.task_records(verdict)) == len(loop.generations)
    assert loop.summary(verdict)["success_rate"] is not None
    assert state_to_text(loop.state_dict(finished=False)) == before
