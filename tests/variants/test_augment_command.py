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
"""``genenv-verl augment`` against endpoints that work, fail, stop and lie."""

import asyncio
import hashlib
import json
import threading

import pyarrow.parquet as pq
import pytest
from typer.testing import CliRunner

from genenv_verl.cli import app
from genenv_verl.config.settings import SettingsError
from genenv_verl.tasks.generation import Rejection
from genenv_verl.tasks.manifest import manifest_of
from genenv_verl.tasks.records import read_tasks
from genenv_verl.tasks.schema import Task
from genenv_verl.variants.augment import Answer, Written, write_until
from genenv_verl.variants.plan import AugmentPlan, augment_settings, writer_plan
from genenv_verl.variants.requests import VariationRequest

TOOL = {
    "type": "function",
    "function": {
        "name": "fetch",
        "parameters": {"type": "object", "properties": {"thing": {"type": "string"}}, "required": ["thing"]},
    },
}


def seed_record(place):
    return {
        "task_id": f"seed{place}",
        "family": "shelves",
        "context": {"goal": f"Bring what hangs on hook {place}.", "tools": [TOOL]},
        "gold_action": [{"name": "fetch", "arguments": {"thing": f"lamp{place}"}}],
    }


def write_seeds(path, count=4):
    path.write_text("".join(json.dumps(seed_record(place)) + "\n" for place in range(count)))
    return path


def task_text(name):
    calls = [{"name": "fetch", "arguments": {"thing": f"box{name}"}}]
    return json.dumps({"goal": f"Bring thing {name} from the shelf.", "calls": calls})


def name_in(body):
    """A name of the request's own: prompt and sampling seed decide it."""
    return hashlib.sha256(json.dumps([body["messages"], body.get("seed")]).encode()).hexdigest()[:12]


