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
"""What a field of the settings allows, in words: for error messages and for the configuration page."""

from __future__ import annotations

import types
from collections.abc import Sequence
from typing import Annotated, Any, Literal, Union, get_args, get_origin

from annotated_types import Ge, Gt, Le, Lt
from pydantic import BaseModel
from pydantic.fields import FieldInfo

_PLAIN = {str: "text", bool: "true | false", type(None): "null"}
_NUMBERS = {int: "whole number", float: "number"}


def allowed_values(annotation: Any, metadata: Sequence[Any] = ()) -> str:
    """Describes the values that a type annotation allows.

    Args:
        annotation: a type as pydantic reads it; ``Annotated`` carries its own bounds.
        metadata: bounds that stand beside the annotation, as in ``FieldInfo.metadata``.

    Returns:
        For example ``constant | linear``, ``number in (0, 1)``, ``whole number >= 1 | null``.

    Raises:
        TypeError: the settings use a type that nobody has described yet.
    """
    origin, arguments = get_origin(annotation), get_args(annotation)
    if origin is Annotated:
        inner, *bounds = arguments
        return allowed_values(inner, [bound for entry in bounds for bound in _bounds(entry)])
    if origin is Literal:
        return " | ".join(map(str, arguments))
    if origin in (Union, types.UnionType):
        return " | ".join(allowed_values(argument, metadata) for argument in arguments)
    if origin is list:
        return f"list of {allowed_values(arguments[0])}"
    if origin is tuple:
        return f"[{', '.join(map(allowed_values, arguments))}]"
    if origin is dict:
        return "block of keys"
    if annotation in _PLAIN:
        return _PLAIN[annotation]
    if annotation in _NUMBERS:
        return _NUMBERS[annotation] + _range(metadata)
    if block := block_of(annotation):
        return f"block with the keys {', '.join(block.model_fields)}"
    raise TypeError(f"no description for the type {annotation!r}")


def block_of(annotation: Any) -> type[BaseModel] | None:
    """The model behind a key that opens a block of keys, ``None`` for a plain value."""
    return annotation if isinstance(annotation, type) and issubclass(annotation, BaseModel) else None


def _bounds(entry: Any) -> Sequence[Any]:
    return entry.metadata if isinstance(entry, FieldInfo) else [entry]


def _range(metadata: Sequence[Any]) -> str:
    """``in (0, 1]`` where both ends are bounded, ``> 0`` where one is, nothing where none is."""
    lower = next((bound for bound in metadata if isinstance(bound, Gt | Ge)), None)
    upper = next((bound for bound in metadata if isinstance(bound, Lt | Le)), None)
    low = None if lower is None else lower.gt if isinstance(lower, Gt) else lower.ge
    high = None if upper is None else upper.lt if isinstance(upper, Lt) else upper.le
    if lower is not None and upper is not None:
        return f" in {'(' if isinstance(lower, Gt) else '['}{low:g}, {high:g}{')' if isinstance(upper, Lt) else ']'}"
    if lower is not None:
        return f" {'>' if isinstance(lower, Gt) else '>='} {low:g}"
    if upper is not None:
        return f" {'<' if isinstance(upper, Lt) else '<='} {high:g}"
    return ""
