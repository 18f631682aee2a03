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
"""API-Bank: the official leniency, the release's form, and nothing that a response can break."""

import json
import os
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from genenv_verl.benchmarks import get_benchmark
from genenv_verl.benchmarks.base import Record, ReleaseError, Verdict

SYSTEM = """You help.

**Available Tools**
In your response, you can use the following tools:
1. Name: AddAlarm
Description: Sets an alarm.
Parameters: {'token': {'type': 'str', 'description': "User's token."}, 'time': {'type': 'float', 'description': 'At'}}
2. Name: Ping
Description: Says pong.
Parameters: {}

**Steps for Each Turn**
1. **Think:** about it.
"""
SHORT_SYSTEM = """**Available Tools**
1. Lookup: The API that looks up a word.
Parameters: {'word': {'type': 'str', 'description': 'The word.'}}

**Steps for Each Turn**
"""
USER = """**Dialogue Records History**
<user>Wake me at seven, {name}.</user>
<response>Let me see.</response>
<tool_call>
{{"name": "Ping", "parameters": {{}}}}
</tool_call>
<obs> {{'pong': 1}} </obs>

<user> Please make one tool call. </user>
"""
GOLD = {"name": "AddAlarm", "parameters": {"token": "a1", "time": "7"}}
LOOKUP = {"name": "Lookup", "parameters": {"word": "pong"}}


def entry(system=SYSTEM, name="please", gold=GOLD):
    return {"system": system, "user": USER.format(name=name), "answer": [gold], "other": {"file": "f", "id": 0}}


def write_release(folder: Path, **levels):
    entries = {"level1": [entry()], "level2": [entry(name="now")], "level3": [entry(SHORT_SYSTEM, gold=LOOKUP)]}
    for level, records in {**entries, **levels}.items():
        (folder / f"level-{level[-1]}-api_processed.json").write_text(json.dumps(records))
    return folder


@pytest.fixture
def apibank():
    return get_benchmark("apibank")


@pytest.fixture
def record(apibank, tmp_path) -> Record:
    return apibank.load(write_release(tmp_path))[0]


def line(call=GOLD):
    return json.dumps(call)


OTHER = {"name": "Ping", "parameters": {}}

ACCEPTED = {
    "gold": f"<think> t </think>\n<tool_call>\n{line()}\n</tool_call>",
    "extra call": f"<tool_call>\n{line(OTHER)}\n{line()}\n{line(OTHER)}\n</tool_call>",
    "gold in the last block": f"<tool_call>\n{line(OTHER)}\n</tool_call>\n<tool_call>\n{line()}\n</tool_call>",
    "no tags": f"Sure:\n{line()}",
    "unclosed tag": f"<tool_call>\n{line()}",
    "fence inside": f"<tool_call>\n```json\n{line()}\n```\n</tool_call>",
    "bare parameters": f"<tool_call>\n{line(GOLD['parameters'])}\n</tool_call>",
    "double encoded": f"<tool_call>\n{json.dumps(line())}\n</tool_call>",
    "malformed line before": f'<tool_call>\n{{"name": "Ping", \n{line()}\n</tool_call>',
    "a list before": f"<tool_call>\n[{line(OTHER)}]\n{line()}\n</tool_call>",
    "key order": '{"parameters": {"time": "7", "token": "a1"}, "name": "AddAlarm"}',
    "no-break spaces around the calls": f"<tool_call>\u00a0{line()}\u3000</tool_call>",
    "a text encoded twice before": f"<tool_call>\n{json.dumps(json.dumps('hello'))}\n{line()}\n</tool_call>",
    "call of another form before": f'<tool_call>\n{{"name": "AddAlarm", "arguments": {{}}}}\n{line()}\n</tool_call>',
}
REJECTED = {
    "gold in the first block": f"<tool_call>\n{line()}\n</tool_call>\n<tool_call>\n{line(OTHER)}\n</tool_call>",
    "pretty printed": f"<tool_call>\n{json.dumps(GOLD, indent=2)}\n</tool_call>",
    "Python repr": f"<tool_call>\n{GOLD}\n</tool_call>",
    "trailing comma": f"<tool_call>\n{line()},\n</tool_call>",
    "key arguments": line({"name": "AddAlarm", "arguments": GOLD["parameters"]}),
    "parameters alone": line({"parameters": GOLD["parameters"]}),
    "parameters null": line({"name": "AddAlarm", "parameters": None}),
    "a number before": f"<tool_call>\n3\n{line()}\n</tool_call>",
    "a null before": f"<tool_call>\nnull\n{line()}\n</tool_call>",
    "a text before": f'<tool_call>\n"hello"\n{line()}\n</tool_call>',
    "a list of the keys before": f'<tool_call>\n["name", "parameters"]\n{line()}\n</tool_call>',
    "a list": f"<tool_call>\n[{line()}]\n</tool_call>",
    "extra argument": line({"name": "AddAlarm", "parameters": {**GOLD["parameters"], "x": None}}),
    "case": line({"name": "addalarm", "parameters": GOLD["parameters"]}),
    "padding": line({"name": "AddAlarm", "parameters": {"token": " a1", "time": "7"}}),
    "a number for a string": line({"name": "AddAlarm", "parameters": {"token": "a1", "time": 7}}),
    "on a line with words": f"Sure: {line()}",
    "in a line of the thought": f"<think> {line()} </think><response> done </response>",
    "bracket form": "[AddAlarm(token='a1', time='7')]",
    "empty": "",
}


