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

import json
import os
import re
import signal
import subprocess
import sys
import threading
import time

import pytest
from typer.testing import CliRunner

from genenv_verl.cli import app

KEY = "sk-secret-0123456789"


def number_of(body) -> int:
    return int(re.search(r"number (\d+)", json.dumps(body["messages"]))[1])


def right_if_even(serve):
    def reply(body, count):
        number = number_of(body)
        return serve.completion(f"<think>t</think><response>Name{number if number % 2 == 0 else 'X'}</response>")

    return reply


def evaluate(url, bamboogle, out, *arguments, benchmarks="bamboogle"):
    command = ["evaluate", "--base-url", url, "--benchmarks", benchmarks, "--data", bamboogle, "--out", out, *arguments]
    return CliRunner().invoke(app, [str(part) for part in command])


def result_of(out, benchmark="bamboogle"):
    return json.loads((out / benchmark / "result.json").read_text())


def lines_of(out, benchmark="bamboogle"):
    return [json.loads(line) for line in (out / benchmark / "answers.jsonl").read_text().splitlines()]


def test_a_folder_keeps_its_model_and_settings_with_one_benchmark_as_well(serve, bamboogle, tmp_path):
    server, out = serve(right_if_even(serve)), tmp_path / "out"
    assert evaluate(server.url, bamboogle, out).exit_code == 0
    result, asked = result_of(out), len(server.posts)
    done = evaluate(server.url, bamboogle, out, "--temperature", "0.7")
    assert done.exit_code == 1 and "give another --out" in str(done.exception)
    assert result_of(out) == result and len(server.posts) == asked


def test_a_damaged_result_is_written_anew(serve, bamboogle, tmp_path):
    server, out = serve(right_if_even(serve)), tmp_path / "out"
    evaluate(server.url, bamboogle, out)
    result, asked = result_of(out), len(server.posts)
    (out / "bamboogle" / "result.json").write_text("{")
    assert evaluate(server.url, bamboogle, out).exit_code == 0
    assert result_of(out) == result and len(server.posts) == asked


def test_the_damaged_result_of_one_of_several_benchmarks_is_written_anew(serve, bamboogle, tmp_path):
    system = "**Available Tools**\n1. Ping: Says pong.\nParameters: {}\n\n**Steps for Each Turn**\n"
    (bamboogle / "apibank").mkdir()
    for level in (1, 2, 3):
        user = f"**Dialogue Records History**\n<user>Ping number {level}.</user>\n"
        record = {"system": system, "user": user, "answer": [{"name": "Ping", "parameters": {}}]}
        (bamboogle / "apibank" / f"level-{level}-api_processed.json").write_text(json.dumps([record]))
    server, out = serve(right_if_even(serve)), tmp_path / "out"
    assert evaluate(server.url, bamboogle, out, benchmarks="apibank,bamboogle").exit_code == 0
    results = [result_of(out, name) for name in ("apibank", "bamboogle")]
    (out / "apibank" / "result.json").write_text("{")
    (out / "bamboogle" / "result.json").write_text("")
    assert evaluate(server.url, bamboogle, out, benchmarks="apibank,bamboogle").exit_code == 0
    assert [result_of(out, name) for name in ("apibank", "bamboogle")] == results


def test_a_release_with_other_counts_is_told(serve, bamboogle, tmp_path, caplog):
    assert evaluate(serve(right_if_even(serve)).url, bamboogle, tmp_path / "out").exit_code == 0
    assert "bamboogle: split test has 12, the official release 125: the figure is over what is there" in caplog.messages


def test_one_command_gives_figures_and_a_second_run_asks_nothing(serve, bamboogle, tmp_path):
    good, out, three = right_if_even(serve), tmp_path / "out", threading.Barrier(3)

    def reply(body, number):
        if number <= 3:
            three.wait(60)  # only requests at the same time get over this
        return good(body, number)

    server = serve(reply)
    done = evaluate(server.url, bamboogle, out, "--concurrency", "3")
    assert done.exit_code == 0, done.output
    assert "50.0 % exact match over 12 of 12 steps" in done.output
    result = result_of(out)
    assert (result["figure"], result["scored_steps"], result["failed_steps"]) == (0.5, 12, 0)
    assert result["interval"]["low"] < 0.5 < result["interval"]["high"]
    assert [line["score"] for line in lines_of(out)] == [1.0, 0.0] * 6
    assert [line["id"] for line in lines_of(out)] == [f"bamboogle_{n}" for n in range(12)]
    assert len(server.posts) == 12 and server.most_at_once == 3
    server.close()
    again = evaluate(server.url, bamboogle, out)
    assert again.exit_code == 0, again.output
    assert (len(server.posts), server.gets) == (12, 1)
    assert result_of(out) == result


