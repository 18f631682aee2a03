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
"""BFCL turn by turn: steps, the official verdicts where bfcl-eval is installed, and hostile calls that must not run."""

import importlib.util
import json
import os
from pathlib import Path

import pytest

from genenv_verl.benchmarks import bfcl as module
from genenv_verl.benchmarks import get_benchmark
from genenv_verl.benchmarks.base import ReleaseError, ScorerUnavailable
from genenv_verl.benchmarks.harness import Harness
from genenv_verl.benchmarks.rows import read_step, step_row
from genenv_verl.tasks.sandbox.jail import JailUnavailable, NoReply

DATA = os.environ.get("GENENV_BENCHMARK_DATA")
needs_backends = pytest.mark.skipif(
    importlib.util.find_spec("bfcl_eval") is None, reason="bfcl-eval is not installed (extra bfcl)"
)
needs_data = pytest.mark.skipif(not DATA, reason="GENENV_BENCHMARK_DATA is not set")
# Of the 2,111 published verdicts, how many the scorer deliberately says otherwise.
DELIBERATE_DIFFERENCES = 0
# Every fifteenth published verdict: most kinds of corruption are met. perf/bfcl_gold_turns.py compares them all.
STRIDE = 15

FILES = {"root": {"home": {"type": "directory", "contents": {"a.txt": {"type": "file", "content": "x"}}}}}
TURNS = [
    ("Make a folder 'b'.", ["mkdir(dir_name='b')", "ls()"]),
    ("Nothing to do.", []),
    ("Sort a.txt and count its lines.", ["sort('a.txt')", "wc(file_name='a.txt',mode='l')"]),
    ("What is 2 + 3?", ["add(a=2.0, b=3.0)"]),
]


def doc(name, required, **types):
    properties = {key: {"type": kind} for key, kind in types.items()}
    return {
        "name": name,
        "description": "",
        "parameters": {"type": "dict", "properties": properties, "required": required},
    }


DOCS = {
    "gorilla_file_system.json": [
        doc("mkdir", ["dir_name"], dir_name="string"),
        doc("ls", [], a="boolean"),
        doc("sort", ["file_name"], file_name="string"),
        doc("wc", ["file_name"], file_name="string", mode="string"),
    ],
    "math_api.json": [doc("add", ["a", "b"], a="float", b="float")],
}


def write_release(folder: Path) -> Path:
    entry = {
        "id": "multi_turn_long_context_0",
        "question": [[{"role": "user", "content": goal}] for goal, _ in TURNS],
        "initial_config": {"GorillaFileSystem": FILES},
        "path": [],
        "involved_classes": ["GorillaFileSystem", "MathAPI"],
    }
    (folder / "possible_answer").mkdir(parents=True)
    (folder / "multi_turn_func_doc").mkdir()
    name = "BFCL_v4_multi_turn_long_context.json"
    (folder / name).write_text(json.dumps(entry) + "\n")
    truth = {"id": entry["id"], "ground_truth": [gold for _, gold in TURNS]}
    (folder / "possible_answer" / name).write_text(json.dumps(truth) + "\n")
    for file, functions in DOCS.items():
        (folder / "multi_turn_func_doc" / file).write_text("\n".join(map(json.dumps, functions)))
    return folder


class FakeJail:
    """Stands in for the sandbox where what is asked matters, and not what the back-ends say."""

    def __init__(self, reply):
        self.reply = reply
        self.requests = []

    def call(self, request, timeout_s):
        self.requests.append(request)
        if isinstance(self.reply, Exception):
            raise self.reply
        return self.reply


@pytest.fixture
def jail(monkeypatch):
    def install(reply):
        fake = FakeJail(reply)
        monkeypatch.setattr(module, "_backends", lambda: fake)
        return fake

    return install


@pytest.fixture
def release(tmp_path):
    return write_release(tmp_path / "release")


@pytest.fixture
def record(release):
    return get_benchmark("bfcl").load(release)[0]


def output(*calls):
    return "\n".join(["<tool_call>", *(json.dumps({"name": n, "parameters": p}) for n, p in calls), "</tool_call>"])


