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
"""BFCL's executable back-ends: the program that runs in the sandbox, one forked child a request.

It calls ``bfcl_eval``'s own ``multi_turn_checker``, which ``eval``s every call string. Isolation bounds what such text
can do to the machine; it cannot keep it from forging the verdict, which is made in the same process. Hence nothing is
handed to ``eval`` but calls of the back-ends' public methods (or calls that Python refuses, as those of a name that
nothing answers to: an error for the official code too) with literal arguments.

This file is loaded by its path and imports nothing of this project, so that the sandbox starts fast.
"""

from __future__ import annotations

import _strptime  # noqa: F401  Imported by datetime when it is first needed, which is too late behind the walls.
import ast
import builtins
import importlib
import inspect
import types
import unicodedata  # noqa: F401  Imported by Python's parser at a name beyond ASCII: likewise.
from typing import Any

from bfcl_eval.constants.executable_backend_config import CLASS_FILE_PATH_MAPPING
from bfcl_eval.eval_checker.multi_turn_eval import multi_turn_utils
from bfcl_eval.eval_checker.multi_turn_eval.multi_turn_checker import multi_turn_checker

CLASSES = (
    "GorillaFileSystem",
    "MathAPI",
    "MessageAPI",
    "TwitterAPI",
    "TicketAPI",
    "TradingBot",
    "TravelAPI",
    "VehicleControlAPI",
)

# Preloaded before any request; a request's classes are looked up here, never imported by the name that it gives.
_CLASSES = {name: getattr(importlib.import_module(CLASS_FILE_PATH_MAPPING[name]), name) for name in CLASSES}

_PLAYER = "agent"
_INSTANCE = "backend"
# ``eval`` reports this as a syntax error. It stands in for text that is none of Python's.
_SYNTAX_ERROR = "("

# What a name could mean within the frame that evaluates: builtins, globals and locals of the official code.
_LOCAL_NAMES = frozenset(multi_turn_utils.execute_multi_turn_func_call.__code__.co_varnames)
_KNOWN_NAMES = _LOCAL_NAMES | set(vars(builtins)) | set(vars(multi_turn_utils))
_LITERALS = (ast.Constant, ast.List, ast.Tuple, ast.Set, ast.Dict, ast.expr_context)


def run(request: dict[str, Any]) -> dict[str, Any]:
    """Answers one request ``{"task": "score" | "replay", "entry", "gold", "calls"}``.

    ``entry`` is a BFCL entry with ``id``, ``initial_config`` and ``involved_classes``, ``gold`` the call strings of its
    turns up to the one in question, ``calls`` (for ``score``) the answer's call strings in the last of those turns.

    Returns:
        ``score``: ``{"valid", "reason"}``, ``reason`` being the official ``error_type``, ``unsafe_call``, or
        ``official_crash:…`` with the exception; ``replay``: ``{"turns": [{"results", "state"}]}``.
    """
    if unknown := set(request["entry"]["involved_classes"]) - set(CLASSES):
        raise ValueError(f"BFCL has no back-end named {sorted(unknown)}")
    if request["task"] == "replay":
        return {"turns": replay(request["entry"], request["gold"])}
    valid, reason = score(request["entry"], request["gold"], request["calls"])
    return {"valid": valid, "reason": reason}


def score(entry: dict[str, Any], gold: list[list[str]], calls: list[str]) -> tuple[bool, str]:
    """The official verdict of state and response on the last gold turn, the gold calls being made in those before."""
    methods = public_methods(entry["involved_classes"])
    plain = [plain_call(call, methods) for call in calls]
    if None in plain:
        return False, "unsafe_call"
    turns = [[turn] for turn in gold[:-1]] + [[plain]]
    try:
        verdict = multi_turn_checker(turns, gold, entry, "multi_turn_long_context", _PLAYER)
    except Exception as error:  # Whatever the official code raises is a failed answer, and is told apart from others.
        return False, f"official_crash:{type(error).__name__}"
    return bool(verdict["valid"]), verdict.get("error_type") or "ok"


def replay(entry: dict[str, Any], gold: list[list[str]]) -> list[dict[str, Any]]:
    """Each gold turn's results, and the public state that it found when it began."""
    turns = []
    for calls in gold:
        _, instances = _execute(entry, [])
        state = {name: _public(instance) for name, instance in instances.items()}
        results, _ = _execute(entry, calls)
        turns.append({"results": results, "state": state})
    return turns