def test_what_the_figures_depend_on_is_written_beside_them(serve, bamboogle, tmp_path):
    server, out = serve(right_if_even(serve)), tmp_path / "out"
    evaluate(server.url, bamboogle, out, "--temperature", "0.3", "--seed", "5", "--max-tokens", "100", "--limit", "4")
    result = result_of(out)
    assert result["settings"] | {"data": None} == {
        "model": "fake",
        "endpoint": server.url,
        "server_arguments": [],
        "style": "unified",
        "decoding": {"temperature": 0.3, "max_tokens": 100, "seed": 5},
        "context_tokens": 9000,
        "max_model_len": None,
        "token_counter": "estimate",
        "limit": 4,
        "data": None,
        "options": {},
        "search": None,
        "judge": None,
        "bootstrap_seed": 5,
    }
    assert {"genenv_verl", "python"} <= result["versions"].keys() and re.fullmatch(
        "[0-9a-f]{64}", result["prompt_sha256"]
    )
    assert (result["limited"], result["steps"], result["release_records"]) == (True, 4, 12)
    assert all(body["seed"] == 5 and body["temperature"] == 0.3 for body in server.bodies)


def test_a_failed_request_is_counted_and_shown_and_asked_again(serve, bamboogle, tmp_path):
    good = right_if_even(serve)
    server = serve(lambda body, n: serve.Reply(b"too long", status=400) if number_of(body) < 2 else good(body, n))
    out = tmp_path / "out"
    done = evaluate(server.url, bamboogle, out)
    assert done.exit_code == 1
    assert "2 failed (http_400): HTTP 400: too long" in done.output
    assert "over 10 of 12 steps" in done.output and "2 steps have no verdict" in done.output
    result = result_of(out)
    assert (result["figure"], result["scored_steps"], result["failures"]) == (0.5, 10, {"http_400": 2})
    assert "score" not in lines_of(out)[0] and lines_of(out)[0]["failure"] == "http_400"
    assert "†2 failed" in (out / "table.md").read_text()
    server.reply = good
    done = evaluate(server.url, bamboogle, out)
    assert done.exit_code == 0 and len(server.posts) == 14
    assert "†" not in (out / "table.md").read_text()


def test_an_endpoint_that_does_not_work_is_said_in_one_line(serve, bamboogle, tmp_path):
    server = serve(lambda body, number: serve.Reply(b"no such model", status=404))
    done = evaluate(server.url, bamboogle, tmp_path / "out")
    assert done.exit_code == 1 and "no such path or model" in done.output and "Traceback" not in done.output
    assert "the same command continues" in done.output
    done = evaluate(server.url, bamboogle, tmp_path / "out", "--model", "other")
    assert "does not serve the model 'other'; it serves: fake" in done.output
    done = evaluate("http://127.0.0.1:9/v1", bamboogle, tmp_path / "out")
    assert "cannot be reached" in done.output