@pytest.fixture
def augment(tmp_path, monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", "sk-secret-secret")
    seeds = write_seeds(tmp_path / "seeds.jsonl")
    out = tmp_path / "set"

    def run(*options):
        return CliRunner().invoke(app, ["augment", "--seeds", str(seeds), "--out", str(out), *options])

    run.out = out
    run.seeds = seeds
    return run


def said(result):
    return f"{result.output}\n{result.exception}"


def manifest_in(out):
    return json.loads((out / "manifest.json").read_text())


def rows_in(out):
    return pq.read_table(out / "train.parquet").to_pylist()


def good(serve):
    return serve(lambda body, number: serve.completion(task_text(name_in(body))))


# ------------------------------------------------------------------------------------------------- the set


def test_five_variations_of_every_seed_stand_behind_the_seeds_and_nothing_is_paid_twice(augment, serve):
    server = good(serve)
    done = augment("--base-url", server.url, "--model", "fake")
    assert done.exit_code == 0, said(done)
    assert "24 rows: 4 seeds and 20 variations" in done.output
    assert "tokens: 200 of prompts, 100 of completions" in done.output
    ids = [row["extra_info"]["task_id"] for row in rows_in(augment.out)]
    assert ids[:4] == ["seed0", "seed1", "seed2", "seed3"]
    assert sorted(ids[4:]) == sorted(f"seed{place}.v{variation}" for place in range(4) for variation in range(5))
    assert [row["extra_info"]["index"] for row in rows_in(augment.out)] == list(range(24))
    manifest = manifest_in(augment.out)
    assert (manifest["variant"], manifest["rows"], manifest["requested"], manifest["generated"]) == (
        "offline", 24, 20, 20,
    )  # fmt: skip
    assert manifest["valid"] == 20 and manifest["invalid_reasons"] == {} and manifest["not_asked"] == 0
    first = (augment.out / "train.parquet").read_bytes()
    server.close()
    again = augment("--base-url", server.url, "--model", "fake")
    assert again.exit_code == 0, said(again)
    assert len(server.posts) == 20
    assert (augment.out / "train.parquet").read_bytes() == first and manifest_in(augment.out) == manifest


def test_the_prompt_is_the_loops_and_a_rows_gold_is_not_in_its_prompt(augment, serve):
    server = good(serve)
    assert augment("--base-url", server.url, "--model", "fake", "-n", "1").exit_code == 0
    asked = json.dumps(server.bodies[0]["messages"])
    assert "hook" in asked and "lamp" in asked  # the seed with its gold is the example
    for row in rows_in(augment.out)[4:]:
        truth = json.loads(row["reward_model"]["ground_truth"])
        (call,) = truth["gold_action"]
        assert call["arguments"]["thing"] not in json.dumps(row["prompt"])
    written = [task for task in read_tasks(augment.out / "train.parquet") if task.seed_id]
    assert {task.generator.model for task in written} == {"fake"} and {task.epoch for task in written} == {0}


def test_fewer_rows_only_by_rejections_and_each_is_counted_with_its_reason(augment, serve):
    def reply(body, number):
        place = int(name_in(body), 16) % 4
        return serve.completion(
            [task_text(name_in(body)), "I'm sorry, I cannot.", "", task_text("the same every time")][place]
        )

    done = augment("--base-url", serve(reply).url, "--model", "fake")
    manifest = manifest_in(augment.out)
    reasons = manifest["invalid_reasons"]
    assert manifest["generated"] == 20 == manifest["valid"] + sum(reasons.values())
    assert {"refusal", "empty", "duplicate"} == set(reasons)
    assert manifest["rows"] == 4 + manifest["valid"] == len(rows_in(augment.out))
    lines = [json.loads(line) for line in (augment.out / "rejections.jsonl").read_text().splitlines()]
    assert len(lines) == sum(reasons.values())
    assert f"{reasons['refusal']} rejected (refusal)" in done.output


def test_a_text_that_was_cut_off_is_counted_as_truncated(augment, serve):
    choice = {"message": {"content": '{"goal": "Bring th'}, "finish_reason": "length"}
    done = augment("--base-url", serve(lambda *_: serve.completion("", choices=[choice])).url, "--model", "fake")
    assert manifest_in(augment.out)["invalid_reasons"] == {"truncated": 20}
    assert done.exit_code != 0 and "no variation is valid" in said(done)


def test_special_tokens_of_the_usual_templates_are_refused_for_an_unknown_agent(augment, serve):
    text = task_text("7").replace("from the shelf", "<|im_end|><|im_start|>system")
    augment("--base-url", serve(lambda *_: serve.completion(text)).url, "--model", "fake", "-n", "1")
    assert manifest_in(augment.out)["invalid_reasons"]["control_token"] == 4


def test_an_endpoint_that_takes_no_seed_is_asked_for_every_variation(augment, serve):
    server = serve(lambda body, number: serve.completion(task_text(str(number))))
    done = augment("--base-url", server.url, "--model", "fake", "--extra-body", '{"seed": null}')
    assert done.exit_code == 0, said(done)
    assert len(server.posts) == 20 and not any("seed" in body for body in server.bodies)
    assert len(rows_in(augment.out)) == 24


def test_every_request_has_a_sampling_seed_of_its_own(augment, serve):
    server = good(serve)
    augment("--base-url", server.url, "--model", "fake")
    assert len({body["seed"] for body in server.bodies}) == 20


# ------------------------------------------------------------------------------------------------- the target


def test_writing_stops_at_the_target_and_no_answer_is_paid_for_and_left_out(augment, serve):
    def reply(body, number):
        return serve.completion(task_text(name_in(body)) if number % 3 else "no task")

    server = serve(reply)
    done = augment("--base-url", server.url, "--model", "fake", "--target-multiple", "3.0", "--concurrency", "3")
    assert done.exit_code == 0, said(done)
    manifest = manifest_in(augment.out)
    assert manifest["rows"] == manifest["target_rows"] == 12 == len(rows_in(augment.out))
    assert len(server.posts) == manifest["generated"] < 20
    assert manifest["not_asked"] == 20 - manifest["generated"]


def test_a_target_that_is_missed_says_so_and_a_larger_n_adds_to_what_is_there(augment, serve):
    def reply(body, number):
        return serve.completion(task_text(name_in(body)) if int(name_in(body), 16) % 2 else "no task")

    server = serve(reply)
    done = augment("--base-url", server.url, "--model", "fake", "--target-multiple", "4", "-n", "3")
    assert done.exit_code != 0 and "of 16 rows" in said(done)
    paid = len(server.posts)
    done = augment("--base-url", server.url, "--model", "fake", "--target-multiple", "4", "-n", "12")
    assert done.exit_code == 0, said(done)
    assert manifest_in(augment.out)["rows"] == 16
    assert len(server.posts) == manifest_in(augment.out)["generated"] and len(server.posts) > paid


def test_a_target_beyond_n_is_refused_before_anything_is_asked(augment, serve):
    server = good(serve)
    done = augment("--base-url", server.url, "--model", "fake", "--target-multiple", "7")
    assert done.exit_code != 0 and "give a larger -n" in said(done)
    assert not server.posts and server.gets == 0


def test_waves_read_in_the_order_of_the_requests_whatever_order_the_answers_come_in():
    requests = [VariationRequest(f"r{place}", None, (), place) for place in range(9)]
    asked, read = [], []

    async def ask(request):
        asked.append(request.task_id)
        await asyncio.sleep(0.001 * (9 - request.sampling_seed))
        return Answer(request)

    def judge(answer):
        read.append(answer.request.task_id)
        is_valid = answer.request.sampling_seed % 2 == 0
        task = Task.model_construct(task_id=answer.request.task_id)
        return Written(answer, task if is_valid else Rejection("not_json"))

    written = asyncio.run(write_until(requests, ask, judge, 3, 4))
    assert read == [f"r{place}" for place in range(5)]  # r0 r2 r4 are valid
    assert len(written) == 5 and set(asked) == set(read)


# ------------------------------------------------------------------------------------------------- faults


def test_what_failed_is_counted_named_and_asked_again_by_the_same_command(augment, serve):
    broken = threading.Event()
    broken.set()

    def reply(body, number):
        if broken.is_set() and int(name_in(body), 16) % 3 == 0:
            return serve.Reply(b"{}", status=500)
        return serve.completion(task_text(name_in(body)))

    server = serve(reply)
    done = augment("--base-url", server.url, "--model", "fake", "--retries", "0")
    manifest = manifest_in(augment.out)
    failed = manifest["failed"]["http_500"]
    assert 0 < failed < 20 and manifest["generated"] == 20 - failed
    assert done.exit_code != 0 and f"{failed} requests have no answer; the same command asks again" in said(done)
    broken.clear()
    before = len(server.posts)
    done = augment("--base-url", server.url, "--model", "fake", "--retries", "0")
    assert done.exit_code == 0, said(done)
    assert len(server.posts) - before == failed and manifest_in(augment.out)["rows"] == 24


def test_what_failed_does_not_matter_once_the_target_is_reached(augment, serve):
    def reply(body, number):
        if number == 2:
            return serve.Reply(b'{"error": "content policy"}', status=400)
        return serve.completion(task_text(name_in(body)))

    server = serve(reply)
    done = augment("--base-url", server.url, "--model", "fake", "--target-multiple", "2.5", "--concurrency", "1")
    assert done.exit_code == 0, said(done)
    assert "10 rows: 4 seeds and 6 variations" in done.output and "1 requests failed (http_400)" in done.output
    assert "asks again" not in said(done) and len(server.posts) == 7
    assert manifest_in(augment.out)["failed"] == {"http_400": 1}


def test_what_failed_matters_while_rows_are_missing_for_the_target(augment, serve):
    def reply(body, number):
        if number <= 2:
            return serve.Reply(b'{"error": "content policy"}', status=400)
        return serve.completion(task_text(name_in(body)))

    server = serve(reply)
    options = ("--model", "fake", "--target-multiple", "2", "-n", "1", "--concurrency", "1")
    done = augment("--base-url", server.url, *options)
    assert done.exit_code != 0 and "2 requests have no answer; the same command asks again" in said(done)
    assert augment("--base-url", server.url, *options).exit_code == 0
    assert manifest_in(augment.out)["rows"] == 8 and len(server.posts) == 6


def test_a_rate_limit_is_waited_for_by_all_requests(augment, serve):
    def reply(body, number):
        if number == 1:
            return serve.Reply(b"slow down", status=429, headers={"Retry-After": "1"})
        return serve.completion(task_text(name_in(body)))

    server = serve(reply)
    done = augment("--base-url", server.url, "--model", "fake", "-n", "1", "--concurrency", "1")
    assert done.exit_code == 0, said(done)
    times = [at for *_, at in server.posts]
    assert times[1] - times[0] >= 1.0 and len(times) == 5


def test_an_endpoint_that_dies_keeps_what_was_answered_and_the_command_continues(augment, serve):
    dead = threading.Event()

    def reply(body, number):
        if number > 6:
            dead.set()
        return serve.Reply(b"", status=503) if dead.is_set() else serve.completion(task_text(name_in(body)))

    server = serve(reply)
    # One at a time: of two, the last good answer may arrive among the failures, which are then no longer in a row.
    options = ("--base-url", server.url, "--model", "fake", "--retries", "0", "-n", "8", "--concurrency", "1")
    done = augment(*options)
    assert done.exit_code != 0 and "requests in a row have failed" in said(done)
    assert f"the same command continues from {augment.out}" in said(done)
    assert not (augment.out / "train.parquet").exists()
    server.reply = lambda body, number: serve.completion(task_text(name_in(body)))
    before = len(server.posts)
    assert augment(*options).exit_code == 0
    assert len(server.posts) - before == 32 - 6 and manifest_in(augment.out)["rows"] == 36


@pytest.mark.parametrize(
    "usage",
    [
        None,
        "many",
        {"prompt_tokens": -5, "completion_tokens": 5},
        {"prompt_tokens": True, "completion_tokens": 5},
        {"prompt_tokens": 10**18, "completion_tokens": 5},
        {"prompt_tokens": 3.5, "completion_tokens": 5},
        {"completion_tokens": 5},
    ],
)
def test_token_counts_that_make_no_sense_are_in_no_sum(augment, serve, usage):
    server = serve(lambda body, number: serve.completion(task_text(name_in(body)), usage=usage))
    done = augment("--base-url", server.url, "--model", "fake", "-n", "1", "--retries", "0")
    assert done.exit_code == 0, said(done)
    assert manifest_in(augment.out)["tokens"] == {"prompt": 0, "completion": 0, "untold": 4}
    assert "4 answers came without a count" in done.output


def test_the_key_is_in_no_file_and_in_no_message(augment, serve):
    def reply(body, number):
        return serve.Reply(json.dumps({"error": "bad key sk-secret-secret"}).encode(), status=401)

    server = serve(reply)
    done = augment("--base-url", server.url, "--model", "fake")
    assert done.exit_code != 0 and "sk-secret" not in said(done)
    assert server.posts[0][2]["Authorization"] == "Bearer sk-secret-secret"
    assert not any(b"sk-secret" in path.read_bytes() for path in augment.out.rglob("*") if path.is_file())


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ((), "give --model"),
        (("--base-url", "nonsense", "--model", "m"), "no http(s) URL"),
        (("--base-url", "http://user:pw@host/v1", "--model", "m"), "user, password"),
        (("--base-url", "http://h/v1", "--model", "m", "-n", "0"), "-n = 0 is not allowed"),
        (("--base-url", "http://h/v1", "--model", "m", "--target-multiple", "nan"), "--target-multiple"),
        (("--base-url", "http://h/v1", "--model", "m", "--concurrency", "0"), "--concurrency is 0"),
        (("--base-url", "http://h/v1", "--model", "m", "--max-tokens", "0"), "--max-tokens"),
        (("--base-url", "http://h/v1", "--model", "m", "--server-arg", "x"), "--server-arg"),
        (("--base-url", "http://h/v1", "--model", "m", "--set", "reward.match=nonsense"), "genenv.reward.match"),
        (("--base-url", "http://h/v1", "--model", "m", "--set", "nonsense=1"), "unknown key"),
        (("--base-url", "http://h/v1", "--model", "m", "--set", "variant=grpo"), "an option of its own"),
        (("--base-url", "http://h/v1", "--model", "m", "--set", "broken"), "KEY=VALUE"),
        (("--base-url", "http://h/v1", "--model", "m", "--set", "environment_template=/no/file"), "/no/file"),
        (("--base-url", "http://h/v1", "--model", "m", "--set", "validity_rules=[no_such_module]"), "no_such_module"),
        (("--base-url", "http://h/v1", "--model", "m", "--agent-model", "/no/model"), "/no/model"),
        (("--base-url", "http://h/v1", "--model", "m", "--extra-body", '{"model": "x"}'), "not yours to set"),
    ],
)
def test_what_cannot_work_is_said_before_anything_is_asked(augment, options, words):
    if "--agent-model" in options:
        pytest.importorskip("transformers")
    done = augment(*options)
    assert done.exit_code != 0 and words in said(done)
    assert not augment.out.exists()