@pytest.mark.parametrize("name", ACCEPTED)
def test_what_the_official_scorer_accepts(apibank, record, name):
    assert apibank.score(record, {"model_output": ACCEPTED[name]}) == Verdict(1.0, "ok")


@pytest.mark.parametrize("name", REJECTED)
def test_what_the_official_scorer_rejects(apibank, record, name):
    verdict = apibank.score(record, {"model_output": REJECTED[name]})
    assert verdict.score == 0.0
    assert verdict.reason in {"no_call", "not_a_call", "wrong_call"}


def test_bare_parameters_may_have_a_parameter_called_name(apibank, record):
    gold = {"name": "DeleteScene", "parameters": {"name": "Movie Time"}}
    record = Record("r", "level1", {**record.data, "gold": gold})
    assert apibank.score(record, {"model_output": '{"name": "Movie Time"}'}).score == 1.0
    assert apibank.score(record, {"model_output": '{"name": "DeleteScene"}'}).score == 0.0


@pytest.mark.parametrize("answer", [{}, {"model_output": None}, {"model_output": ["x"]}, {"answer": [GOLD]}])
def test_an_answer_without_output_scores_nothing(apibank, record, answer):
    assert apibank.score(record, answer) == Verdict(0.0, "no_model_output")


@pytest.mark.parametrize(
    "output",
    [
        "[" * 100_000,
        "\n" * 100_000,
        "1\n" * 100_000,
        "x\n" * 300_000,
        '{"a":' * 100_000,
        '"' + "\\\\" * 100_000,
        "9" * 100_000,
        "<tool_call>" * 50_000,
        "\ud800",
        "\x00",
    ],
)
def test_hostile_output_scores_nothing(apibank, record, output):
    assert apibank.score(record, {"model_output": f"{output}\n{output}"}).score == 0.0


@settings(deadline=None)
@given(st.text() | st.recursive(st.none() | st.booleans() | st.text(), st.lists).map(json.dumps))
def test_no_output_raises(output):
    record = Record("r", "level1", {"gold": GOLD})
    assert get_benchmark("apibank").score(record, {"model_output": output}).score == 0.0


def test_b19_only_the_response_scores(apibank, record):
    # The authors' training reward reads prompt and response: a prompt that shows a call would earn by itself.
    step = next(iter(apibank.steps([record])))
    record = Record("r", "level1", {**record.data, "gold": OTHER})
    assert line(OTHER) in record.data["user"], "the prompt holds what would be the answer"
    assert apibank.score(record, apibank.parse(step, "I do not know")).score == 0.0


def test_a_step_is_the_release_in_the_tasks_form(apibank, tmp_path):
    steps = list(apibank.steps(apibank.load(write_release(tmp_path))))
    assert [step.step_id for step in steps] == ["Level1_0", "Level2_0", "Level3_0"]
    task = steps[0].task
    assert [tool.name for tool in task.context.tools] == ["AddAlarm", "Ping"]
    properties = task.context.tools[0].function.parameters["properties"]
    assert properties["time"] == {"type": "string", "description": "At (float, written as a string)"}
    assert [message.role for message in task.context.history] == ["user", "assistant", "assistant", "tool"]
    assert task.context.goal == "Please make one tool call."
    assert task.gold_action[0].model_dump() == {"name": "AddAlarm", "arguments": GOLD["parameters"]}
    assert [tool.name for tool in steps[2].task.context.tools] == ["Lookup"]
    prompt = "\n".join(message.content for message in apibank.messages(steps[0]))
    assert '"a1"' not in prompt, "the gold is not shown"
    assert "<obs> {'pong': 1} </obs>" in prompt