def test_the_key_is_in_no_file(serve, bamboogle, tmp_path, monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", KEY)

    def reply(body, number):
        if number_of(body) < 3:
            return serve.Reply(f"refused: {KEY}".encode(), status=400)
        return serve.completion(f"<response>{KEY}</response>", model=KEY)

    server, out = serve(reply), tmp_path / "out"
    done = evaluate(server.url, bamboogle, out)
    assert server.posts[0][2]["Authorization"] == f"Bearer {KEY}"
    assert KEY not in done.output and "refused: [key]" in done.output
    files = [path for path in out.rglob("*") if path.is_file()]
    assert len(files) == 6 and all(KEY.encode() not in path.read_bytes() for path in files)


def run_in_process(url, bamboogle, out, *arguments):
    command = [sys.executable, "-m", "genenv_verl", "evaluate", "--base-url", url, "--benchmarks", "bamboogle"]
    command += ["--data", bamboogle, "--out", out, "--concurrency", "2", *arguments]
    return subprocess.Popen(
        [str(part) for part in command], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    )


@pytest.mark.parametrize("ending", [signal.SIGKILL, signal.SIGINT])
def test_a_killed_evaluation_continues(serve, bamboogle, tmp_path, ending):
    good, out = right_if_even(serve), tmp_path / "out"
    server = serve(lambda body, n: serve.Reply(hang_s=300.0) if n > 7 else good(body, n))
    process = run_in_process(server.url, bamboogle, out)
    deadline = time.monotonic() + 300
    while len(server.posts) < 9 and time.monotonic() < deadline:
        time.sleep(0.02)
    process.send_signal(ending)
    output, _ = process.communicate(timeout=120)
    if ending == signal.SIGINT:
        assert "stopped; the same command continues" in output and "Traceback" not in output
    answered = {line for line in (out / "responses.jsonl").read_text().splitlines() if "content" in line}
    assert len(answered) == 7 and not (out / "bamboogle" / "result.json").exists()
    with (out / "responses.jsonl").open("a") as responses:
        responses.write('{"key": "half of a li')
    before, server.reply = len(server.posts), good
    done = evaluate(server.url, bamboogle, out)
    assert done.exit_code == 0, done.output
    assert len(server.posts) - before == 5
    assert [line["score"] for line in lines_of(out)] == [1.0, 0.0] * 6


def test_one_folder_is_one_model(serve, bamboogle, tmp_path):
    server, out = serve(right_if_even(serve)), tmp_path / "out"
    server.models = [{"id": "fake"}, {"id": "other"}]
    evaluate(server.url, bamboogle, out, "--model", "fake")
    (out / "apibank").mkdir()
    (out / "bamboogle" / "result.json").rename(out / "apibank" / "result.json")
    posts = len(server.posts)
    done = evaluate(server.url, bamboogle, out, "--model", "other")
    assert done.exit_code == 1 and "with model fake" in done.output and "give another --out" in done.output
    assert len(server.posts) == posts


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--benchmarks", "nonsense"], "'nonsense' is unknown; known are apibank"),
        (["--benchmarks", " , "], "names no benchmark"),
        (["--benchmarks", "apibank"], "level-1-api_processed.json is missing; download"),
        (["--style", "mine"], "style 'mine' is unknown; known are unified"),
        (["--limit", "0"], "--limit is 0"),
        (["--concurrency", "0"], "--concurrency is 0"),
        (["--timeout", "nan"], "--timeout is nan"),
        (["--retries", "-1"], "--retries is -1"),
        (["--max-tokens", "0"], "--max-tokens"),
        (["--temperature", "nan"], "--temperature"),
        (["--judge-url", "http://host"], "--judge-url needs --judge-model"),
        (["--judge-model", "x"], "--judge-model needs --judge-url"),
        (["--search", "http://user:pw@host"], "--search: a URL for host"),
        (["--search", "/nowhere/corpus.jsonl"], "/nowhere/corpus.jsonl"),
        (["--base-url", "host:8000"], "--base-url 'host:8000' is no http(s) URL"),
        (["--option", "max_rounds=3"], "BENCHMARK.NAME=VALUE"),
        (["--option", "bfcl.history=none"], "--option for bfcl, which --benchmarks does not name"),
        (["--option", "bamboogle.rounds=3"], "--option for bamboogle:"),
        (["--option", "bamboogle.max_rounds=0", "--search", "x.jsonl"], "max_rounds is 0"),
        (["--out", "/dev/null/x"], "/dev/null/x"),
        (["--extra-body", "[1]"], "no JSON object"),
        (["--extra-body", '{"messages": []}'], "messages is not yours to set"),
        (["--server-arg", "--x"], "--server-arg is for a server that is started here"),
    ],
)
def test_an_option_that_cannot_work_is_refused_before_anything_is_asked(serve, bamboogle, tmp_path, arguments, message):
    server = serve(right_if_even(serve))
    done = evaluate(server.url, bamboogle, tmp_path / "out", *arguments)
    assert done.exit_code == 1 and message in done.output, done.output
    assert "Traceback" not in done.output and server.posts == []