def test_turns_become_steps_without_history(release):
    benchmark = get_benchmark("bfcl", history="none")
    records = benchmark.load(release)
    assert benchmark.counts(records) == {"multi_turn_long_context": 4}
    steps = list(benchmark.steps(records))
    assert [step.step_id for step in steps] == [f"multi_turn_long_context_0:turn{turn}" for turn in range(4)]
    assert [step.answer_fields for step in steps] == [{"turn": turn} for turn in range(4)]
    assert [step.task.context.goal for step in steps] == [goal for goal, _ in TURNS]
    assert all(step.task.context.history == [] for step in steps)
    assert steps[1].task.gold_action == []
    assert [call.model_dump() for call in steps[2].task.gold_action] == [
        {"name": "sort", "arguments": {"file_name": "a.txt"}},
        {"name": "wc", "arguments": {"file_name": "a.txt", "mode": "l"}},
    ]
    assert [tool.name for tool in steps[0].task.context.tools] == ["mkdir", "ls", "sort", "wc", "add"]
    assert steps[3].task.context.tools[4].function.parameters["properties"]["a"] == {"type": "number"}


def test_a_step_holds_no_gold_of_later_turns_and_survives_a_row(release):
    benchmark = get_benchmark("bfcl", history="none")
    step = list(benchmark.steps(benchmark.load(release)))[2]
    assert step.record.data["gold"] == [gold for _, gold in TURNS[:3]]
    row = step_row("bfcl", step, benchmark.messages(step, Harness()), split="validation", index=0)
    assert read_step(row["reward_model"]["ground_truth"], row["extra_info"]) == step


def test_history_shows_gold_calls_and_their_results_and_state_comes_last(release, jail):
    turns = [{"results": [f"r{turn}{call}" for call in range(2)], "state": {"s": turn}} for turn in range(4)]
    turns[1]["results"] = []
    jail({"turns": turns})
    benchmark = get_benchmark("bfcl", state="gold")
    step = list(benchmark.steps(benchmark.load(release)))[2]
    history = [(message.role, message.content) for message in step.task.context.history]
    assert history == [
        ("user", "Make a folder 'b'."),
        (
            "assistant",
            '<tool_call>\n{"name": "mkdir", "parameters": {"dir_name": "b"}}\n'
            '{"name": "ls", "parameters": {}}\n</tool_call>',
        ),
        ("tool", "r00"),
        ("tool", "r01"),
        ("user", "Nothing to do."),
        ("tool", '{"state": {"s": 2}}'),
    ]
    prompt = "".join(message.content for message in benchmark.messages(step, Harness()))
    assert "Sort a.txt" in prompt and '"mode": "l"' not in prompt


def test_the_answer_is_asked_of_the_sandbox_after_the_gold_of_earlier_turns(record, jail):
    fake = jail({"valid": True, "reason": "ok"})
    answer = {"turn": 2, "model_output": output(("ls", {"a": True})), "decoded_exec": ["ignored()"], "official": {}}
    assert get_benchmark("bfcl").score(record, answer).score == 1.0
    (request,) = fake.requests
    assert request["calls"] == ["ls(a=True)"]
    assert request["gold"] == [gold for _, gold in TURNS[:3]]
    assert request["entry"]["id"] == record.record_id


@pytest.mark.parametrize(
    ("answer", "reason"),
    [
        ({"turn": 4, "model_output": ""}, "no_such_turn"),
        ({"turn": -1, "model_output": ""}, "no_such_turn"),
        ({"turn": True, "model_output": ""}, "no_such_turn"),
        ({"turn": "0", "model_output": ""}, "no_such_turn"),
        ({"model_output": ""}, "no_such_turn"),
        ({"turn": 0}, "no_calls_given"),
        ({"turn": 0, "model_output": None, "decoded_exec": "ls()"}, "no_calls_given"),
        ({"turn": 0, "model_output": 3, "decoded_exec": None}, "no_calls_given"),
        ({"turn": 0, "model_output": "x" * 300_000}, "output_too_long"),
        ({"turn": 0, "model_output": "<tool_call>" + '\n{"name": "ls"}' * 1_001}, "too_many_calls"),
    ],
)
def test_answers_that_cannot_be_read_score_0_and_reach_no_backend(record, jail, answer, reason):
    fake = jail({"valid": True, "reason": "ok"})
    verdict = get_benchmark("bfcl").score(record, answer)
    assert (verdict.score, verdict.reason, fake.requests) == (0.0, reason, [])