def test_defects_stay_in_the_score_and_are_left_out_beside_it(apibank, tmp_path):
    broken = {"name": "AddAlarm", "parameters": {"token": "a', time=", "time": "7"}}
    missing = {"name": "RemoveAlarm", "parameters": {}}
    unknown = {"name": "AddAlarm", "parameters": {"day": "7"}}
    level1 = [
        entry(),
        entry(),
        entry(name="a", gold=broken),
        entry(name="b", gold=missing),
        entry(name="c", gold=unknown),
    ]
    records = apibank.load(write_release(tmp_path, level1=level1))
    defects = [apibank.defect(record) for record in records]
    assert defects == [
        None,
        "duplicate_prompt",
        "corrupt_gold",
        "gold_tool_missing",
        "gold_argument_undeclared",
        None,
        None,
    ]
    verdicts = [(record, Verdict(float(not apibank.defect(record)), "")) for record in records]
    assert apibank.aggregate(verdicts) == {
        "score": pytest.approx(3 / 7),
        "level1": 0.2,
        "level2": 1.0,
        "level3": 1.0,
        "score_without_defects": 1.0,
    }
    assert apibank.aggregate([]) == {}


def test_steps_of_one_dialogue_are_one_episode(apibank, tmp_path):
    later = entry()
    later["user"] = later["user"].replace("<user> Please", "<response> Hm. </response>\n<user> Please")
    first, second, other, _ = apibank.load(write_release(tmp_path, level1=[entry(), later]))
    assert apibank.episode(first) == apibank.episode(second) != apibank.episode(other)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (None, "is missing; download"),
        ("[{", "is damaged"),
        ("{}", "no list of records"),
        ("[" * 50_000, "is damaged"),
        (json.dumps([{"system": "s"}]), "record 0: damaged"),
        (json.dumps([{**entry(), "answer": []}]), "record 0: damaged"),
        (json.dumps([{**entry(), "user": "no turn"}]), "record 0: damaged"),
        (json.dumps([{**entry(), "user": 3}]), "record 0: damaged"),
    ],
)
def test_a_damaged_release_is_named_with_the_remedy(apibank, tmp_path, content, message):
    write_release(tmp_path)
    file = tmp_path / "level-2-api_processed.json"
    file.unlink() if content is None else file.write_text(content)
    with pytest.raises(ReleaseError, match=message) as error:
        apibank.load(tmp_path)
    assert str(file) in str(error.value) and "qiancheng0/ToolRL" in str(error.value)


@pytest.mark.parametrize(
    "change",
    [
        {"system": SYSTEM.replace("{}", "{'a': }")},
        {"system": SYSTEM.replace("{}", "{'a': 'text'}")},
        {"user": USER.format(name="x") + "text behind all turns"},
        {"user": "<user>a</user><response>b</response>"},
    ],
)
def test_a_prompt_of_another_form_is_refused(apibank, tmp_path, change):
    records = apibank.load(write_release(tmp_path, level1=[{**entry(), **change}]))
    with pytest.raises(ReleaseError, match="Level1_0.*cannot be read"):
        list(apibank.steps(records))


def test_no_folder_and_an_empty_folder(apibank, tmp_path):
    for source in (None, tmp_path, tmp_path / "nowhere"):
        with pytest.raises(ReleaseError, match="download"):
            apibank.load(source)


@pytest.fixture(scope="module")
def real():
    if "GENENV_BENCHMARK_DATA" not in os.environ:
        pytest.skip("GENENV_BENCHMARK_DATA names no folder with the releases")
    return Path(os.environ["GENENV_BENCHMARK_DATA"])


def test_the_release_has_the_official_counts_and_the_known_defects(apibank, real):
    records = apibank.load(real / "benchmarks/apibank")
    assert apibank.counts(records) == {"level1": 399, "level2": 67, "level3": 131}
    defects = {record.record_id: apibank.defect(record) for record in records}
    corrupt = {"Level1_258", "Level1_285", "Level1_323", "Level1_341", "Level1_393"}
    assert {name for name, defect in defects.items() if defect == "corrupt_gold"} == corrupt
    missing = {f"Level2_{index}" for index in (6, 13, 14, 19, 25, 54)}
    assert {name for name, defect in defects.items() if defect == "gold_tool_missing"} == missing
    assert list(defects.values()).count("duplicate_prompt") == 10
    undeclared = {f"Level1_{index}" for index in (61, 130, 164, 167, 215, 261, 270, 357)}
    assert {name for name, defect in defects.items() if defect == "gold_argument_undeclared"} == undeclared
    steps = list(apibank.steps(records))
    for step in steps:
        listed = step.record.data["system"].partition("**Available Tools**")[2].partition("**Steps")[0]
        assert listed.count("\nParameters: ") == len(step.task.context.tools), step.step_id


def test_every_official_verdict(apibank, real):
    records = {record.record_id: record for record in apibank.load(real / "benchmarks/apibank")}
    lines = (real / "verdicts/apibank_dev.jsonl").read_text(encoding="utf-8").splitlines()
    wrong = []
    for answer in map(json.loads, lines):
        if apibank.score(records[answer["record_id"]], answer).score != answer["official"]["toolrl_evaluate"]:
            wrong.append(answer["id"])
    assert wrong == [] and len(lines) == 2954