def test_every_benchmark_that_cannot_be_read_is_named_at_once(serve, bamboogle, tmp_path):
    server = serve(right_if_even(serve))
    done = evaluate(server.url, bamboogle, tmp_path / "out", benchmarks="apibank,bamboogle,travelplanner")
    assert done.exit_code == 1 and server.posts == []
    assert re.findall(r"^genenv: (apibank|travelplanner|bamboogle): ", done.output, re.MULTILINE) == [
        "apibank",
        "travelplanner",
    ]
    assert "--benchmarks bamboogle evaluates what is there" in done.output


def test_neither_model_nor_endpoint(tmp_path):
    done = CliRunner().invoke(app, ["evaluate", "--out", str(tmp_path)])
    assert done.exit_code == 1 and "give --model" in done.output
    done = CliRunner().invoke(app, ["evaluate", "--out", str(tmp_path), "--model", "./nowhere"])
    assert done.exit_code == 1 and "--model ./nowhere: there is no such folder" in done.output


def test_bamboogle_with_search_and_judge(serve, bamboogle, tmp_path, monkeypatch):
    monkeypatch.setenv("SERPER_API_KEY", KEY)
    searches = serve(
        lambda body, n: serve.Reply(json.dumps({"organic": [{"title": "T", "snippet": f"about {body['q']}"}]}).encode())
    )

    def reply(body, count):
        number, text = number_of(body), json.dumps(body["messages"])
        if text.count("about what is ") < (9 if number == 0 else 1):
            call = json.dumps({"name": "Search", "parameters": {"query": f"what is {number}"}})
            return serve.completion(f"<think>t</think>\n<tool_call>\n{call}\n{call}\n</tool_call>")
        return serve.completion(f"<response>It is Name{number}, of course.</response>")

    judge = serve(lambda body, n: serve.completion("Hm." if "Name3," in json.dumps(body) else "<think>No</think> Yes."))
    judge.models = None
    server, out = serve(reply), tmp_path / "out"
    extra = ["--search", searches.root, "--judge-url", judge.url, "--judge-model", "j"]
    done = evaluate(server.url, bamboogle, out, *extra)
    assert done.exit_code == 1 and "unreadable_judgement" in done.output, done.output
    result = result_of(out)
    by_id = {line["id"]: line for line in lines_of(out)}
    assert (result["metric"], result["failures"]) == ("judge", {"judge_unreadable_judgement": 1})
    assert result["figure"] == pytest.approx(10 / 11)
    assert searches.posts[0][2]["X-API-KEY"] == KEY and searches.bodies[0]["num"] == 5
    for line in by_id.values():
        number = int(line["id"].partition("_")[2])
        # number 0 searches in every round, and the last round forbids it
        assert len(line["responses"]) == (4 if number == 0 else 2)
        assert line.get("judged") == {0: False, 3: None}.get(number, True)
        assert line["score"] == 0.0  # the exact match of a sentence
    first, second = (json.dumps(body) for body in server.bodies if number_of(body) == 1)
    assert "Search" in first and "about what is 1" in second
    last = json.dumps([body for body in server.bodies if number_of(body) == 0][-1])
    assert last.count("about what is 0") == 3 and "Name: Search" not in last
    asked = [len(one.posts) for one in (server, searches, judge)]
    evaluate(server.url, bamboogle, out, *extra)
    assert [len(one.posts) for one in (server, searches, judge)] == asked


def test_without_a_search_engine_the_book_is_closed(serve, bamboogle, tmp_path):
    server = serve(right_if_even(serve))
    evaluate(server.url, bamboogle, tmp_path / "out", "--limit", "1")
    assert "Search" not in json.dumps(server.bodies[0])


def test_a_search_that_fails_is_no_finding_about_the_model(serve, bamboogle, tmp_path):
    call = '<tool_call>\n{"name": "Search", "parameters": {"query": "x"}}\n</tool_call>'
    server = serve(lambda body, n: serve.completion(call))
    searches = serve(lambda body, n: serve.Reply(b'{"organic": 3}'))
    out = tmp_path / "out"
    done = evaluate(server.url, bamboogle, out, "--search", searches.root, "--retries", "0", "--limit", "3")
    assert done.exit_code == 1 and result_of(out)["failures"] == {"unreadable": 3}
    assert result_of(out)["figure"] is None


