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
"""BFCL's AST check of calls against possible answers, for Python: the rules of ``bfcl-eval`` 2026.3.23.

Written anew, because the official module cannot be imported without the client libraries of a dozen vendors. It copies
the official behaviour where that surprises, too; a check returns the official ``error_type``, or None for a match.

The rules: an int may stand for a float, a float never for an int, and a bool is no number; strings are compared without
blanks, ``, . / - _ * ^``, case and kind of quotes; a list's order matters, that of parallel calls does not; ``""``
among the possible values of a parameter makes it optional; a parameter without possible values fails.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

Functions = Sequence[Mapping[str, Any]]
Calls = Sequence[Mapping[str, Any]]

_TYPES: dict[str, type] = {
    "string": str,
    "integer": int,
    "float": float,
    "boolean": bool,
    "array": list,
    "tuple": list,
    "dict": dict,
    "any": str,
}
_NESTED = ("array", "tuple")
_IGNORED = re.compile(r"[ ,./\-_*^]")

SIMPLE, MULTIPLE, PARALLEL = (
    "simple_function_checker",
    "multiple_function_checker",
    "parallel_function_checker_no_order",
)


def check_calls(functions: Functions, calls: Calls, answers: Calls, category: str) -> str | None:
    """The official error of the calls, None if they are right.

    Args:
        functions: BFCL's documentation of the functions.
        calls: The calls, ``{name: {parameter: value}}`` each.
        answers: The calls wanted, ``{name: {parameter: [possible value, …]}}`` each.
        category: BFCL's category; ``parallel`` and ``multiple`` in it choose the check.

    Raises:
        KeyError, TypeError, AttributeError, ValueError, OverflowError: As the official code, where an entry or a value
            is of a kind that it cannot take.
    """
    if "parallel" in category:
        return _check_parallel(functions, calls, answers)
    if "multiple" in category:
        if len(calls) != len(answers):
            return f"{MULTIPLE}:wrong_count"
        return _check_call(_description(functions, answers[0]), calls[0], answers[0])
    if len(calls) != 1:
        return f"{SIMPLE}:wrong_count"
    return _check_call(functions[0], calls[0], answers[0])


def _check_parallel(functions: Functions, calls: Calls, answers: Calls) -> str | None:
    """Each answer takes the first call left that matches it, as the official code does: greedily."""
    if len(calls) != len(answers):
        return f"{PARALLEL}:wrong_count"
    left = list(calls)
    for answer in answers:
        description = _description(functions, answer)
        match = next((i for i, call in enumerate(left) if _check_call(description, call, answer) is None), None)
        if match is None:
            return f"{PARALLEL}:cannot_find_match"
        del left[match]
    return None


def _description(functions: Functions, answer: Mapping[str, Any]) -> Mapping[str, Any]:
    name = next(iter(answer))
    for function in functions:
        if function["name"] == name:
            return function
    raise KeyError(f"no function is named {name!r}")


def _check_call(function: Mapping[str, Any], call: Mapping[str, Any], answer: Mapping[str, Any]) -> str | None:
    possible = next(iter(answer.values()))
    declared, required = function["parameters"]["properties"], function["parameters"]["required"]
    if function["name"] not in call:
        return f"{SIMPLE}:wrong_func_name"
    given = call[function["name"]]
    if any(name not in given for name in required):
        return f"{SIMPLE}:missing_required"
    for name, value in given.items():
        if name not in declared or name not in possible:
            return f"{SIMPLE}:unexpected_param"
        if error := _check_value(value, possible[name], declared[name]):
            return error
    if any(name not in given and "" not in values for name, values in possible.items()):
        return f"{SIMPLE}:missing_optional"
    return None


def _check_value(value: Any, possible: list[Any], declared: Mapping[str, Any]) -> str | None:
    expected = _TYPES[declared["type"]]
    nested = _TYPES[declared["items"]["type"]] if declared["type"] in _NESTED else None
    if declared["type"] == "float" and type(value) is int:
        value = float(value)
    error, is_variable = _check_type(value, possible, expected, nested)
    if error:
        return error
    if not is_variable:
        if expected is dict:
            return _check_dict(value, possible)
        if expected is list:
            return _check_dicts(value, possible) if nested is dict else _check_list(value, possible)
        if expected is str:
            texts = [_plain(each) for each in possible if isinstance(each, str)]
            return None if _plain(value) in texts else "value_error:string"
    return None if value in possible else "value_error:others"


def _check_type(value: Any, possible: list[Any], expected: type, nested: type | None) -> tuple[str | None, bool]:
    """The error of a value's type, and whether it counts as a variable.

    A variable has the type of the possible answers where that is not the declared one. Python's equality compares it.
    """
    answer_type = next((type(each) for each in possible if each != ""), None)
    if type(value) is not expected:
        return (None, True) if type(value) is answer_type else ("type_error:simple", False)
    if nested is None or any(_items_fit(value, each, nested) for each in possible):
        return None, answer_type not in (None, expected)
    return "type_error:nested" if answer_type is expected else "type_error:simple", False


def _items_fit(value: list[Any], possible: Any, nested: type) -> bool:
    return type(possible) is not list or not any(_check_type(item, possible, nested, None)[0] for item in value)


def _check_list(value: list[Any], possible: list[Any]) -> str | None:
    return None if _plain_items(value) in [_plain_items(each) for each in possible] else "value_error:list/tuple"


def _check_dict(value: Mapping[str, Any], possible: list[Any]) -> str | None:
    """None if the object matches one of the possible ones, else the error of the last."""
    error: str | None = "dict_checker:unclear"
    for each in possible:
        if each != "" and (error := _compare_dict(value, each)) is None:
            return None
    return error


def _compare_dict(value: Mapping[str, Any], possible: Mapping[str, Any]) -> str | None:
    error = None
    for key, item in value.items():
        if key not in possible:
            error = "value_error:dict_key"
            break
        if _plain(item) not in _plain_items(possible[key]):
            error = "value_error:dict_value"
            break
    if any(key not in value and "" not in values for key, values in possible.items()):
        return "value_error:dict_key"
    return error


def _check_dicts(value: list[Any], possible: list[Any]) -> str | None:
    """As ``_check_dict`` for lists of objects, whose order matters."""
    error: str | None = "list_dict_checker:unclear"
    for each in possible:
        if len(value) != len(each):
            error = "value_error:list_dict_count"
            continue
        errors = (_check_dict(item, [wanted]) for item, wanted in zip(value, each, strict=True))
        if (error := next(filter(None, errors), None)) is None:
            return None
    return error


def _plain_items(values: Any) -> list[Any]:
    """The items in plain form. Only what has numbered items is taken: the official code indexes it."""
    if not isinstance(values, list | str):
        raise TypeError(f"possible values are a {type(values).__name__}, not a list")
    return [_plain(each) for each in values]


def _plain(value: Any) -> Any:
    """A string as it is compared; everything else as it is."""
    return _IGNORED.sub("", value).lower().replace("'", '"') if isinstance(value, str) else value
