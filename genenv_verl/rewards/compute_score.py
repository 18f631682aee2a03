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
"""verl's way into R_agent: ``reward.custom_reward_function.path`` names this file, ``name`` is ``compute_score``.

verl loads the file by its path, in every reward worker, and stacks the returned values over the batch: imports are
absolute and light, and all rows have the same keys and types.
"""

from __future__ import annotations

import dataclasses
import functools
import json
import logging
from collections.abc import Mapping
from typing import Any

from genenv_verl.benchmarks import is_benchmark
from genenv_verl.rewards.agent_reward import Score, Scoring, Target, read_target, score_target
from genenv_verl.tasks.sandbox.backends import shared_backend
from genenv_verl.tasks.sandbox.settings import SandboxSettings
from genenv_verl.tasks.tool_calls import solution_of_text

logger = logging.getLogger(__name__)


def compute_score(
    data_source: str,
    solution_str: str,
    ground_truth: Any,
    extra_info: dict[str, Any] | None = None,
    *,
    match: str = "strict",
    text: str = "ratio",
    sandbox: Mapping[str, Any] | None = None,
    **kwargs: Any,
) -> dict[str, Any]:
    """Scores one response of a verl batch.

    Args:
        data_source: The row's data source. The name of a benchmark has the row scored by that benchmark, as
            ``genenv_verl.benchmarks.rows`` writes it; otherwise the ground truth says how to score.
        solution_str: The response, decoded without the prompt.
        ground_truth: JSON text (or the object) of ``Task.ground_truth()``, optionally with ``tools``. Rows of other
            data sets work as well: a list of calls, or a response that makes calls, is matched as calls, any other text
            is a reference answer.
        extra_info: Read for a benchmark's row only: it holds the step's task.
        match: ``genenv.reward.match``, through ``reward.custom_reward_function.reward_kwargs``; see ``Scoring``.
        text: ``genenv.reward.text``, the same way.
        sandbox: ``genenv.sandbox``, the same way: where the checkers of tasks run.
        **kwargs: What verl adds for reward models. Not read.

    Returns:
        ``score`` in [0, 1], ``success`` and ``scored`` as 0.0 or 1.0, and ``reason``. A fault of the scorer or of the
        row gives ``scored`` 0.0 and ``reason`` ``scorer_error:<exception>``: it must neither stop the batch nor count
        as a failure of the agent.

    Raises:
        ValueError: ``match`` or ``text`` is unknown: an error of the configuration, not of a row.
    """
    scoring = _scoring(match, text)
    try:
        if is_benchmark(data_source):
            score = _score_by_benchmark(data_source, solution_str, ground_truth, extra_info or {})
        else:
            target = _read_text(ground_truth) if isinstance(ground_truth, str) else _read_object(ground_truth)
            if target.evaluation.kind == "checker":
                scoring = _with_sandbox(scoring, sandbox or {})
            score = score_target(solution_str, target, scoring=scoring)
    except Exception as error:  # The one boundary where a broken scorer or row must not end the run.
        kind = type(error).__name__
        _warn_once(kind)
        score = Score.unscored(f"scorer_error:{kind}")
    return {
        "score": float(score.value),
        "success": float(score.success),
        "scored": float(score.scored),
        "reason": score.reason,
    }


def _score_by_benchmark(name: str, response: str, ground_truth: str, extra_info: Mapping[str, Any]) -> Score:
    """The official score of a benchmark's row. Its modules are imported here: most runs never need them."""
    from genenv_verl.benchmarks.rows import score_row

    verdict = score_row(name, response, ground_truth, extra_info)
    return Score(value=verdict.score, success=verdict.score >= 1.0, scored=True, reason=verdict.reason)


@functools.cache
def _scoring(match: str, text: str) -> Scoring:
    return Scoring(match, text)


def _with_sandbox(scoring: Scoring, sandbox: Mapping[str, Any]) -> Scoring:
    backend = shared_backend(SandboxSettings.model_validate(dict(sandbox)))
    return dataclasses.replace(scoring, checkers=backend)


# Each of a task's attempts (rollout.n) brings the same text, mostly to the same worker.
@functools.lru_cache(maxsize=512)
def _read_text(ground_truth: str) -> Target:
    try:
        value = json.loads(ground_truth)
    except ValueError:  # No JSON, or a number of more digits than Python reads.
        return _reference(ground_truth)
    return _read_object(value) if isinstance(value, (dict, list)) and _is_known(value) else _reference(ground_truth)


def _read_object(ground_truth: Any) -> Target:
    """Reads a ground truth that is no text.

    Raises:
        TypeError: It is of a foreign form, in which no call and no reference can be found.
    """
    if isinstance(ground_truth, (int, float)):
        return _reference(str(ground_truth))
    if not _is_known(ground_truth):
        raise TypeError(f"ground truth of type {type(ground_truth).__name__} is neither a task's, nor calls, nor text")
    if isinstance(ground_truth, list):
        return read_target({"evaluation": {"kind": "exact_match"}, "gold_action": ground_truth})
    return read_target(ground_truth, ground_truth.get("tools"))


def _is_known(value: Any) -> bool:
    if isinstance(value, list):
        return all(isinstance(call, Mapping) and "name" in call for call in value)
    return isinstance(value, Mapping) and ("evaluation" in value or "gold_action" in value)


def _reference(text: str) -> Target:
    return read_target(solution_of_text(text))


@functools.cache
def _warn_once(kind: str) -> None:
    """Logs the current exception, each kind once a process: a fault tends to hit every row of a batch."""
    logger.warning("R_agent could not score a row (%s); further rows with it are not logged", kind, exc_info=True)