def test_b05_a_call_without_a_reply_is_told_apart_from_a_wrong_answer(record, jail):
    jail(NoReply("timeout"))
    assert get_benchmark("bfcl").score(record, {"turn": 0, "model_output": ""}).reason == "timeout"


@pytest.mark.parametrize("fault", [JailUnavailable("no namespaces here"), ImportError("no mpmath here")])
def test_nothing_is_scored_without_isolation(record, monkeypatch, fault):
    def refuse(*arguments):
        raise fault

    module._backends.cache_clear()
    monkeypatch.setattr(module, "Jail", refuse)
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: object())
    with pytest.raises(ScorerUnavailable, match=str(fault)):
        get_benchmark("bfcl").score(record, {"turn": 0, "model_output": ""})


def test_nothing_is_scored_without_bfcl_eval(record, monkeypatch):
    module._backends.cache_clear()
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    with pytest.raises(ScorerUnavailable, match=r"pip install '\.\[bfcl\]'"):
        get_benchmark("bfcl").score(record, {"turn": 0, "model_output": ""})
    with pytest.raises(ReleaseError, match="bfcl-eval is not installed"):
        get_benchmark("bfcl").load(None)


@pytest.mark.parametrize("options", [{"history": "all"}, {"state": True}, {"state": None}])
def test_options_are_checked(options):
    with pytest.raises(ValueError, match="none, gold"):
        get_benchmark("bfcl", **options)


@pytest.mark.parametrize(
    ("file", "change", "problem"),
    [
        ("BFCL_v4_multi_turn_long_context.json", None, "is missing"),
        ("possible_answer/BFCL_v4_multi_turn_long_context.json", None, "is missing"),
        ("multi_turn_func_doc/math_api.json", None, "is missing"),
        ("multi_turn_func_doc/math_api.json", lambda text: text[:-9], "line 1: damaged"),
        ("multi_turn_func_doc/math_api.json", lambda text: text.replace("properties", "props"), "no 'properties'"),
        ("BFCL_v4_multi_turn_long_context.json", lambda text: text[:-9], "line 1: damaged"),
        ("BFCL_v4_multi_turn_long_context.json", lambda text: text + text, "occurs twice"),
        (
            "BFCL_v4_multi_turn_long_context.json",
            lambda text: text.replace("MathAPI", "WebAPI"),
            "unknown class WebAPI",
        ),
        ("BFCL_v4_multi_turn_long_context.json", lambda text: text.replace('"user"', '"tool"'), "4 turns of a user"),
        ("possible_answer/BFCL_v4_multi_turn_long_context.json", lambda text: text.replace("[], ", ""), "3 of gold"),
        ("possible_answer/BFCL_v4_multi_turn_long_context.json", lambda text: text.replace("'l'", "f()"), "no call of"),
        ("possible_answer/BFCL_v4_multi_turn_long_context.json", lambda text: text.replace("_0", "_1"), "no answer to"),
        (
            "possible_answer/BFCL_v4_multi_turn_long_context.json",
            lambda text: text + text.replace("_0", "_1"),
            "BFCL_v4_multi_turn_long_context.json has no question multi_turn_long_context_1 .1 in all",
        ),
        (
            "multi_turn_func_doc/gorilla_file_system.json",
            lambda text: "\n".join(text.split("\n")[:3]),
            "multi_turn_func_doc documents no function wc",
        ),
    ],
)
def test_a_broken_release_names_the_file_and_what_to_download(release, file, change, problem):
    path = release / file
    path.unlink() if change is None else path.write_text(change(path.read_text()))
    with pytest.raises(ReleaseError, match=problem) as error:
        get_benchmark("bfcl").load(release)
    assert str(release) in str(error.value) and "bfcl-eval" in str(error.value)


