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
"""Jinja templates that render to chat messages.

A template is text with marker lines, ``<<system>>``, ``<<user>>`` or ``<<assistant>>``, each of which begins a message
of that role; text before any marker is the user's. Only the template's own lines are markers: a task that contains such
a line cannot open a role. Blank messages are left out. Two filters are there besides Jinja's own: ``json`` writes a
value as JSON, and ``percent`` a success rate in [0, 1] as ``37 %``, None as ``unknown``.

A template may extend and include others of its folder, and of the folders that stand behind it. Templates are the
user's and run in Jinja's sandbox; what they render comes from models and is never a template itself.
"""

from __future__ import annotations

import json
import re
import secrets
import traceback
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import jinja2
from jinja2 import meta, nodes
from jinja2.sandbox import SandboxedEnvironment

_MARKER = re.compile(r"^<<(system|user|assistant)>>[ \t]*$", re.MULTILINE)
# A word that no value can contain takes the markers' place, so that values cannot bring markers of their own.
_MARK = secrets.token_hex(16)


class TemplateError(ValueError):
    """A prompt template is missing or broken; the message names file and line."""


class MessageTemplate:
    """A template file that renders to chat messages.

    Args:
        path: The template.
        variables: What it may read.
        behind: Folders of templates that it may extend or include besides its own folder's.

    Raises:
        TemplateError: The template, or one that it builds on, is missing or broken, or reads another variable.
    """

    def __init__(self, path: Path, variables: set[str], behind: Sequence[Path] = ()):
        self._path = path
        self._folders = [path.parent, *behind]
        self._jinja = _JINJA.overlay(loader=_MarkedLoader(self._folders), auto_reload=False, cache_size=16)
        try:
            for place, tree in self._trees(path.name):
                _check_variables(place, tree, variables)
            self._template = self._jinja.get_template(path.name)
        except jinja2.TemplateNotFound as error:
            raise TemplateError(f"{path}: the template cannot be read: {error.name!r} is not there") from error
        except jinja2.TemplateSyntaxError as error:
            raise TemplateError(f"{error.filename or path}, line {error.lineno}: {error.message}") from error
        except (OSError, UnicodeDecodeError) as error:
            raise TemplateError(f"{path}: the template cannot be read: {error}") from error

    def messages(self, **values: Any) -> list[dict[str, str]]:
        """Renders the template.

        Raises:
            TemplateError: The template fails on these values.
        """
        try:
            rendered = self._template.render(values)
        except (jinja2.TemplateError, TypeError, ValueError) as error:
            raise TemplateError(f"{self._place_of(error)}: {error}") from error
        first, *rest = rendered.split(_MARK)
        turns = [("user", first), *zip(rest[::2], rest[1::2], strict=True)]
        messages = [{"role": role, "content": text.strip()} for role, text in turns if text.strip()]
        if not messages:
            raise TemplateError(f"{self._path}: the template renders to nothing")
        return messages

    def _trees(self, name: str) -> Iterator[tuple[str, nodes.Template]]:
        """The template and all that it builds on, with their files."""
        names = [name]
        for name in names:
            source, place, _ = self._jinja.loader.get_source(self._jinja, name)
            tree = self._jinja.parse(source, filename=place)
            names += [other for other in meta.find_referenced_templates(tree) if other and other not in names]
            yield place, tree

    def _place_of(self, error: Exception) -> str:
        """The line of a template at which rendering failed."""
        folders = set(map(str, self._folders))
        frames = [frame for frame in traceback.extract_tb(error.__traceback__) if _folder(frame.filename) in folders]
        return f"{frames[-1].filename}, line {frames[-1].lineno}" if frames else str(self._path)


class _MarkedLoader(jinja2.FileSystemLoader):
    """Reads templates, their marker lines made unforgeable."""

    def get_source(self, environment: jinja2.Environment, template: str) -> tuple[str, str, Any]:
        source, place, is_current = super().get_source(environment, template)
        return _MARKER.sub(lambda marker: f"{_MARK}{marker[1]}{_MARK}", source), place, is_current


def _folder(file: str) -> str:
    return str(Path(file).parent)


def _check_variables(place: str, tree: nodes.Template, variables: set[str]) -> None:
    if unknown := meta.find_undeclared_variables(tree) - variables:
        line, name = min((node.lineno, node.name) for node in tree.find_all(nodes.Name) if node.name in unknown)
        raise TemplateError(f"{place}, line {line}: {name!r} is unknown; the template is given {sorted(variables)}")


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)


def _percent(rate: float | None) -> str:
    return "unknown" if rate is None else f"{100 * rate:.0f} %"


_JINJA = SandboxedEnvironment(undefined=jinja2.StrictUndefined, trim_blocks=True, lstrip_blocks=True, autoescape=False)
_JINJA.filters["json"] = _json
_JINJA.filters["percent"] = _percent