def test_a_style_changes_prompts_and_reading(serve, bamboogle, tmp_path):
    server = serve(lambda body, n: serve.completion(f"<think>t</think> <answer> Name{number_of(body)} </answer>"))
    out = tmp_path / "out"
    done = evaluate(server.url, bamboogle, out, "--style", "search_r1")
    assert done.exit_code == 0 and result_of(out)["figure"] == 1.0
    assert [message["role"] for message in server.bodies[0]["messages"]] == ["user"]
    assert "**fake, search_r1**" in (out / "table.md").read_text()


def test_a_scorer_that_breaks_is_named_and_no_fault_of_the_model(serve, bamboogle, tmp_path, monkeypatch):
    """Case B05: three of ten verdicts are errors of the scorer; they count as 0 and stand under their own name."""
    from genenv_verl.benchmarks.bamboogle import Bamboogle

    scored = Bamboogle.score

    def score(self, record, answer):
        if record.record_id in ("bamboogle_0", "bamboogle_2", "bamboogle_4"):
            raise KeyError("label")
        return scored(self, record, answer)

    monkeypatch.setattr(Bamboogle, "score", score)
    server = serve(lambda body, n: serve.completion(f"<response>Name{number_of(body)}</response>"))
    out = tmp_path / "out"
    (bamboogle / "bamboogle" / "data.json").write_text(
        json.dumps([{"Question": f"What is number {n}?", "Answer": f"Name{n}"} for n in range(10)])
    )
    done = evaluate(server.url, bamboogle, out)
    result = result_of(out)
    assert result["figure"] == pytest.approx(0.7)
    assert result["scorer_errors"] == ["bamboogle_0", "bamboogle_2", "bamboogle_4"]
    assert result["reasons"] == {"ok": 7, "scorer_error:KeyError": 3}
    assert "the scorer itself failed at bamboogle_0, bamboogle_2, bamboogle_4" in done.output


def test_tables_and_comparisons_of_two_runs(serve, bamboogle, tmp_path):
    server = serve(right_if_even(serve))
    evaluate(server.url, bamboogle, tmp_path / "half")
    server.reply = lambda body, n: serve.completion(f"\u2028\x85\ud800<response>Name{number_of(body)}</response>")
    evaluate(server.url, bamboogle, tmp_path / "all")
    runner, runs = CliRunner(), [str(tmp_path / "half"), str(tmp_path / "all")]
    text = runner.invoke(app, ["table", *runs]).output
    assert "GenEnv 7B *(quoted)* | 54.5 | 41.8 | 79.1 | 76.0 | 16.6 | 53.6" in text
    assert f"**fake ({runs[0]})** | – | – | – | 50.0 [" in text and "100.0 [73.5, 100.0] n=12 (exact match)" in text
    assert "quoted" not in runner.invoke(app, ["table", runs[0], "--no-paper"]).output.split("Figures")[0]
    rows = json.loads(runner.invoke(app, ["table", *runs, "--format", "json"]).output)
    assert [row["source"] for row in rows] == ["quoted"] * 12 + ["measured"] * 2
    compared = json.loads(runner.invoke(app, ["compare", *runs, "--json"]).output)
    assert len(compared) == 1 and compared[0]["difference"] == 0.5 and compared[0]["steps"] == 12
    assert (compared[0]["better"], compared[0]["worse"], compared[0]["p_sign"]) == (6, 0, 0.03125)
    assert "| bamboogle | 12 | 50.0 | 100.0 | +50.0 [" in runner.invoke(app, ["compare", *runs]).output
    for command in (["table", str(tmp_path)], ["compare", runs[0], str(tmp_path)], ["table", *runs, "--format", "x"]):
        done = runner.invoke(app, command)
        assert done.exit_code == 1 and "Traceback" not in done.output and "genenv:" in done.output


def test_the_time_left_to_an_evaluation_is_shown(serve, bamboogle, tmp_path):
    server = serve(right_if_even(serve))
    done = evaluate(server.url, bamboogle, tmp_path / "out")
    assert re.search(r"bamboogle .*12/12 0 failed .*left", done.stderr)
    assert os.path.exists(tmp_path / "out" / "table.csv")
