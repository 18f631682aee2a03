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
"""Cutting long tool lists down to a budget of tokens, least useful parts first.

Descriptions go before parameters, and the tools that the seed's gold calls are never touched: without them the example
could not be understood. What is cut is cut from the environment's prompt alone; the task keeps its tools.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from typing import Any

MAX_DESCRIPTION_CHARS = 80

Messages = list[dict[str, str]]
Tool = dict[str, Any]


@dataclass(frozen=True)
class TokenBudget:
    """How long a prompt may be.

    Attributes:
        max_tokens: Its limit in tokens, > 0.
        count: The tokens of chat messages.
    """

    max_tokens: int
    count: Callable[[Messages], int]


def fit_tools(
    tools: Sequence[Tool], kept: Collection[str], render: Callable[[list[Tool]], Messages], budget: TokenBudget
) -> Messages:
    """The messages with as much of the tools as the budget has room for.

    Args:
        tools: Tool specifications, as JSON objects.
        kept: Names of the tools that are not cut.
        render: The messages with given tools.
        budget: The limit. Messages that exceed it even with all cuts come back with all cuts.
    """
    least, most = 0, (len(_STAGES) + 1) * sum(tool["function"]["name"] not in kept for tool in tools)
    messages = render(list(tools))
    if budget.count(messages) <= budget.max_tokens:
        return messages
    messages = render(cut_tools(tools, kept, most))
    while most - least > 1:
        middle = (least + most) // 2
        tried = render(cut_tools(tools, kept, middle))
        if budget.count(tried) <= budget.max_tokens:
            most, messages = middle, tried
        else:
            least = middle
    return messages


def cut_tools(tools: Sequence[Tool], kept: Collection[str], amount: int) -> list[Tool]:
    """The tools after a number of cuts.

    Args:
        tools: Tool specifications.
        kept: Names of the tools that are not cut.
        amount: Cuts, from 0. Each takes one tool one stage further, the last tool first, and all pass one stage before
            any passes the next: a short description, no descriptions, the parameters' names and types alone, gone.
    """
    cuttable = [place for place, tool in enumerate(tools) if tool["function"]["name"] not in kept]
    if not cuttable:
        return list(tools)
    rounds, further = divmod(amount, len(cuttable))
    stages = dict.fromkeys(cuttable, rounds) | dict.fromkeys(cuttable[len(cuttable) - further :], rounds + 1)
    left = [_cut(tool, stages.get(place, 0)) for place, tool in enumerate(tools)]
    return [tool for tool in left if tool is not None]


def _cut(tool: Tool, stage: int) -> Tool | None:
    if stage > len(_STAGES):
        return None
    return {**tool, "function": _STAGES[stage - 1](tool["function"])} if stage else tool


def _short_description(function: Tool) -> Tool:
    text = (function.get("description") or "").split(". ", 1)[0]
    short = text if len(text) <= MAX_DESCRIPTION_CHARS else text[:MAX_DESCRIPTION_CHARS] + "…"
    return {**function, "description": short}


def _names_and_types(function: Tool) -> Tool:
    parameters = function.get("parameters") or {}
    declared = parameters.get("properties")
    properties = {
        name: {"type": schema["type"]} if isinstance(schema, dict) and "type" in schema else {}
        for name, schema in (declared.items() if isinstance(declared, dict) else ())
    }
    required = {key: parameters[key] for key in ("required",) if key in parameters}
    return {"name": function["name"], "parameters": {"type": "object", "properties": properties, **required}}


def _without_descriptions(value: Any) -> Any:
    """A schema without its texts. A parameter that is called "description" is no text but a schema."""
    if isinstance(value, dict):
        kept = {key: inner for key, inner in value.items() if key != "description" or not isinstance(inner, str)}
        return {key: _without_descriptions(inner) for key, inner in kept.items()}
    return [_without_descriptions(inner) for inner in value] if isinstance(value, list) else value


# Stage by stage, what is left of a function; after the last one the tool is gone.
_STAGES: tuple[Callable[[Tool], Tool], ...] = (_short_description, _without_descriptions, _names_and_types)
