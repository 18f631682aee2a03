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
"""What both policies are asked, rendered from templates (see ``message_template``)."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from genenv_verl.tasks.message_template import MessageTemplate, TemplateError
from genenv_verl.tasks.schema import EvaluationKind, Task
from genenv_verl.tasks.tool_budget import Messages, TokenBudget, fit_tools

__all__ = ["AgentPrompt", "EnvironmentPrompt", "TemplateError", "TokenBudget"]

TEMPLATES = Path(__file__).with_name("templates")
ENVIRONMENT_TEMPLATES = TEMPLATES / "environment"

# By how the seed's answers are scored: the kind of task that is asked for.
TEMPLATE_OF_KIND: dict[EvaluationKind, str] = {
    "exact_match": "tool_calls.jinja",
    "reference_answer": "question.jinja",
    "checker": "checker.jinja",
}


class EnvironmentPrompt:
    """What the environment policy is asked.

    A template reads ``seed`` (the seed task with all its fields, the gold among them: it is the example), ``example``
    (the seed in the form that the environment has to write), ``seed_success``, ``family_success``, ``overall_success``
    (None when unknown), ``target_success`` and ``offer_checkers``.

    Args:
        template: A template file, for seeds of all kinds; or a folder with templates named as in ``TEMPLATE_OF_KIND``,
            of which those that are missing are the package's; or None for the package's own.
        offer_checkers: Whether seeds without a checker may be varied into tasks with one.
        budget: The limit in tokens. A longer prompt has its tools cut, see ``tool_budget``. None: no limit.

    Raises:
        TemplateError: A template is missing or broken, or reads a variable that it is not given.
    """

    _VARIABLES = {
        "seed", "example", "seed_success", "family_success", "overall_success", "target_success", "offer_checkers",
    }  # fmt: skip

    def __init__(self, template: str | None = None, *, offer_checkers: bool = False, budget: TokenBudget | None = None):
        self._offer_checkers = offer_checkers
        self._budget = budget
        self._templates = {
            kind: MessageTemplate(path, self._VARIABLES, behind=[ENVIRONMENT_TEMPLATES])
            for kind, path in _template_files(template).items()
        }

    def messages(
        self,
        seed: Task,
        *,
        seed_success: float | None,
        family_success: float | None,
        overall_success: float | None,
        target_success: float,
    ) -> Messages:
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
        shown = seed.model_dump()
        tools = shown["context"]["tools"]

        def render(cut: list[dict[str, Any]]) -> Messages:
            return self._templates[seed.evaluation.kind].messages(
                seed={**shown, "context": {**shown["context"], "tools": cut}},
                example=_example(seed),
                seed_success=seed_success,
                family_success=family_success,
                overall_success=overall_success,
                target_success=target_success,
                offer_checkers=self._offer_checkers,
            )

        if self._budget is None:
            return render(tools)
        return fit_tools(tools, {call.name for call in seed.gold_action or ()}, render, self._budget)


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
        self._template = MessageTemplate(Path(template_file or TEMPLATES / "agent.jinja"), {"task"})

    def messages(self, task: Task) -> list[dict[str, str]]:
        """The messages that put a task to the agent.

        Raises:
            TemplateError: The template fails on this task.
        """
        return self._template.messages(task=task.model_dump(include={"task_id", "family", "context"}))


def _template_files(template: str | None) -> dict[EvaluationKind, Path]:
    """The template file of each kind of seed."""
    own = {kind: ENVIRONMENT_TEMPLATES / name for kind, name in TEMPLATE_OF_KIND.items()}
    if template is None:
        return own
    path = Path(template).expanduser()
    if not path.is_dir():
        return dict.fromkeys(own, path)
    given = {kind: path / name for kind, name in TEMPLATE_OF_KIND.items() if (path / name).is_file()}
    if not given:
        raise TemplateError(f"{path}: the folder has none of {', '.join(TEMPLATE_OF_KIND.values())}")
    return own | given


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