@needs_backends
@pytest.mark.parametrize(
    ("turn", "calls", "reason"),
    [
        (0, [("mkdir", {"dir_name": "b"}), ("ls", {})], "ok"),
        (0, [("mkdir", {"dir_name": "b"}), ("ls", {}), ("ls", {"a": True})], "ok"),
        (0, [("mkdir", {"dir_name": "c"}), ("ls", {})], "multi_turn:instance_state_mismatch"),
        (0, [("mkdir", {"dir_name": "b"})], "multi_turn:execution_response_mismatch"),
        (0, [], "multi_turn:empty_turn_model_response"),
        (1, [], "ok"),
        (1, [("mkdir", {"dir_name": "b"})], "ok"),
        (2, [("sort", {"file_name": "a.txt"}), ("wc", {"file_name": "a.txt", "mode": "l"})], "ok"),
        (2, [("sort", {"file_name": "b.txt"}), ("wc", {"file_name": "a.txt", "mode": "l"})], None),
        # B01, as officially executed: an int does for a float as far as the result is the same, a string never.
        (3, [("add", {"a": 2, "b": 3.0})], "ok"),
        (3, [("add", {"a": 2, "b": 3})], "multi_turn:execution_response_mismatch"),
        (3, [("add", {"a": 2.0, "b": 3.0})], "ok"),
        (3, [("add", {"a": "2.0", "b": 3.0})], "multi_turn:execution_response_mismatch"),
    ],
)
def test_the_official_checker_judges(record, turn, calls, reason):
    verdict = get_benchmark("bfcl").score(record, {"turn": turn, "model_output": output(*calls)})
    assert verdict.score == float(reason == "ok")
    assert reason is None or verdict.reason == reason


HOSTILE = [
    "__import__('os').system('touch {mark}')",
    'exec(\'open("{mark}", "w")\')',
    "eval('1')",
    "open('{mark}', 'w')",
    "divmod(*[7, 2])",
    "exec\n('1')",
    "print('x')",
    "ls(a=open('{mark}', 'w'))",
    "ls(a=[].__class__)",
    "ls(a=(lambda: 1)())",
    "ls(a=[x for x in ()])",
    "ls(a=execution_results.append('None'))",
    "ls(a=execution_results)",
    "ls(a=copy)",
    "ls(*[1])",
    "ls(a=agent_eval_multi_turn_long_context_0_GorillaFileSystem_instance)",
    "ls(a=10**10**10)",
    "ls(a='x' * 10**12)",
    "ls(a=f'{{1}}')",
    "backend.__init__()",
    "agent_eval_multi_turn_long_context_0_GorillaFileSystem_instance.ls()",
    "copy.deepcopy(1)",
    "ls(a=-copy)",
    "sum([1])",
    "round(number=1.5)",
    "open(file='{mark}', mode='w')",
    "open(*['{mark}', 'w'])",
    "open(**{{'file': '{mark}', 'mode': 'w'}})",
    "str(object='None')",
    "ls().clear()",
    "class_()",
    "(ls := mkdir)('b')",
    "'None'",
    "[]",
    "ls",
    "ls() or mkdir('b')",
    "ls() if mkdir('b') else 1",
]


@needs_backends
@pytest.mark.parametrize("call", HOSTILE)
def test_hostile_calls_score_0_and_are_not_run(record, tmp_path, call):
    mark = tmp_path / "mark"
    calls = [call.format(mark=mark), *TURNS[0][1]]
    verdict = get_benchmark("bfcl").score(record, {"turn": 0, "model_output": None, "decoded_exec": calls})
    assert (verdict.score, verdict.reason) == (0.0, "unsafe_call")
    assert not mark.exists()


