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
import pytest

from genenv_verl.curriculum.epochs import epoch_of_step


@pytest.mark.parametrize(("completed", "epoch"), [(3, 0), (4, 1), (7, 1)])
def test_c03_the_step_after_a_resume(completed, epoch):
    assert epoch_of_step(completed + 1, steps_per_epoch=4) == epoch


def test_every_epoch_has_its_steps():
    assert [epoch_of_step(step, 2) for step in range(1, 7)] == [0, 0, 1, 1, 2, 2]


@pytest.mark.parametrize(("step", "steps_per_epoch"), [(0, 4), (1, 0)])
def test_numbers_below_one_are_refused(step, steps_per_epoch):
    with pytest.raises(ValueError, match="start at 1"):
        epoch_of_step(step, steps_per_epoch)
