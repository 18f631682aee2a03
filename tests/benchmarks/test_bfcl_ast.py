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
"""BFCL's AST benchmark: the official rules one by one, a release in miniature, and the official verdicts."""

import json
import os
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from genenv_verl.benchmarks import get_benchmark
from genenv_verl.benchmarks.base import Record, ReleaseError
from genenv_verl.benchmarks.bfcl_ast import CATEGORIES, SAMPLE_CATEGORIES
from genenv_verl.benchmarks.harness import Harness

DATA = os.environ.get("GENENV_BENCHMARK_DATA")
needs_data = pytest.mark.skipif(not DATA, reason="GENENV_BENCHMARK_DATA is not set")
# Of the 1,439 published verdicts, how many the check deliberately says otherwise.
DELIBERATE_DIFFERENCES = 0


def function(name="f", required=(), **types):
    properties = {key: kind if isinstance(kind, dict) else {"type": kind} for key, kind in types.items()}
    return {
        "name": name,
        "description": "Does it.",
        "parameters": {"type": "dict", "properties": properties, "required": list(required)},
    }


def record(functions, answers, category="simple_python"):
    question = [{"role": "user", "content": "Do it."}]
    return Record("r", category, {"question": question, "functions": functions, "answers": answers})


def says(declared, possible, value):
    """The reason of the verdict on ``f(x=value)``."""
    answer = {"model_output": output([{"name": "f", "parameters": {"x": value}}])}
    return get_benchmark("bfcl_ast").score(record([function(x=declared)], [{"f": {"x": possible}}]), answer).reason


def output(calls):
    return "\n".join(["<tool_call>", *map(json.dumps, calls), "</tool_call>"])


def array(items):
    return {"type": "array", "items": {"type": items}}


@pytest.mark.parametrize(
    ("declared", "possible", "value", "reason"),
    [
        # B01: an int may stand for a float, a float not for an int; 1 is not true; no strings for numbers.
        ("float", [5.0], 5, "ok"),
        ("integer", [5], 5.0, "type_error:simple"),
        ("boolean", [True], 1, "type_error:simple"),
        ("float", [5.0], "5.0", "type_error:simple"),
        ("float", [5.0], True, "type_error:simple"),
        ("integer", [5], 5, "ok"),
        ("integer", [5], 6, "value_error:others"),
        ("integer", [5], None, "type_error:simple"),
        ("string", ["New York, NY"], "new_york ny.", "ok"),
        ("string", ['say "it"'], "say 'it'", "ok"),
        ("string", ["New York"], "Boston", "value_error:string"),
        ("string", ["New York", ""], "-", "ok"),
        (array("string"), [["a", "b c"]], ["A", "b-C"], "ok"),
        (array("string"), [["a", "b"]], ["b", "a"], "value_error:list/tuple"),
        (array("string"), [["a"]], [1], "type_error:nested"),
        (array("float"), [[1.0]], [1], "type_error:nested"),
        (array("string"), ["", ["a"]], [], "ok"),
        (array("dict"), [[{"k": [1]}]], [{"k": 1}], "ok"),
        (array("dict"), [[{"k": [1]}]], [{"k": 1}, {"k": 1}], "value_error:list_dict_count"),
        ("dict", [{"k": ["v"], "o": ["", 1]}], {"k": "V"}, "ok"),
        ("dict", [{"k": ["v"]}], {"k": "w"}, "value_error:dict_value"),
        ("dict", [{"k": ["v"]}], {"k": "v", "z": 1}, "value_error:dict_key"),
        ("dict", [{"k": ["v"]}], {}, "value_error:dict_key"),
        # A variable: the possible answers are of another type than declared.
        ("integer", ["n"], "n", "ok"),
        ("integer", ["n"], "N", "value_error:others"),
        # The official code raises: an unknown type, items that are not declared, a list of possible values missing.
        ("complex", [1], 1, "official_crash:KeyError"),
        ("array", [[1]], [1], "official_crash:KeyError"),
        ("dict", [{"k": {"v": 1}}], {"k": 1}, "official_crash:TypeError"),
        ("float", [1.0], 10**400, "type_error:simple"),
    ],
)
def test_values_are_compared_as_officially(declared, possible, value, reason):
    if value == 10**400:  # float() of it raises, as in the official code; as text it is a number that JSON can hold.
        reason = "official_crash:OverflowError"
    assert says(declared, possible, value) == reason


