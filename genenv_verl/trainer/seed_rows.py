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
"""Seed files as verl rows: the base data of the mixture and what the environment varies."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pandas as pd

from genenv_verl.tasks.prompts import AgentPrompt
from genenv_verl.tasks.records import read_tasks, to_verl_row


def read_seed_rows(files: list[str], agent_template: str | None) -> list[dict[str, Any]]:
    """Reads seeds; a parquet row keeps its own prompt, a task from JSON Lines gets the agent's template.

    Raises:
        TaskFileError: a broken row, with file and row number.
    """
    prompt = AgentPrompt(agent_template)
    rows: list[dict[str, Any]] = []
    for file in files:
        path = Path(file).expanduser()
        tasks = read_tasks(path)
        prompts: list[list[dict[str, str]]]
        if path.suffix == ".parquet":
            prompts = [[dict(message) for message in messages] for messages in pd.read_parquet(path)["prompt"]]
        else:
            prompts = [prompt.messages(task) for task in tasks]
        for task, messages in zip(tasks, prompts, strict=True):
            rows.append(to_verl_row(task, messages, index=len(rows)))
    return rows