@needs_backends
@pytest.mark.parametrize(
    "call",
    [
        *("not_a_tool(x=1)", "LS()", "exit()", "ls(a=nan)", "ls(a b=1)", "ls(", "ls(); ls()", "(" * 5000, "", "\x00"),
        *("ls(a=-inf)", "copy(source='a')", "sum(numbers=[1])", "round(value=1.5)", "open(path='a')"),
        *("GorillaFileSystem.ls(a=True)", "os.system('ls')", "backend.ls()", "ls.__self__.mkdir('b')", "列出(a=True)"),
    ],
)
def test_calls_that_python_refuses_are_errors_as_officially_and_no_more(record, call):
    benchmark = get_benchmark("bfcl")
    assert benchmark.score(record, {"turn": 0, "decoded_exec": [call, *TURNS[0][1]]}).reason == "ok"
    assert benchmark.score(record, {"turn": 0, "decoded_exec": [call]}).score == 0.0


@needs_backends
def test_a_call_too_deep_for_the_parser_scores_0(record):
    calls = ["ls(a=" + "-" * 50_000 + "1)", "ls(a=" + "[" * 150 + "]" * 150 + ")"]
    for call in calls:
        assert get_benchmark("bfcl").score(record, {"turn": 0, "decoded_exec": [call]}).score == 0.0


@needs_backends
def test_a_tool_name_cannot_smuggle_in_a_result(record):
    # As officially decoded, the name would end up as a string literal with a comment behind it: a forged result.
    forged = output(("mkdir", {"dir_name": "b"}), ("'{\"current_directory_content\": []}' #", {}))
    assert get_benchmark("bfcl").score(record, {"turn": 0, "model_output": forged}).reason == "unsafe_call"


@needs_backends
def test_a_call_without_end_is_stopped_and_the_next_is_right(record, monkeypatch):
    monkeypatch.setattr(module, "CALL_SECONDS", 1.0)
    endless = {"turn": 3, "decoded_exec": ["logarithm(value=2.5, base=3.5, precision=100000000)"]}
    assert get_benchmark("bfcl").score(record, endless).reason in ("timeout", "memory")
    assert get_benchmark("bfcl").score(record, {"turn": 3, "decoded_exec": TURNS[3][1]}).score == 1.0


@needs_backends
def test_calls_leave_nothing_behind(record):
    benchmark = get_benchmark("bfcl")
    for _ in range(2):
        assert benchmark.score(record, {"turn": 0, "decoded_exec": TURNS[0][1]}).score == 1.0


@needs_backends
def test_history_is_replayed_by_the_backends(release):
    benchmark = get_benchmark("bfcl", state="gold")
    step = list(benchmark.steps(benchmark.load(release)))[3]
    results = [message.content for message in step.task.context.history if message.role == "tool"]
    assert results[0] == "None" and '"b"' in results[1]
    state = json.loads(results[-1])["state"]
    assert set(state["GorillaFileSystem"]["root"]["contents"]) >= {"a.txt", "b"}


@needs_backends
def test_the_installed_release_has_734_turns_whose_gold_passes():
    benchmark = get_benchmark("bfcl")
    records = benchmark.load(None)
    assert (len(records), benchmark.counts(records)) == (200, dict(benchmark.official_counts))
    for record in records[::20]:
        last = len(record.data["gold"]) - 1
        answer = {"turn": last, "decoded_exec": record.data["gold"][last]}
        assert benchmark.score(record, answer).score == 1.0, record.record_id


@needs_backends
@needs_data
def test_official_verdicts_and_their_reasons():
    benchmark = get_benchmark("bfcl")
    records = {each.record_id: each for each in benchmark.load(Path(DATA) / "benchmarks/bfcl")}
    lines = [json.loads(line) for line in (Path(DATA) / "verdicts/bfcl_dev.jsonl").read_text().splitlines()]
    different = 0
    for line in lines[::STRIDE]:
        verdict, official = benchmark.score(records[line["record_id"]], line), line["official"]["multi_turn"]
        different += (verdict.score, verdict.reason) != (
            (1.0, "ok") if official["valid"] else (0.0, official["error_type"])
        )
    assert len(lines) == 2111 and different == DELIBERATE_DIFFERENCES
    assert len({line["mutation"] for line in lines[::STRIDE]}) >= 20
