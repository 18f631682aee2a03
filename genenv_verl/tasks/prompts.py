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
"""The prompts of both policies, rendered from Jinja templates.

A template is text with marker lines, ``<<system>>``, ``<<user>>`` or ``<<assistant>>``, each of which begins a message
of that role; text before any marker is the user's. Only the template's own lines are markers: a task that contains such
a line cannot open a role. Blank messages are left out. Two filters are there besides Jinja's own: ``json`` writes a
value as JSON, and ``percent`` a success rate in [0, 1] as ``37 %``, None as ``unknown``.

Templates are the user's and run in Jinja's sandbox; what they render comes from models and is never a template itself.
"""

from __future__ import annotations

import json
import re
import secrets
import traceback
from pathlib import Path
from typing import Any

import jinja2
from jinja2 import meta, nodes
from jinja2.sandbox import SandboxedEnvironment

from genenv_verl.tasks.schema import Task

TEMPLATES = Path(__file__).with_name("templates")

_MARKER = re.compile(r"^<<(system|user|assistant)>>[ \t]*$", re.MULTILINE)


class TemplateError(ValueError):
    """A prompt template is missing or broken; the message names file and line."""


class EnvironmentPrompt:
    """What the environment policy is asked.

    The template reads ``seed`` (the seed task with all its fields, the gold among them: it is the example), ``example``
    (the seed in the form that the environment has to write), ``seed_success``, ``family_success``, ``overall_success``
    (None when unknown) and ``target_success``.

    Args:
        template_file: Path of the template, None for the package's own.

    Raises:
        TemplateError: The template is missing or broken, or reads a variable that it is not given.
    """

    _VARIABLES = {"seed", "example", "seed_success", "family_success", "overall_success", "target_success"}

    def __init__(self, template_file: str | None = None):
        self._template = _MessageTemplate(Path(template_file or TEMPLATES / "environment.jinja"), self._VARIABLES)

    def messages(
        self,
        seed: Task,
        *,
        seed_success: float | None,
        family_success: float | None,
        overall_success: float | None,
        target_success: float,
    ) -> list[dict[str, str]]:
        """The messages that ask for one variation of a seed task.

        Args:
            seed: The seed task.
            seed_success: The agent's recent success rate at this seed's tasks in [0, 1], None if unknown.
            family_success: The same over the seed's family.
            overall_success: The same over all tasks.
            target_success: α, the success rate that the environment is paid for.

        Raises:
            TemplateError: The template fails on this task.
        """
        return self._template.messages(
            seed=seed.model_dump(),
            example=_example(seed),
            seed_success=seed_success,
            family_success=family_success,
            overall_success=overall_success,
            target_success=target_success,
        )


class AgentPrompt:
    """What the agent is asked.

    The template reads ``task``: ``task_id``, ``family`` and ``context``. Gold and evaluation are not handed to it, so
    that no template can show them.

    Args:
        template_file: Path of the template, None for the package's own.

    Raises:
        TemplateError: The template is missing or broken, or reads a variable that it is not given.
    """

    def __init__(self, template_file: str | None = None):
        self._template = _MessageTemplate(Path(template_file or TEMPLATES / "agent.jinja"), {"task"})

    def messages(self, task: Task) -> list[dict[str, str]]:
        """The messages that put a task to the agent.

        Raises:
            TemplateError: The template fails on this task.
        """
        return self._template.messages(task=task.model_dump(include={"task_id", "family", "context"}))


def _example(seed: Task) -> dict[str, Any]:
    """A task in the form that ``generation.read_generation`` reads, without what stays as in the seed."""
    example: dict[str, Any] = {"goal": seed.context.goal}
    if seed.evaluation.checker is not None:
        example["checker"] = seed.evaluation.checker
    if seed.gold_action is not None:
        example["calls"] = [call.model_dump() for call in seed.gold_action]
    elif seed.evaluation.reference is not None:
        example["answer"] = seed.evaluation.reference
    return example


class _MessageTemplate:
    """A template file that renders to chat messages."""

    def __init__(self, path: Path, variables: set[str]):
        self._path = path
        # A word that no value can contain takes the markers' place, so that values cannot bring markers of their own.
        self._mark = secrets.token_hex(16)
        try:
            source = path.read_text(encoding="utf-8")
        except (OSError, UnicodeDecodeError) as error:
            raise TemplateError(f"{path}: the template cannot be read: {error}") from error
        source = _MARKER.sub(lambda marker: f"{self._mark}{marker[1]}{self._mark}", source)
        try:
            tree = _JINJA.parse(source, filename=str(path))
            self._template = _JINJA.from_string(source)
        except jinja2.TemplateSyntaxError as error:
            raise TemplateError(f"{path}, line {error.lineno}: {error.message}") from error
        if unknown := meta.find_undeclared_variables(tree) - variables:
            line, name = min((node.lineno, node.name) for node in tree.find_all(nodes.Name) if node.name in unknown)
            raise TemplateError(f"{path}, line {line}: {name!r} is unknown; the template is given {sorted(variables)}")

    def messages(self, **values: Any) -> list[dict[str, str]]:
        try:
            rendered = self._template.render(values)
        except (jinja2.TemplateError, TypeError, ValueError) as error:
            frames = traceback.extract_tb(error.__traceback__)
            lines = [frame.lineno for frame in frames if frame.filename == "<template>"]
            place = f"{self._path}, line {lines[-1]}" if lines else str(self._path)
            raise TemplateError(f"{place}: {error}") from error
        first, *rest = rendered.split(self._mark)
        turns = [("user", first), *zip(rest[::2], rest[1::2], strict=True)]
        messages = [{"role": role, "content": text.strip()} for role, text in turns if text.strip()]
        if not messages:
            raise TemplateError(f"{self._path}: the template renders to nothing")
        return messages


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)


def _percent(rate: float | None) -> str:
    return "unknown" if rate is None else f"{100 * rate:.0f} %"


_JINJA = SandboxedEnvironment(undefined=jinja2.StrictUndefined, trim_blocks=True, lstrip_blocks=True, autoescape=False)
_JINJA.filters["json"] = _json
_JINJA.filters["percent"] = _percent
