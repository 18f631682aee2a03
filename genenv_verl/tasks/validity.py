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
"""Which tasks may reach the agent: every rule is a small function with a reason of its own (SPEC section 3).

A new rule is a function that looks at a ``Candidate`` and returns what is wrong, or None::

    @rule("shouting")
    def goal_is_not_all_capitals(candidate: Candidate) -> str | None:
        return "the goal is all capitals" if candidate.task.context.goal.isupper() else None

Rules run in the order of their registration and the first complaint counts, so the cheap ones, and those that bound
the size of what the others read, stand first.
"""

from __future__ import annotations

import functools
import json
import re
import unicodedata
import zlib
from collections import Counter
from collections.abc import Callable, Container, Iterator
from dataclasses import dataclass
from typing import Any

import referencing
from jsonschema import Draft202012Validator
from rapidfuzz import fuzz
from referencing.exceptions import Unresolvable

from genenv_verl.tasks.generation import Rejection
from genenv_verl.tasks.novelty import fingerprint, normalise_text
from genenv_verl.tasks.schema import Task, ToolCall, ToolSpec
from genenv_verl.tasks.tool_calls import format_calls

MAX_SCHEMA_CHARS = 20_000
MAX_SCHEMA_DEPTH = 16  # The validator recurses, several frames a level.
MAX_FOREIGN_LETTERS = 0.2


@dataclass(frozen=True)
class ValidityFilter:
    """Accepts or rejects the environment's tasks.

    Attributes:
        max_prompt_tokens: Limit of the agent's prompt, in tokens.
        max_response_tokens: Limit of the agent's response, in tokens: the gold must fit.
        count_prompt_tokens: Counts the tokens of the agent's prompt for a task.
        count_response_tokens: Counts the tokens of a response text.
        seen: The fingerprints of this epoch's tasks and of the pools, usually a ``SeenTasks``. Read only: the caller
            adds what it takes.
        allow_checkers: Whether a sandbox can run checkers. Without one they are refused: a checker that cannot be
            tested scores nothing (fail closed).
        control_tokens: Texts of the tokenizer's special tokens. A chat template turns them into the tokens themselves,
            so a task that spells one could end the agent's turn or open a system turn.
    """

    max_prompt_tokens: int
    max_response_tokens: int
    count_prompt_tokens: Callable[[Task], int]
    count_response_tokens: Callable[[str], int]
    seen: Container[str]
    allow_checkers: bool = False
    control_tokens: frozenset[str] = frozenset()

    def check(self, task: Task, seed: Task) -> Rejection | None:
        """The first rule's complaint about a task that the environment wrote from ``seed``, or None if it is valid."""
        candidate = Candidate(task, seed, self)
        for reason, complaint_about in RULES.items():
            if (detail := complaint_about(candidate)) is not None:
                return Rejection(reason, detail)
        return None


@dataclass(frozen=True)
class Candidate:
    """What a rule may look at."""

    task: Task
    seed: Task
    limits: ValidityFilter


Rule = Callable[[Candidate], str | None]

RULES: dict[str, Rule] = {}


def rule(reason: str) -> Callable[[Rule], Rule]:
    """Registers a rule under the reason that is counted.

    Raises:
        ValueError: Another rule has this reason.
    """

    def register(function: Rule) -> Rule:
        if reason in RULES:
            raise ValueError(f"a validity rule with the reason {reason!r} exists already: {RULES[reason].__name__}")
        RULES[reason] = function
        return function

    return register


def gold_response(task: Task) -> str:
    """The text with which the agent would solve the task; empty if the task names no gold."""
    return format_calls(task.gold_action) if task.gold_action else task.evaluation.reference or ""


@rule("checker_unavailable")
def checker_can_run(candidate: Candidate) -> str | None:
    if candidate.task.evaluation.kind == "checker" and not candidate.limits.allow_checkers:
        return "no sandbox is configured that could run the checker"
    return None


@rule("control_token")
def _control_token(candidate: Candidate) -> str | None:
    context = candidate.task.context
    texts = [context.goal, context.system, *context.constraints, *(message.content for message in context.history)]
    texts += [json.dumps(tool.model_dump(), ensure_ascii=False) for tool in context.tools]
    for token in candidate.limits.control_tokens:
        if any(token in text for text in texts):
            return f"the text holds the special token {token!r}"
    return None


