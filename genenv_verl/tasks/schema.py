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
"""The task instance: what the environment policy writes and the agent attempts (SPEC of the paper's section 2.3).

A task has a context that the agent may read and an evaluation (with the gold) that only the reward may read. The two
halves stay apart everywhere: the context becomes verl's ``prompt``, the evaluation becomes verl's
``reward_model.ground_truth``, and nothing of the second is ever copied into the first.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, JsonValue, ValidationError, model_validator

SCHEMA_VERSION = 1

# Version n -> a function that makes a record of version n + 1 of it. A new schema version adds its step here, and every
# older file stays readable.
UPGRADES: dict[int, Callable[[dict[str, Any]], dict[str, Any]]] = {}

EvaluationKind = Literal["exact_match", "reference_answer", "checker"]


def _portable(value: dict[str, JsonValue]) -> dict[str, JsonValue]:
    """Refuses what JSON and UTF-8 cannot carry: a task must survive every writer (ValueError otherwise)."""
    _ENCODER.encode(value).encode()
    return value


_ENCODER = json.JSONEncoder(ensure_ascii=False, allow_nan=False)


# Pydantic's JsonValue lets NaN and lone surrogates pass.
JsonObject = Annotated[dict[str, JsonValue], AfterValidator(_portable)]


class _Record(BaseModel):
    """Base of all records: unknown keys are an error, so that a misspelt field cannot vanish silently."""

    model_config = ConfigDict(extra="forbid")


class ToolCall(_Record):
    """One structured action: a tool's name and its arguments."""

    name: str = Field(min_length=1)
    arguments: JsonObject = Field(default_factory=dict)

    @classmethod
    def of_json(cls, name: str, arguments: dict[str, Any]) -> ToolCall:
        """A call made of what ``json_reader`` read, which checked all that this class would check again.

        By the protocol of pickling, since ``model_construct`` takes several times as long, and scoring makes one for
        every call of every response.
        """
        call = cls.__new__(cls)
        call.__setstate__(
            {
                "__dict__": {"name": name, "arguments": arguments},
                "__pydantic_fields_set__": {"name", "arguments"},
                "__pydantic_extra__": None,
                "__pydantic_private__": None,
            }
        )
        return call


class FunctionSpec(_Record):
    """The ``function`` part of a tool specification in the OpenAI / Hugging Face form."""

    model_config = ConfigDict(extra="allow")

    name: str = Field(min_length=1)
    description: str = ""
    parameters: JsonObject = Field(default_factory=lambda: {"type": "object", "properties": {}})


class ToolSpec(_Record):
    """A tool specification: ``{"type": "function", "function": {"name", "description", "parameters"}}``.

    A bare function, ``{"name", "description", "parameters"}``, is read as well.
    """

    type: Literal["function"] = "function"
    function: FunctionSpec

    @model_validator(mode="before")
    @classmethod
    def _of_bare_function(cls, tool: Any) -> Any:
        return {"function": tool} if isinstance(tool, dict) and "name" in tool and "function" not in tool else tool

    @property
    def name(self) -> str:
        return self.function.name


class Message(_Record):
    """An earlier turn of the dialogue, a tool's result among them."""

    role: Literal["system", "user", "assistant", "tool"]
    content: str


class Context(_Record):
    """Everything the agent may read: system text, tools, constraints, earlier turns and the goal."""

    system: str = ""
    tools: list[ToolSpec] = Field(default_factory=list)
    constraints: list[str] = Field(default_factory=list)
    history: list[Message] = Field(default_factory=list)
    goal: str = Field(min_length=1)


class Evaluation(_Record):
    """How a response is scored. Read by the reward alone.

    ``exact_match`` compares with the task's ``gold_action``; ``reference_answer`` compares text with ``reference``;
    ``checker`` is Python source that runs in the sandbox only.
    """

    kind: EvaluationKind = "exact_match"
    reference: str | None = None
    checker: str | None = None
    success_threshold: float = Field(default=1.0, gt=0.0, le=1.0)

    @model_validator(mode="after")
    def _has_what_its_kind_needs(self) -> Evaluation:
        if self.kind == "reference_answer" and not self.reference:
            raise ValueError("evaluation of kind 'reference_answer' needs a non-empty 'reference'")
        if self.kind == "checker" and not self.checker:
            raise ValueError("evaluation of kind 'checker' needs the source in 'checker'")
        return self


class Generator(_Record):
    """Who wrote a task, so that every task can be traced. ``step`` is the environment's weight version."""

    model: str
    step: int = Field(ge=0)
    sampling: JsonObject = Field(default_factory=dict)


class Task(_Record):
    """A single-step task instance."""

    version: int = SCHEMA_VERSION
    task_id: str = Field(min_length=1)
    seed_id: str | None = None
    epoch: int | None = Field(default=None, ge=0)
    family: str = "default"
    generator: Generator | None = None
    context: Context
    evaluation: Evaluation = Field(default_factory=Evaluation)
    gold_action: list[ToolCall] | None = None

    @model_validator(mode="before")
    @classmethod
    def _upgrade(cls, record: Any) -> Any:
        """Brings a record of an older schema version up to date; refuses a newer one."""
        if not isinstance(record, dict) or not isinstance(version := record.get("version", SCHEMA_VERSION), int):
            return record  # Pydantic names the problem.
        if version > SCHEMA_VERSION:
            raise ValueError(
                f"task schema version {version} is newer than {SCHEMA_VERSION}, the newest that this genenv_verl reads"
            )
        for step in range(version, SCHEMA_VERSION):
            if step not in UPGRADES:
                raise ValueError(f"task schema version {step} is unknown: there is no way from it to {SCHEMA_VERSION}")
            record = {**UPGRADES[step](record), "version": step + 1}
        return record

    @model_validator(mode="after")
    def _exact_match_has_gold(self) -> Task:
        if self.evaluation.kind == "exact_match" and self.gold_action is None:
            raise ValueError("evaluation of kind 'exact_match' needs 'gold_action' (an empty list means: no call)")
        return self

    def ground_truth(self) -> dict[str, Any]:
        """What the reward reads: the evaluation, the gold, the tools (for declared defaults) and the goal.

        The goal is there to refuse an echo of it; nothing in it can score.
        """
        return {
            "evaluation": self.evaluation.model_dump(exclude_none=True),
            "gold_action": None if self.gold_action is None else [call.model_dump() for call in self.gold_action],
            "tools": [tool.model_dump() for tool in self.context.tools],
            "goal": self.context.goal,
        }


def first_problem(error: ValidationError) -> str:
    """The first problem of a record in one line: where, and what."""
    problem = error.errors(include_url=False, include_input=False)[0]
    return f"{'.'.join(map(str, problem['loc'])) or 'record'}: {problem['msg']}"
