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

from genenv_verl.variants.sizes import target_rows


@pytest.mark.parametrize(
    ("seeds", "multiple", "rows"),
    [
        (544, 1.76, 957),  # the paper's
        (544, 3.27, 1777),  # the paper's, though 3.27 x 544 is 1,778.9
        (544, 6.0, 3264),
        (272, 3.27, 889),  # 888.5, halves up
        (10, 1.25, 13),  # 12.5, halves up
        (10, 1.24, 12),
        (1, 2.0, 2),
    ],
)
def test_rows_at_a_multiple(seeds, multiple, rows):
    assert target_rows(seeds, multiple) == rows


@pytest.mark.parametrize("multiple", [1.0, 0.5, -3.0, 0.0, float("nan"), float("inf"), 1e30])
def test_a_multiple_that_asks_for_nothing_or_for_the_impossible_is_refused(multiple):
    with pytest.raises(ValueError, match="--target-multiple"):
        target_rows(544, multiple)


def test_a_multiple_that_rounds_to_the_seeds_alone_is_refused():
    with pytest.raises(ValueError, match="no variation"):
        target_rows(3, 1.1)