@rule("degenerate")
def goal_does_not_repeat_itself(candidate: Candidate) -> str | None:
    """A collapsing policy writes one word, line or phrase over and over."""
    goal = candidate.task.context.goal
    for unit, parts, fewest in (("word", goal.split(), 20), ("line", [*filter(str.strip, goal.splitlines())], 4)):
        if len(parts) >= fewest:
            part, count = Counter(parts).most_common(1)[0]
            if count > len(parts) / 2:
                return f"the {unit} {part[:40]!r} fills {count} of {len(parts)} {unit}s of the goal"
    raw = goal.encode()
    # Prose of any length compresses to a third or so.
    if len(raw) >= 200 and len(zlib.compress(raw)) < 0.1 * len(raw):
        return f"the goal of {len(goal)} characters repeats itself"
    return None


@rule("duplicate")
def is_new(candidate: Candidate) -> str | None:
    mark = fingerprint(candidate.task)
    if mark == fingerprint(candidate.seed):
        return "goal and gold are the seed's"
    return "an earlier task has this goal and gold" if mark in candidate.limits.seen else None


@rule("bad_tool_schema")
def tool_schemas_are_sound(candidate: Candidate) -> str | None:
    """Tool schemas must be JSON Schema; those that the environment wrote may not hold what can hang a validator.

    The seed's own tools come from the user and may use all of JSON Schema, without remote references.
    """
    tools = candidate.task.context.tools
    if len({tool.name for tool in tools}) != len(tools):
        return "two tools have the same name"
    trusted = candidate.seed.context.tools
    for tool in tools:
        parameters = tool.function.parameters
        if tool not in trusted and (keyword := _unsafe_keyword(parameters)) is not None:
            return f"{tool.name}: {keyword}"
        if (fault := _validator(_serialise(parameters)).fault) is not None:
            return f"{tool.name}: {fault}"
    return None


@rule("undeclared_tool")
def gold_uses_declared_tools(candidate: Candidate) -> str | None:
    declared = {tool.name for tool in candidate.task.context.tools}
    for call in candidate.task.gold_action or ():
        if call.name not in declared:
            return f"the gold calls {call.name!r}, declared are {sorted(declared)}"
    return None


@rule("gold_too_long")
def gold_fits_the_response(candidate: Candidate) -> str | None:
    count = candidate.limits.count_response_tokens(gold_response(candidate.task))
    if count > candidate.limits.max_response_tokens:
        return f"{count} tokens, at most {candidate.limits.max_response_tokens}"
    return None


@rule("bad_arguments")
def gold_satisfies_the_tool_schemas(candidate: Candidate) -> str | None:
    """A gold that breaks its own schema gives p = 0 for ever and looks like a hard task."""
    tools = {tool.name: tool for tool in candidate.task.context.tools}
    for call in candidate.task.gold_action or ():
        if (fault := _argument_fault(call, tools[call.name])) is not None:
            return f"{call.name}: {fault}"
    return None


@rule("gold_in_prompt")
def gold_is_not_in_the_prompt(candidate: Candidate) -> str | None:
    """A task whose prompt spells out its gold measures copying.

    Looked for are the gold's calls, as JSON or as a call expression, and in the goal also the bare arguments object.
    """
    context = candidate.task.context
    texts = (context.goal, context.system, *context.constraints, *(message.content for message in context.history))
    # Only these can hold a serialised call.
    prompts = [_squeeze(text) for text in texts if "{" in text or "(" in text]
    if prompts:
        for call in candidate.task.gold_action or ():
            if any(form in prompt for form in _spellings(call) for prompt in prompts):
                return f"the call of {call.name} stands in the prompt"
            if call.arguments and any(form in _squeeze(context.goal) for form in _argument_spellings(call)):
                return f"the arguments of {call.name} stand in the goal"
    reference = normalise_text(candidate.task.evaluation.reference or "")
    # A short reference ("yes", "Rome or Paris") stands in many a fair question.
    if len(reference) >= 24 and any(reference in normalise_text(text) for text in texts):
        return "the reference answer stands in the prompt"
    return None


@rule("reference_too_short")
def reference_says_something(candidate: Candidate) -> str | None:
    reference = candidate.task.evaluation.reference
    if reference is not None and not any(character.isalnum() for character in reference):
        return f"the reference {reference[:40]!r} has neither a letter nor a digit"
    return None


