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
from pathlib import Path
from typing import Annotated, Literal

import pytest
from pydantic import Field

from genenv_verl.config.allowed import allowed_values
from genenv_verl.config.reference import configuration_page, configuration_table
from genenv_verl.config.settings import Settings

PAGE = Path(__file__).parents[2] / "docs" / "configuration.md"


def test_the_page_in_docs_is_up_to_date():
    assert PAGE.read_text(encoding="utf-8") == configuration_page(), (
        "run: python -m genenv_verl.config.reference > docs/configuration.md"
    )


def test_the_table_has_a_row_for_every_key_and_four_columns():
    head, rule, *rows = configuration_table().replace("\\|", "/").splitlines()
    assert head == "| key | default | allowed | meaning |"
    cells = [[cell.strip() for cell in row.strip("|").split("|")] for row in rows]
    assert all(len(row) == 4 and row[0] and row[2] and row[3] for row in cells)
    keys = [row[0].strip("`") for row in cells]
    assert len(keys) == len(set(keys))
    assert set(Settings.model_fields) <= set(keys)
    assert {"alpha.start", "rwr.lam", "mixture.fresh", "watchdog.checkpoint"} <= set(keys)


def test_rows_say_what_the_settings_say():
    rows = configuration_table().splitlines()
    assert any(row.startswith("| `n_variations` | `4` | whole number >= 1 | Task instances") for row in rows)
    assert any(row.startswith("| `beta` | `null` | number > 0 \\| null | Sharpness") for row in rows)


@pytest.mark.parametrize(
    ("annotation", "metadata", "words"),
    [
        (Literal["exp", "linear"], (), "exp | linear"),
        (bool, (), "true | false"),
        (int, (), "whole number"),
        (float, Field(le=1.0).metadata, "number <= 1"),
        (float, Field(lt=1.0).metadata, "number < 1"),
        (float, Field(ge=0.0, lt=1.0).metadata, "number in [0, 1)"),
        (float | None, Field(gt=0.0).metadata, "number > 0 | null"),
        (Annotated[float, Field(gt=0.0)] | None, (), "number > 0 | null"),
        (list[tuple[Annotated[int, Field(ge=0)], float]], (), "list of [whole number >= 0, number]"),
    ],
)
def test_allowed_values(annotation, metadata, words):
    assert allowed_values(annotation, metadata) == words


def test_a_type_without_a_description_is_an_error():
    with pytest.raises(TypeError, match="no description"):
        allowed_values(bytes)