def public_methods(classes: list[str]) -> set[str]:
    """The names that the official code binds to a back-end."""
    found: set[str] = set()
    for name in classes:
        members = inspect.getmembers(_CLASSES[name], predicate=inspect.isfunction)
        found.update(method for method, _ in members if not method.startswith("_"))
    return found


def plain_call(call: str, methods: set[str]) -> str | None:
    """The call string if it is safe to evaluate, one that is a syntax error if it is none, None if it is unsafe.

    Judged is the text that the official code evaluates: it puts a back-end before every method's name first.
    """
    bound = multi_turn_utils._process_method_calls(call, dict.fromkeys(methods, _INSTANCE))
    try:
        body = ast.parse(bound.strip(), mode="eval").body
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return _SYNTAX_ERROR
    return call if isinstance(body, ast.Call) and _is_plain(body, methods) else None


def _is_plain(node: ast.AST, methods: set[str]) -> bool:
    match node:
        case ast.Call(func=ast.Attribute(value=ast.Name(id=instance), attr=method)) if instance == _INSTANCE:
            callable_is_plain = method in methods
        case ast.Call(func=function):
            callable_is_plain = _means_nothing(_first_name(function)) or _is_refused(node)
        case ast.Name(id=name):
            return _means_nothing(name)
        case ast.UnaryOp(op=ast.UAdd() | ast.USub(), operand=ast.Constant() | ast.Name()):
            return _is_plain(node.operand, methods)  # A name as in -inf, which JSON calls -Infinity.
        case _:
            children = ast.iter_child_nodes(node)
            return isinstance(node, _LITERALS) and all(_is_plain(child, methods) for child in children)
    arguments = [*node.args, *(keyword.value for keyword in node.keywords)]
    return callable_is_plain and all(_is_plain(argument, methods) for argument in arguments)


def _first_name(function: ast.expr) -> str | None:
    """The name that ``a.b.c`` begins with, which ``eval`` looks up before anything else of the call."""
    while isinstance(function, ast.Attribute):
        function = function.value
    return function.id if isinstance(function, ast.Name) else None


def _means_nothing(name: str | None) -> bool:
    """Whether a name is an error for ``eval``: the official code keeps its back-ends as globals ``…_instance``."""
    return name is not None and name not in _KNOWN_NAMES and not name.endswith("_instance")


def _is_refused(call: ast.Call) -> bool:
    """Whether Python refuses a call whatever its arguments' values: of a module, or of a built-in without such ones.

    ``copy(source='a')`` and ``sum(numbers=[1])`` are such calls, of a model that takes Python's names for a tool's.
    """
    if not isinstance(call.func, ast.Name) or call.func.id in _LOCAL_NAMES:
        return False
    meant = vars(multi_turn_utils).get(call.func.id, vars(builtins).get(call.func.id))
    if isinstance(meant, types.ModuleType):
        return True
    keywords = {keyword.arg for keyword in call.keywords}
    is_starred = None in keywords or any(isinstance(argument, ast.Starred) for argument in call.args)
    if is_starred or not isinstance(meant, types.BuiltinFunctionType):
        return False
    try:
        inspect.signature(meant).bind(*call.args, **dict.fromkeys(keywords))
    except TypeError:
        return True
    except ValueError:  # It has no signature.
        pass
    return False


def _execute(entry: dict[str, Any], calls: list[str]) -> tuple[list[str], dict[str, Any]]:
    return multi_turn_utils.execute_multi_turn_func_call(
        func_call_list=calls,
        initial_config=entry["initial_config"],
        involved_classes=entry["involved_classes"],
        model_name=_PLAYER,
        test_entry_id=entry["id"],
        long_context=True,
        is_evaL_run=True,
    )


def _public(value: Any) -> Any:
    """A back-end's state as JSON: public attributes, as the official state check compares them."""
    if isinstance(value, dict):
        return {str(key): _public(each) for key, each in value.items()}
    if isinstance(value, list | tuple):
        return [_public(each) for each in value]
    if isinstance(value, set | frozenset):
        return sorted(map(str, value))
    if hasattr(value, "__dict__"):
        # A directory of the file system knows its parent: that way lies a circle.
        members = vars(value).items()
        return {key: _public(each) for key, each in members if not key.startswith("_") and key != "parent"}
    return value if isinstance(value, str | int | float | bool | None) else str(value)
