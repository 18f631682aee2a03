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
"""What is seen of the writing of a fixed training set: answers, failures, tokens, time left."""

from __future__ import annotations

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn

from genenv_verl.variants.augment import Answer, token_cost


class AugmentProgress:
    """One bar. A context manager.

    Args:
        answers: How many are expected; rejections can make it more where a target has to be reached.
    """

    def __init__(self, answers: int):
        self._failed = self._tokens = self._done = 0
        self._expected = answers
        self._progress = Progress(
            TextColumn("variations"),
            BarColumn(),
            MofNCompleteColumn(),
            TextColumn("{task.fields[failed]} failed, {task.fields[tokens]:,} tokens"),
            TimeElapsedColumn(),
            TextColumn("left"),
            TimeRemainingColumn(),
            console=Console(stderr=True),
        )
        self._bar = self._progress.add_task("", total=answers, failed=0, tokens=0)

    def __enter__(self) -> AugmentProgress:
        self._progress.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._progress.stop()

    def watch(self, answer: Answer) -> None:
        """Counts an answer."""
        self._done += 1
        self._failed += answer.failure is not None
        if answer.completion is not None:
            cost = token_cost([answer.completion])
            self._tokens += cost.prompt + cost.completion
        self._progress.update(
            self._bar,
            advance=1,
            total=max(self._expected, self._done),
            failed=self._failed,
            tokens=self._tokens,
        )
