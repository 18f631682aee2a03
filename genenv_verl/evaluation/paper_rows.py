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
"""Table 1 of the paper (GenEnv, arXiv 2512.19682): quoted, not measured here. Figures in per cent."""

from __future__ import annotations

# name on the command line -> column, in the paper's order
COLUMNS: dict[str, str] = {
    "alfworld": "ALFWorld",
    "bfcl": "BFCL",
    "apibank": "API-Bank",
    "bamboogle": "Bamboogle",
    "travelplanner": "TravelPlanner",
}

# model -> the five columns and the average as printed
PAPER_ROWS: dict[str, tuple[float, float, float, float, float, float]] = {
    "Llama 3.1 405B": (65.3, 5.5, 74.4, 77.6, 16.5, 47.9),
    "GPT-OSS 120B": (60.4, 21.9, 53.6, 29.6, 14.7, 36.0),
    "Qwen 2.5 72B": (63.5, 35.3, 54.9, 69.6, 20.5, 48.8),
    "Llama 3.1 70B": (60.1, 13.4, 64.3, 76.8, 17.6, 46.4),
    "Qwen 3 32B": (52.3, 33.8, 63.8, 71.2, 22.5, 48.7),
    "GPT-OSS 20B": (53.6, 24.4, 41.2, 33.6, 14.9, 33.5),
    "Qwen 3 14B": (37.8, 29.4, 66.7, 76.0, 14.7, 44.9),
    "ReSearch 7B": (18.7, 5.0, 65.3, 68.0, 16.4, 34.7),
    "SearchR1 7B": (16.1, 5.0, 63.3, 67.2, 16.1, 33.5),
    "Qwen 2.5 7B": (14.2, 7.0, 61.6, 68.0, 14.3, 33.0),
    "ToRL 7B": (8.0, 0.0, 54.1, 34.4, 14.8, 22.3),
    "GenEnv 7B": (54.5, 41.8, 79.1, 76.0, 16.6, 53.6),
}
