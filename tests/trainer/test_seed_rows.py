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
import json

import pytest

from genenv_verl.tasks.records import read_records, to_verl_row, write_tasks
from genenv_verl.tasks.schema import Task
from genenv_verl.trainer.seed_rows import read_seed_rows

TASK = Task.model_validate({"task_id": "a", "context": {"goal": "Find a bus."}, "gold_action": [{"name": "find_bus"}]})
OWN = [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "A bus, please."}]
FOREIGN = {"data_source": "x", "prompt": OWN, "reward_model": {"ground_truth": "4"}, "extra_info": {"index": 0}}


@pytest.mark.parametrize("suffix", [".jsonl", ".json", ".parquet"])
def test_a_row_of_verl_keeps_its_own_prompt_in_every_kind_of_file(tmp_path, suffix):
    path = tmp_path / f"seeds{suffix}"
    if suffix == ".jsonl":
        path.write_text(json.dumps(to_verl_row(TASK, OWN)) + "\n")
    else:
        write_tasks(path, [TASK], prompt=lambda task: OWN)
    (record,) = read_records(path)
    assert (record.row, record.task, record.prompt) == (1, TASK, OWN)
    (row,) = read_seed_rows([str(path)], None)
    assert row["prompt"] == OWN
    assert row["extra_info"]["task_id"] == "a"


def test_a_task_gets_the_agents_template_and_rows_are_numbered_over_all_files(tmp_path):
    write_tasks(tmp_path / "tasks.jsonl", [TASK])
    (tmp_path / "foreign.jsonl").write_text(
        json.dumps(FOREIGN) + "\n" + json.dumps({**FOREIGN, "prompt": "4?", "extra_info": {"index": 1}})
    )
    template = tmp_path / "agent.jinja"
    template.write_text("Do: {{ task.context.goal }}")
    rows = read_seed_rows([str(tmp_path / "tasks.jsonl"), str(tmp_path / "foreign.jsonl")], str(template))
    assert [row["prompt"][-1]["content"] for row in rows] == ["Do: Find a bus.", "A bus, please.", "4?"]
    assert [row["extra_info"]["index"] for row in rows] == [0, 1, 2]


def test_keys_that_parquet_adds_to_a_message_are_dropped(tmp_path):
    import pandas

    prompts = [OWN, [{"role": "user", "content": "Hi", "name": "Ada"}]]
    frame = pandas.DataFrame(
        [{**FOREIGN, "prompt": prompt, "extra_info": {"index": n}} for n, prompt in enumerate(prompts)]
    )
    frame.to_parquet(tmp_path / "seeds.parquet")
    assert [record.prompt for record in read_records(tmp_path / "seeds.parquet")] == prompts