@rule("indiscriminate")
def evaluation_rejects_empty_answers(candidate: Candidate) -> str | None:
    """An evaluation must fail responses that solve nothing: silence, an echo of the goal, a refusal."""
    task = candidate.task
    if task.evaluation.kind == "exact_match" and not task.gold_action and candidate.seed.gold_action != []:
        return "every answer without a call would succeed, and the seed wants a call or an answer"
    if task.evaluation.kind != "reference_answer":
        return None
    reference = normalise_text(task.evaluation.reference or "")
    limit = 100 * task.evaluation.success_threshold
    for name, probe in (("an empty answer", ""), ("the goal itself", task.context.goal), ("a refusal", _REFUSAL)):
        if fuzz.ratio(normalise_text(probe), reference, score_cutoff=limit) >= limit:
            return f"{name} would reach the threshold {task.evaluation.success_threshold:g}"
    return None


@rule("language_mismatch")
def goal_is_in_the_seed_language(candidate: Candidate) -> str | None:
    """At most 20 % of the goal's letters may be of scripts that the seed does not use; quoted text is not counted."""
    seed, goal = candidate.seed.context, candidate.task.context.goal
    texts = (seed.goal, seed.system, *seed.constraints, *(message.content for message in seed.history))
    familiar = frozenset().union(*map(_scripts, texts))
    if not familiar or (goal.isascii() and "LATIN" in familiar):
        return None
    if "KANA" in familiar:  # Japanese is written in kana and ideographs.
        familiar |= {"CJK"}
    # A goal that is one long quotation is judged as a whole.
    letters = _letters(_QUOTED.sub(" ", goal)) or _letters(goal)
    foreign = {letter: count for letter, count in letters.items() if _script(letter) not in familiar}
    share = sum(foreign.values()) / max(letters.total(), 1)
    if share <= MAX_FOREIGN_LETTERS:
        return None
    return f"{share:.0%} of the goal's letters are {', '.join(sorted({_script(letter) for letter in foreign}))}"


@rule("prompt_too_long")
def prompt_fits(candidate: Candidate) -> str | None:
    # The last rule: rendering and tokenising the prompt costs more than all the others.
    count = candidate.limits.count_prompt_tokens(candidate.task)
    if count > candidate.limits.max_prompt_tokens:
        return f"{count} tokens, at most {candidate.limits.max_prompt_tokens}"
    return None


# ---------------------------------------------------------------------------------------------------- tool schemas

# "$ref" and its kin can recurse without end or fetch a page, "pattern" can take exponential time in a regular
# expression, "unevaluated…" in the nesting, "uniqueItems" quadratic time in the gold. The environment needs none of
# them to describe a tool, so a schema of its own that has one is refused rather than run under a time limit.
_UNSAFE_KEYWORDS = {"pattern", "patternProperties", "uniqueItems", "unevaluatedProperties", "unevaluatedItems"}
_SAFE_DOLLAR_KEYWORDS = {"$comment"}
# Under these keywords the keys are names that the tool's author chose, not keywords of JSON Schema.
_NAMED_SCHEMAS = {"properties", "definitions", "dependentSchemas"}
_PLAIN_VALUES = {"enum", "const", "default", "examples"}


def _unsafe_keyword(schema: Any, depth: int = 0) -> str | None:
    """What a schema of the environment may not hold, or None."""
    if depth > MAX_SCHEMA_DEPTH:
        return f"nested deeper than {MAX_SCHEMA_DEPTH}"
    if isinstance(schema, list):
        inner: Iterator[Any] = iter(schema)
    elif isinstance(schema, dict):
        for key in schema:
            if key in _UNSAFE_KEYWORDS or (key.startswith("$") and key not in _SAFE_DOLLAR_KEYWORDS):
                return f"the keyword {key!r} is not allowed"
        kinds = schema.get("type", "object")
        if not all(isinstance(kind, str) for kind in (kinds if isinstance(kinds, list) else [kinds])):
            return "a type is a name or a list of names"  # The validator compares other lists pair by pair.
        inner = (
            value
            for key, child in schema.items()
            if key not in _PLAIN_VALUES
            for value in (child.values() if key in _NAMED_SCHEMAS and isinstance(child, dict) else (child,))
        )
    else:
        return None
    return next((found for child in inner if (found := _unsafe_keyword(child, depth + 1)) is not None), None)


