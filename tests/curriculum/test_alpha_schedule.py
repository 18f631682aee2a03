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

from genenv_verl.curriculum.alpha_schedule import AlphaSchedule


def test_constant():
    schedule = AlphaSchedule.constant(0.5)
    assert [schedule.at(epoch) for epoch in (0, 1, 1000)] == [0.5, 0.5, 0.5]


def test_linear_starts_in_epoch_0_and_stays_at_its_end():
    schedule = AlphaSchedule.linear(0.8, 0.4, 4)
    assert [schedule.at(epoch) for epoch in range(6)] == pytest.approx([0.8, 0.7, 0.6, 0.5, 0.4, 0.4])


def test_piecewise_moves_in_steps():
    schedule = AlphaSchedule.piecewise([[0, 0.7], [3, 0.5], [5, 0.4]])
    assert [schedule.at(epoch) for epoch in range(7)] == [0.7, 0.7, 0.7, 0.5, 0.5, 0.4, 0.4]


def test_before_its_first_point_the_first_alpha_holds():
    assert AlphaSchedule.piecewise([[2, 0.7], [4, 0.5]]).at(0) == 0.7


@pytest.mark.parametrize("points", [[], [[0, 0.5], [0, 0.6]], [[3, 0.5], [1, 0.6]], [[-1, 0.5]], [[0, 1.5]]])
def test_bad_points_are_refused(points):
    with pytest.raises(ValueError, match="alpha"):
        AlphaSchedule.piecewise(points)


def test_a_linear_schedule_needs_an_epoch():
    with pytest.raises(ValueError, match="ascend"):
        AlphaSchedule.linear(0.5, 0.6, 0)