TWO = [function("f", ["x"], x="integer", y="integer"), function("g.h", x="integer")]
F1, F2, G = ({"name": n, "parameters": {"x": x}} for n, x in (("f", 1), ("f", 2), ("g.h", 1)))


@pytest.mark.parametrize(
    ("category", "answers", "calls", "reason"),
    [
        ("simple_python", [{"f": {"x": [1]}}], [F1], "ok"),
        ("simple_python", [{"f": {"x": [1]}}], [F1, F1], "simple_function_checker:wrong_count"),
        ("simple_python", [{"f": {"x": [1]}}], [], "simple_function_checker:wrong_count"),
        ("simple_python", [{"f": {"x": [1]}}], [G], "simple_function_checker:wrong_func_name"),
        ("simple_python", [{"f": {"x": [1], "y": [2]}}], [F1], "simple_function_checker:missing_optional"),
        ("simple_python", [{"f": {"x": [1], "y": [2, ""]}}], [F1], "ok"),
        ("simple_python", [{"f": {"y": [1]}}], [F1], "simple_function_checker:unexpected_param"),
        ("live_simple", [{"f": {}}], [{"name": "f", "parameters": {}}], "simple_function_checker:missing_required"),
        ("multiple", [{"g.h": {"x": [1]}}], [G], "ok"),
        ("multiple", [{"g.h": {"x": [1]}}], [F1], "simple_function_checker:wrong_func_name"),
        ("live_multiple", [{"g.h": {"x": [1]}}], [G, G], "multiple_function_checker:wrong_count"),
        ("multiple", [{"unknown": {"x": [1]}}], [G], "official_crash:KeyError"),
        ("parallel", [{"f": {"x": [1]}}, {"f": {"x": [2]}}], [F2, F1], "ok"),
        (
            "parallel_multiple",
            [{"f": {"x": [1]}}, {"g.h": {"x": [1]}}],
            [F1, F1],
            "parallel_function_checker_no_order:cannot_find_match",
        ),
        ("live_parallel", [{"f": {"x": [1]}}], [F1, F1], "parallel_function_checker_no_order:wrong_count"),
        # Greedy: the first answer takes the only call that fits the second.
        (
            "parallel",
            [{"f": {"x": [1, 2]}}, {"f": {"x": [2]}}],
            [F2, F1],
            "parallel_function_checker_no_order:cannot_find_match",
        ),
        (
            "simple_python",
            [{"f": {"x": [1]}}],
            [{"name": "f", "arguments": {"x": 1}}],
            "simple_function_checker:wrong_count",
        ),
        ("simple_python", [{"f": {"x": [1]}}], [{"name": "f", "parameters": None}], "official_crash:TypeError"),
    ],
)
def test_calls_are_matched_as_officially(category, answers, calls, reason):
    assert (
        get_benchmark("bfcl_ast").score(record(TWO, answers, category), {"model_output": output(calls)}).reason
        == reason
    )


@pytest.mark.parametrize(
    ("answer", "reason"),
    [
        ({"model_output": None, "decoded_exec": ["f(x=1)"]}, "ok"),
        ({"decoded_exec": ["f(1)"]}, "ok"),
        ({"decoded_exec": ["f(x=__import__('os').system('true'))"]}, "not_a_call"),
        ({"decoded_exec": ["("]}, "not_a_call"),
        ({"model_output": None}, "no_calls_given"),
        ({"model_output": 7, "decoded_exec": ["f(x=1)"]}, "no_model_output"),
        ({}, "no_calls_given"),
        ({"model_output": "x" * 300_000}, "output_too_long"),
        ({"model_output": "", "official": {"ast": {"valid": True}}}, "simple_function_checker:wrong_count"),
    ],
)
def test_answers_come_as_text_or_as_call_strings(answer, reason):
    verdict = get_benchmark("bfcl_ast").score(record(TWO, [{"f": {"x": [1]}}]), answer)
    assert (verdict.reason, verdict.score) == (reason, float(reason == "ok"))


