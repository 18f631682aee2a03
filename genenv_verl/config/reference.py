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
"""The configuration page: every key of the ``genenv`` block with default, allowed values and meaning.

``python -m genenv_verl.config.reference > docs/configuration.md`` writes it.
"""

from __future__ import annotations

import json
import re
from importlib.resources import files
from typing import Any

import yaml
from pydantic import BaseModel

from genenv_verl.config.allowed import allowed_values, block_of
from genenv_verl.config.settings import PRESETS, Settings

_KEY = re.compile(r"^( +)([a-z_]+):(?: |$)")
_COMMENT = re.compile(r"^ +# ?(.*)$")


def configuration_table() -> str:
    """The block as a markdown table: key, default, allowed values, meaning (the comment in genenv.yaml)."""
    rows = _rows(Settings, default_block(), comments(yaml_text()), prefix="")
    return "\n".join(["| key | default | allowed | meaning |", "|---|---|---|---|", *rows]) + "\n"


def presets_table() -> str:
    """What each preset puts where the block says null, as a markdown table."""
    keys = list(PRESETS["paper"])
    head = [f"| preset | {' | '.join(f'`{key}`' for key in keys)} |", "|---" * (len(keys) + 1) + "|"]
    rows = [f"| `{name}` | {' | '.join(str(preset[key]) for key in keys)} |" for name, preset in PRESETS.items()]
    return "\n".join([*head, *rows]) + "\n"


def configuration_page() -> str:
    """The whole of docs/configuration.md."""
    return f"""<!-- written by: python -m genenv_verl.config.reference > docs/configuration.md -->
# Configuration

A run is verl's configuration plus the block `genenv`: every key below is set on the command line as
`genenv.<key>=<value>`. A value that is not allowed ends the run before any process is started, with the key, the value
and what is allowed. What is not named here is verl's own; `genenv_verl/config/genenv.yaml` shows which of verl's
defaults change and why.

{configuration_table()}
## Presets

`genenv.preset` fills the keys that are null:

{presets_table()}"""


def default_block() -> dict[str, Any]:
    """The ``genenv`` block of genenv.yaml."""
    return yaml.safe_load(yaml_text())["genenv"]


def yaml_text() -> str:
    """The text of genenv.yaml."""
    return files("genenv_verl.config").joinpath("genenv.yaml").read_text(encoding="utf-8")


def comments(text: str) -> dict[str, str]:
    """The comment right above each key of the ``genenv`` block, by dotted key; a key without one is left out."""
    found: dict[str, str] = {}
    open_keys: list[tuple[int, str]] = []
    pending: list[str] = []
    for line in text[text.index("\ngenenv:\n") + 1 :].splitlines()[1:]:
        if comment := _COMMENT.match(line):
            pending.append(comment[1])
            continue
        if key := _KEY.match(line):
            indent = len(key[1])
            open_keys = [(column, name) for column, name in open_keys if column < indent] + [(indent, key[2])]
            if pending:
                found[".".join(name for _, name in open_keys)] = " ".join(pending)
        pending = []
    return found


def _rows(block: type[BaseModel], defaults: dict[str, Any], meanings: dict[str, str], prefix: str) -> list[str]:
    rows = []
    for name, field in block.model_fields.items():
        key = prefix + name
        inner = block_of(field.annotation)
        default = "" if inner else f"`{json.dumps(defaults[name])}`"
        allowed = "block" if inner else allowed_values(field.annotation, field.metadata)
        if not inner and defaults[name] is None and "null" not in allowed:
            allowed += " | null"  # filled in by the preset
        rows.append(f"| `{key}` | {_cell(default)} | {_cell(allowed)} | {_cell(meanings[key])} |")
        if inner:
            rows += _rows(inner, defaults[name], meanings, prefix=f"{key}.")
    return rows


def _cell(text: str) -> str:
    return text.replace("|", "\\|")


if __name__ == "__main__":
    print(configuration_page(), end="")
