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
import time
from typing import Any

from genenv_verl.tasks.novelty import SeenTasks, fingerprint
from genenv_verl.tasks.schema import Task


def task(goal: str, calls: list[dict[str, Any]] | None = None, reference: str | None = None, **fields: Any) -> Task:
    evaluation = {"kind": "exact_match"} if reference is None else {"kind": "reference_answer", "reference": reference}
    gold = (calls or []) if reference is None else calls
    return Task.model_validate(
        {"task_id": "t", "context": {"goal": goal}, "evaluation": evaluation, "gold_action": gold, **fields}
    )


CALL = {"name": "book", "arguments": {"city": "Rome", "nights": 2, "options": {"sea": True, "pets": False}}}
REORDERED = {"name": "book", "arguments": {"options": {"pets": False, "sea": True}, "nights": 2, "city": "Rome"}}


def test_E02_the_same_task_in_other_clothes_is_seen_also_after_resuming():
    seen = SeenTasks()
    seen.add(fingerprint(task("Book a room in Rome.", [CALL])))
    resumed = SeenTasks()
    resumed.load_state_dict(json.loads(json.dumps(seen.state_dict())))
    for index in (seen, resumed):
        assert len(index) == 1
        assert fingerprint(task("book  a ROOM\nin Rome.", [CALL], task_id="other", epoch=5)) in index
        assert fingerprint(task("Book a room in Rome.", [REORDERED])) in index
        assert fingerprint(task("Book a room in Rome\N{FULLWIDTH FULL STOP}", [CALL])) in index
        assert fingerprint(task("Book a ro\u200bom in Ro\u00adme.\ufeff", [CALL])) in index


def test_another_goal_gold_or_reference_is_new():
    variants = [
        task("Book a room in Rome.", [CALL]),
        task("Book a room in Bonn.", [CALL]),
        task("Book a room in Rome.", [CALL, CALL]),
        task("Book a room in Rome.", [{**CALL, "arguments": {**CALL["arguments"], "nights": 2.5}}]),
        task("Book a room in Rome.", [{**CALL, "arguments": {**CALL["arguments"], "city": "rome"}}]),
        task("Book a room in Rome.", []),
        task("Book a room in Rome.", None, "Rome"),
        task("Book a room in Rome.", None, "Bonn"),
    ]
    assert len({fingerprint(variant) for variant in variants}) == len(variants)


def test_a_long_run_of_combining_marks_costs_little():
    hostile = task("a" + "\N{COMBINING ACUTE ACCENT}" * 30_000 + "\N{COMBINING GRAVE ACCENT BELOW}" * 30_000)
    start = time.process_time()
    fingerprint(hostile)
    assert time.process_time() - start < 1
