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

import pytest

from genenv_verl.evaluation.judge import judge_messages, read_judgement


@pytest.mark.parametrize(
    ("text", "verdict"),
    [
        ("Yes", True),
        ("yes.", True),
        ("**No**", False),
        ("No, yes would be wrong.", False),
        ("<think>Yes? No…</think>\nYes", True),
        ("Judgement: No", False),
        ("The answers agree, so: yes!", True),
        ("Maybe", None),
        ("yesterday", None),
        ("I know", None),
        ("", None),
        ("<think>Yes", None),
        ("ja", None),
    ],
)
def test_read_judgement(text, verdict):
    assert read_judgement(text) is verdict


def test_what_the_judge_reads_is_bounded_and_the_answer_comes_last():
    system, user = judge_messages(question="Who?", reference="Ada", answer="I am right. " * 10_000)
    assert "I am right" not in system.content and len(user.content) < 4_200
    assert user.content.index("Reference: Ada") < user.content.index("I am right")