def test_seeds_that_are_variations_already_or_twice_the_same_are_refused(augment, serve):
    options = ("--base-url", good(serve).url, "--model", "fake")
    augment.seeds.write_text(json.dumps(seed_record(0)) + "\n" + json.dumps(seed_record("0.v1")) + "\n")
    assert "'seed0.v1', as a variation would be" in said(augment(*options))
    augment.seeds.write_text("")
    assert "no seed task in it" in said(augment(*options))
    augment.seeds.write_text("{broken\n")
    assert "broken rows" in said(augment(*options))
    write_seeds(augment.seeds)
    assert "two tasks are called 'seed0'" in said(augment(*options, "--seeds", str(augment.seeds)))


# ------------------------------------------------------------------------------------------------- parts


def test_settings_come_from_the_genenv_block_with_its_own_messages(tmp_path):
    read = augment_settings((tmp_path,), 3, {"genenv.reward.match": "subset", "seed": 7, "alpha.start": 0.3})
    assert (read.n_variations, read.reward.match, read.seed, read.alpha.start) == (3, "subset", 7, 0.3)
    with pytest.raises(SettingsError, match="is set to a value already"):
        augment_settings((tmp_path,), 3, {"reward": "x", "reward.match": "soft"})


@pytest.mark.parametrize(("version", "chunks"), [("0.24.0", False), ("0.27.0+cpu", True)])
def test_a_local_server_samples_from_the_model_as_it_is(tmp_path, monkeypatch, version, chunks):
    monkeypatch.setattr("genenv_verl.variants.plan.vllm_version", lambda: version)
    plan = AugmentPlan(tmp_path, (), augment_settings((tmp_path,), 1, {}), model="m", server_arguments=("--mine",))
    arguments = writer_plan(plan).server_arguments
    assert arguments[:2] == ("--generation-config", "vllm") and arguments[-1] == "--mine"
    assert ("--no-enable-chunked-prefill" in arguments) is chunks


def test_the_manifest_belongs_to_one_variant_and_one_file(augment, serve):
    augment("--base-url", good(serve).url, "--model", "fake", "-n", "1")
    train = augment.out / "train.parquet"
    assert manifest_of(train, "offline").rows == 8
    with pytest.raises(ValueError, match="the run is 'static'"):
        manifest_of(train, "static")
    train.write_bytes(train.read_bytes() + b"x")
    with pytest.raises(ValueError, match="is not the file"):
        manifest_of(train, "offline")
    (augment.out / "manifest.json").write_text('{"version": 1')
    with pytest.raises(ValueError, match="damaged"):
        manifest_of(train, "offline")
    (augment.out / "manifest.json").unlink()
    with pytest.raises(ValueError, match="genenv-verl augment"):
        manifest_of(train, "offline")
