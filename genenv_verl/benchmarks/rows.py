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
"""Steps as rows of verl, and the score of a row: benchmarks as verl's validation reward.

A row's ``data_source`` is the benchmark's name, so that verl reports ``val-core/<benchmark>/…``. Its ground truth is
that of the step's task (so that the row can be read as a task as well), and beside it the step, without the task.
"""

from __future__ import annotations

import functools
import json
from collections.abc import Mapping
from typing import Any

from genenv_verl.benchmarks import get_benchmark
from genenv_verl.benchmarks.base import Benchmark, Record, Step, Verdict
from genenv_verl.tasks.records import from_verl_row, to_verl_row
from genenv_verl.tasks.schema import Message


def step_row(name: str, step: Step, messages: list[Message], *, split: str, index: int) -> dict[str, Any]:
    """verl's row for a step.

    Args:
        name: The benchmark's name.
        step: The step.
        messages: Its prompt.
        split: ``train`` or ``validation``.
        index: The row's number in its file, from 0.
    """
    row = to_verl_row(step.task, [message.model_dump() for message in messages], split=split, index=index)
    truth = {
        **step.task.ground_truth(),
        "step": {
            "step_id": step.step_id,
            "answer_fields": dict(step.answer_fields),
            "record": {
                "record_id": step.record.record_id,
                "split": step.record.split,
                "data": dict(step.record.data),
            },
        },
    }
    row["data_source"] = name
    row["reward_model"]["ground_truth"] = json.dumps(truth, ensure_ascii=False)
    row["extra_info"]["step_id"] = step.step_id
    return row


def read_step(ground_truth: str, extra_info: Mapping[str, Any]) -> Step:
    """The step of a row; the inverse of ``step_row``.

    Raises:
        KeyError, TypeError, ValueError: The row is not one of ``step_row``.
    """
    fields = json.loads(ground_truth)["step"]
    task = from_verl_row({"extra_info": extra_info, "reward_model": {"ground_truth": ground_truth}})
    return Step(fields["step_id"], Record(**fields["record"]), task, fields["answer_fields"])


def score_row(name: str, response: str, ground_truth: str, extra_info: Mapping[str, Any]) -> Verdict:
    """The benchmark's score of a response to a row of ``step_row``.

    Args:
        name: The row's ``data_source``.
        response: What the model wrote after the prompt; the prompt itself is never read.
        ground_truth: The row's ``reward_model.ground_truth``.
        extra_info: The row's ``extra_info``.

    Raises:
        KeyError, TypeError, ValueError: The row is not one of ``step_row``.
    """
    benchmark, step = _benchmark(name), _step(ground_truth, extra_info["task"])
    return benchmark.score(step.record, {**step.answer_fields, **benchmark.parse(step, response)})


@functools.cache
def _benchmark(name: str) -> Benchmark:
    return get_benchmark(name)


# Each of a step's attempts brings the same row, mostly to the same worker.
@functools.lru_cache(maxsize=256)
def _step(ground_truth: str, task: str) -> Step:
    return read_step(ground_truth, {"task": task})
