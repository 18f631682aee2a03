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
"""The best one-to-one assignment, for the graded score of parallel calls."""

from __future__ import annotations

import math


def best_assignment(scores: list[list[float]]) -> float:
    """Largest sum of scores when every gold call (row) takes at most one predicted call (column).

    The Hungarian method by shortest augmenting paths: rows join one after the other, and the potentials keep all
    reduced costs non-negative, so that each path is found by Dijkstra's rule. Cubic in the calls.
    """
    if not scores:
        return 0.0
    if len(scores) > len(scores[0]):
        scores = [list(column) for column in zip(*scores, strict=True)]
    if len(scores) <= 1:
        return max(scores[0]) if scores else 0.0
    columns = range(len(scores[0]))
    row_of: list[int | None] = [None for _ in columns]
    row_potential, column_potential = [0.0 for _ in scores], [0.0 for _ in columns]
    for start in range(len(scores)):
        distance, previous = [math.inf for _ in columns], [-1 for _ in columns]
        reached: list[int] = []
        row: int | None = start
        column, travelled = -1, 0.0
        while row is not None:
            open_columns = [candidate for candidate in columns if candidate not in reached]
            for candidate in open_columns:
                cost = -scores[row][candidate] - row_potential[row] - column_potential[candidate]
                if travelled + cost < distance[candidate]:
                    distance[candidate], previous[candidate] = travelled + cost, column
            column = min(open_columns, key=distance.__getitem__)
            travelled = distance[column]
            row = row_of[column]
            reached.append(column)
        row_potential[start] += travelled
        for passed in reached[:-1]:
            row_potential[row_of[passed]] += travelled - distance[passed]
            column_potential[passed] -= travelled - distance[passed]
        while column != -1:
            row_of[column] = start if previous[column] == -1 else row_of[previous[column]]
            column = previous[column]
    return sum(scores[row][column] for column, row in enumerate(row_of) if row is not None)
