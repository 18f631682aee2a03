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

import numpy as np
import pytest

from genenv_verl.report.run_files import read_run
from genenv_verl.report.series import validation_series
from genenv_verl.trainer.validation_record import record_validation


def test_scores_are_kept_by_step_and_the_later_one_of_a_step_counts(tmp_path):
    path = tmp_path / "genenv" / "validation.jsonl"
    metrics = {
        "val-core/a/reward/mean@1": np.float64(0.25),
        "val-core/b/reward/mean@1": np.float32(0.75),
        "val-aux/c": 1,
    }
    record_validation(path, 0, metrics)
    record_validation(path, 4, metrics)
    record_validation(path, 4, {"val-core/a/reward/mean@1": 1.0})
    record_validation(path, 8, {"val-aux/c": 1})
    assert len(path.read_text().splitlines()) == 3
    (tmp_path / "genenv" / "tasks").mkdir()
    assert validation_series(read_run(tmp_path, "run")) == [(0.0, 0.5), (4.0, pytest.approx(0.875))]


def test_a_line_that_was_cut_off_takes_no_other_with_it(tmp_path):
    path = tmp_path / "validation.jsonl"
    path.write_text('{"step": 0, "da')
    record_validation(path, 4, {"val-core/a/reward/mean@1": 0.5})
    assert json.loads(path.read_text().splitlines()[1])["step"] == 4
