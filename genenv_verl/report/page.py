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
"""The page itself: a template, its style and script, and data that cannot become markup."""

from __future__ import annotations

import base64
import hashlib
import json
from importlib import resources
from typing import Any

import jinja2
from markupsafe import Markup

from genenv_verl.report.task_text import printable

_ESCAPES = {ord(character): f"\\u{ord(character):04x}" for character in "<>&\u2028\u2029"}


def embedded_json(value: Any) -> Markup:
    """JSON for the inside of a script element: no character of it can end the element or start a comment.

    Raises:
        ValueError: The value holds NaN or an infinity.
    """
    text = json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    return Markup(text.translate(_ESCAPES))


def content_policy(script: str, *, has_part_files: bool, is_live: bool) -> str:
    """The page's Content-Security-Policy: nothing is loaded from anywhere, only our own script runs.

    With part files that script may load them (``strict-dynamic``); a live page may ask its own server.
    """
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    dynamic = " 'strict-dynamic'" if has_part_files else ""
    connect = "'self'" if is_live else "'none'"
    return (
        f"default-src 'none'; script-src 'sha256-{digest}'{dynamic}; style-src 'unsafe-inline'; img-src data:; "
        f"connect-src {connect}; base-uri 'none'; form-action 'none'"
    )


SCRIPTS = ("elements", "parts", "filters", "task_list", "task_detail", "controls", "live", "start")


def page_script() -> str:
    """The page's one script: its files in a block of their own, so that no name of theirs is global."""
    assets = resources.files("genenv_verl.report") / "assets"
    files = [(assets / f"{name}.js").read_text(encoding="utf-8") for name in SCRIPTS]
    return "\n".join(['"use strict";', "{", *files, "}"])


def render_page(*, data: dict[str, Any], has_part_files: bool, is_live: bool, **content: Any) -> str:
    """The HTML of the report.

    Args:
        data: What the script reads: runs, epochs and where their parts are.
        has_part_files: Whether the parts lie in files beside the page.
        is_live: Whether the page asks its server for changes.
        content: What the template shows: ``title``, ``made``, ``runs``, ``comparison``, ``groups``, ``parts``.
    """
    assets = resources.files("genenv_verl.report") / "assets"
    script = page_script()
    environment = jinja2.Environment(
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        finalize=lambda value: printable(value) if type(value) is str else value,
    )
    template = environment.from_string((assets / "report.html.jinja").read_text(encoding="utf-8"))
    return template.render(
        policy=content_policy(script, has_part_files=has_part_files, is_live=is_live),
        script=Markup(script),
        style=Markup((assets / "report.css").read_text(encoding="utf-8")),
        data=embedded_json(data),
        **content,
    )