TEXTS = st.text(alphabet="kvs ")
LEAVES = st.none() | st.booleans() | st.floats() | st.integers() | TEXTS


@settings(max_examples=40)
@given(st.recursive(LEAVES, lambda inner: st.lists(inner) | st.dictionaries(TEXTS, inner), max_leaves=8))
def test_no_value_raises_anything(value):
    for declared in ("integer", "float", "string", "dict", array("string"), array("dict")):
        says(declared, [1, [{"k": [""]}], {"k": ["v"]}, "s"], value)


def write_sample(folder: Path, drop: str = "") -> Path:
    samples = folder / "ast_samples"
    samples.mkdir(parents=True)
    for category in SAMPLE_CATEGORIES:
        entry = {
            "id": f"{category}_0",
            "question": [
                [{"role": "system", "content": "Be brief."}, {"role": "user", "content": f"Call f for {category}."}]
            ],
            "function": [function("f", ["x"], x="float")],
        }
        answer = {"id": f"{category}_0", "ground_truth": [{"f": {"x": [1.5]}}]}
        for name, line in ((f"BFCL_v4_{category}", entry), (f"possible_answer_{category}", answer)):
            if name != drop:
                (samples / f"{name}.first30.json").write_text(json.dumps(line) + "\n")
    return folder


def test_a_sample_is_cut_into_tasks(tmp_path):
    benchmark = get_benchmark("bfcl_ast")
    records = benchmark.load(write_sample(tmp_path))
    assert benchmark.counts(records) == dict.fromkeys(SAMPLE_CATEGORIES, 1)
    step = next(iter(benchmark.steps(records)))
    assert step.step_id == step.record.record_id == "simple_python_0"
    assert step.task.context.goal == "Call f for simple_python."
    assert step.task.context.system == "Be brief."
    assert step.task.context.tools[0].function.parameters["properties"] == {"x": {"type": "number"}}
    assert [call.model_dump() for call in step.task.gold_action] == [{"name": "f", "arguments": {"x": 1.5}}]
    prompt = "".join(message.content for message in benchmark.messages(step, Harness()))
    assert "1.5" not in prompt and '"number"' in prompt
    gold = output([{"name": "f", "parameters": {"x": 1.5}}])
    assert benchmark.score(step.record, benchmark.parse(step, gold)).score == 1


def test_the_installed_layout_holds_all_categories(tmp_path):
    (tmp_path / "possible_answer").mkdir()
    for category in CATEGORIES:
        entry = {
            "id": f"{category}_0",
            "question": [[{"role": "user", "content": "Go."}]],
            "function": [function("f", x="integer")],
        }
        answer = {"id": f"{category}_0", "ground_truth": [{"f": {"x": [1, ""]}}]}
        (tmp_path / f"BFCL_v4_{category}.json").write_text(json.dumps(entry))
        (tmp_path / "possible_answer" / f"BFCL_v4_{category}.json").write_text(json.dumps(answer))
    benchmark = get_benchmark("bfcl_ast")
    records = benchmark.load(tmp_path)
    assert [each.split for each in records] == list(CATEGORIES)
    assert next(iter(benchmark.steps(records))).task.gold_action[0].arguments == {}
    scores = [(each, benchmark.score(each, {"model_output": output([F1])})) for each in records[:2]]
    assert benchmark.aggregate(scores)["score"] == 1.0


