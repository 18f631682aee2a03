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

from genenv_verl.tasks.prompts import AgentPrompt
from genenv_verl.tasks.records import read_records, to_verl_row


def read_seed_rows(files: list[str], agent_template: str | None) -> list[dict[str, Any]]:
    """Reads seeds; a row of verl keeps its own prompt, a task gets the agent's template.

    Raises:
        TaskFileError: a broken row, with file and row number.
    """
    template = AgentPrompt(agent_template)
    records = [record for file in files for record in read_records(Path(file).expanduser())]
    return [
        to_verl_row(record.task, record.prompt or template.messages(record.task), index=index)
        for index, record in enumerate(records)
    ]
