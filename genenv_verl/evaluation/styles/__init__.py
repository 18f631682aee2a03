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
"""Prompt styles: the paper's systems in the format that each was trained on, or all of them in the shared one.

A style writes a step's context as chat messages and brings an answer into the shared form, which is what benchmarks
parse. Formats (tags, where a result stands) are those of the systems; the words around them are ours.
"""

from __future__ import annotations

from genenv_verl.evaluation.styles.boxed import TORL
from genenv_verl.evaluation.styles.hermes import QWEN
from genenv_verl.evaluation.styles.search_tags import RESEARCH, SEARCH_R1
from genenv_verl.evaluation.styles.shared import PLAIN, TOOLRL, UNIFIED
from genenv_verl.evaluation.styles.style import Style

STYLES: dict[str, Style] = {style.name: style for style in (UNIFIED, PLAIN, TOOLRL, QWEN, SEARCH_R1, RESEARCH, TORL)}


def get_style(name: str) -> Style:
    """The style of a name (ValueError with the known names otherwise)."""
    if name not in STYLES:
        raise ValueError(f"style {name!r} is unknown; known are {', '.join(STYLES)}")
    return STYLES[name]