def test_b02_a_gold_that_breaks_its_own_schema_is_a_defect():
    # B02: the gold has the string "1" where the tool declares an integer. The official check takes it for a variable
    # and passes it; as a seed it would be a task that nobody who keeps to the schema can solve.
    tools = [function("find_bus", ["passengers"], passengers="integer")]
    gold = [{"find_bus": {"passengers": ["1"]}}]
    assert get_benchmark("bfcl_ast").defect(record(tools, gold)) == "gold_breaks_schema"
    assert get_benchmark("bfcl_ast").defect(record(tools, [{"find_bus": {"passengers": [1]}}])) is None
    assert get_benchmark("bfcl_ast").defect(record(tools, [{"find_bus": {"seats": [1]}}])) == "gold_fails"


def test_b05_a_record_that_crashes_the_official_code_says_so():
    broken = [{"name": "f", "parameters": {"type": "dict", "properties": {"x": {"type": "integer"}}}}]
    verdict = get_benchmark("bfcl_ast").score(record(broken, [{"f": {"x": [1]}}]), {"model_output": output([F1])})
    assert (verdict.score, verdict.reason) == (0.0, "official_crash:KeyError")


@pytest.mark.parametrize(
    ("file", "text", "problem"),
    [
        ("BFCL_v4_multiple", None, "is missing"),
        ("possible_answer_parallel", None, "is missing"),
        ("BFCL_v4_multiple", "", "is empty"),
        ("BFCL_v4_multiple", '{"id": "multiple_0", "question"', "line 1: damaged"),
        ("BFCL_v4_multiple", "[" * 100_000, "line 1: damaged"),
        ("BFCL_v4_multiple", "[1]", "no JSON object"),
        ("BFCL_v4_multiple", '{"id": "multiple_0"}', "'question' is no list"),
        ("BFCL_v4_multiple", '{"id": "multiple_0", "question": [], "function": []}', "multiple_0"),
        (
            "BFCL_v4_multiple",
            '{"id": "multiple_0", "question": [[{"role": "user", "content": "x"}]], "function": [1]}',
            "multiple_0",
        ),
        ("possible_answer_multiple", '{"id": "multiple_1", "ground_truth": []}', "no answer to multiple_0"),
        ("possible_answer_multiple", "\udce9", "cannot be read"),
    ],
)
def test_a_broken_release_names_the_file_and_what_to_download(tmp_path, file, text, problem):
    path = write_sample(tmp_path) / "ast_samples" / f"{file}.first30.json"
    path.unlink() if text is None else path.write_bytes(text.encode("utf-8", "surrogateescape"))
    with pytest.raises(ReleaseError, match=problem) as error:
        get_benchmark("bfcl_ast").load(tmp_path)
    assert str(path) in str(error.value) and "bfcl-eval" in str(error.value)


@pytest.mark.parametrize("answers", ["[]", '["f"]', '[{"f": 1}]', "[{}]"])
def test_an_answer_that_is_none_names_the_record(tmp_path, answers):
    path = write_sample(tmp_path) / "ast_samples" / "possible_answer_multiple.first30.json"
    path.write_text(f'{{"id": "multiple_0", "ground_truth": {answers}}}')
    with pytest.raises(ReleaseError, match="multiple_0 or its answer is damaged .an answer is no function"):
        get_benchmark("bfcl_ast").load(tmp_path)


def test_a_missing_folder_is_named(tmp_path):
    with pytest.raises(ReleaseError, match="nowhere"):
        get_benchmark("bfcl_ast").load(tmp_path / "nowhere")


@needs_data
def test_official_verdicts_and_their_reasons():
    benchmark = get_benchmark("bfcl_ast")
    records = {each.record_id: each for each in benchmark.load(Path(DATA) / "benchmarks/bfcl")}
    lines = [json.loads(line) for line in (Path(DATA) / "verdicts/bfcl_ast_dev.jsonl").read_text().splitlines()]
    different = 0
    for line in lines:
        verdict, official = benchmark.score(records[line["record_id"]], line), line["official"]["ast"]
        different += (verdict.score, verdict.reason) != (
            (1.0, "ok") if official["valid"] else (0.0, official["error_type"])
        )
    assert len(lines) == 1439 and different == DELIBERATE_DIFFERENCES
