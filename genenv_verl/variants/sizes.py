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
"""How many rows a fixed training set gets."""

from __future__ import annotations

PAPER_SEEDS = 544
PAPER_ROWS = {1.76: 957, 3.27: 1777}
"""Rows of the paper's offline sets by the multiple that it prints, rounded: 3.27 x 544 would be 1,779."""


def target_rows(seeds: int, multiple: float) -> int:
    """Rows, the seeds among them, at which writing stops.

    The paper's multiples 1.76 and 3.27 stand for its exact ratios, 957/544 and 1,777/544; any other is taken as it is.
    The product is rounded to the nearest whole number, halves up.

    Args:
        seeds: Number of seeds, above 0.
        multiple: Rows over seeds, above 1.

    Raises:
        ValueError: The multiple asks for no variation.
    """
    exact = PAPER_ROWS[multiple] / PAPER_SEEDS if multiple in PAPER_ROWS else multiple
    if not 1.0 < exact < 10_000.0:
        raise ValueError(f"--target-multiple is {multiple:g}: give rows over seeds, above 1 (the paper: 1.76, 3.27)")
    rows = int(exact * seeds + 0.5)
    if rows <= seeds:
        raise ValueError(f"--target-multiple {multiple:g} of {seeds} seeds asks for no variation: give a larger one")
    return rows