_META_VALIDATOR = Draft202012Validator(Draft202012Validator.META_SCHEMA)


@dataclass(frozen=True)
class _Validator:
    """A tool's validator, or why there is none."""

    schema: Draft202012Validator | None
    fault: str | None


@functools.lru_cache(maxsize=1024)
def _validator(serialised: str) -> _Validator:
    """Builds the validator of a tool's parameters, once per specification: checking a schema takes milliseconds."""
    if len(serialised) > MAX_SCHEMA_CHARS:
        return _Validator(None, f"{len(serialised)} characters, at most {MAX_SCHEMA_CHARS}")
    parameters = json.loads(serialised)
    if parameters.get("type", "object") != "object":
        return _Validator(None, f"parameters of type {parameters['type']!r} instead of 'object'")
    # The first fault is enough; ``check_schema`` looks for all, in quadratic time for some.
    if (error := next(_META_VALIDATOR.iter_errors(parameters), None)) is not None:
        return _Validator(None, f"no JSON Schema: {error.message}")
    # An empty registry resolves references within the schema and fetches nothing.
    return _Validator(Draft202012Validator(parameters, registry=referencing.Registry()), None)


def _serialise(parameters: dict[str, Any]) -> str:
    return json.dumps(parameters, sort_keys=True)


def _argument_fault(call: ToolCall, tool: ToolSpec) -> str | None:
    """Why a call does not satisfy its tool's schema, or None."""
    parameters = tool.function.parameters
    declared = parameters.get("properties")
    if isinstance(declared, dict) and not parameters.get("additionalProperties", False):
        # JSON Schema allows undeclared arguments by default; a tool does not.
        unknown = sorted(call.arguments.keys() - declared.keys())
        if unknown and not parameters.get("patternProperties"):
            return f"unknown argument {unknown[0]!r}"
    try:
        error = next(_validator(_serialise(parameters)).schema.iter_errors(call.arguments), None)
    except Unresolvable as missing:
        return f"the schema refers to what it does not contain: {missing}"
    except RecursionError:
        return "the arguments are nested too deep for the schema"
    return None if error is None else error.message


# ---------------------------------------------------------------------------------------------------- gold in prompt


@functools.lru_cache(maxsize=256)
def _squeeze(text: str) -> str:
    """The text without blanks and with one kind of quote: how a serialised value is set does not matter."""
    return "".join(text.split()).replace("'", '"')


def _argument_spellings(call: ToolCall) -> set[str]:
    return {
        _squeeze(json.dumps(call.arguments, ensure_ascii=False, sort_keys=sort_keys)) for sort_keys in (False, True)
    }


def _spellings(call: ToolCall) -> set[str]:
    named = {
        f'"name":"{call.name}","{key}":{arguments}'
        for arguments in _argument_spellings(call)
        for key in ("arguments", "parameters")
    }
    keywords = ",".join(f"{key}={json.dumps(value, ensure_ascii=False)}" for key, value in call.arguments.items())
    return named | {_squeeze(f"{call.name}({keywords})")}


# ---------------------------------------------------------------------------------------------------------- language

_REFUSAL = "I'm sorry, but I can't help with that."
# Each pattern stops at the next quote of its kind, which keeps the search linear.
_QUOTED = re.compile(
    r"(?<!\w)'[^'\n]*'(?!\w)|\"[^\"\n]*\"|“[^“”]*”|‘[^‘’]*’|«[^«»]*»|「[^「」]*」|『[^『』]*』|`[^`\n]*`"
)


def _letters(text: str) -> Counter[str]:
    return Counter({letter: count for letter, count in Counter(text).items() if letter.isalpha()})


@functools.lru_cache(maxsize=1024)
def _scripts(text: str) -> frozenset[str]:
    return frozenset(_script(character) for character in set(text) if character.isalpha())


@functools.lru_cache(maxsize=16_384)
def _script(letter: str) -> str:
    """The writing system of a letter, as the first word of its Unicode name says it."""
    name = unicodedata.name(letter, "UNKNOWN").removeprefix("FULLWIDTH ").removeprefix("HALFWIDTH ")
    script = re.split(r"[ -]", name, maxsplit=1)[0]
    return "KANA" if script in {"HIRAGANA", "KATAKANA"} else script
