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
"""How a checker is run and what its verdict is: see ``base`` for what a checker is.

A request is ``{"source": …, "answer": …}``, the reply ``{"accepted": true | false}``. This module imports the standard
library only, so that its text can be sent to another machine.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

ENTRY_POINT = "check"
_ANSWER = "__answer__"
# In a generator, out of which a StopIteration comes as a RuntimeError: the chain of steps would take it for its end.
_CALL = f"[*({ENTRY_POINT}(answer) for answer in ({_ANSWER},))][0]"


def steps(request: dict[str, Any]) -> Sequence[tuple[str, Callable[..., Any], tuple[Any, ...]]]:
    """The checker's life: its source is run, then its entry point is called with the answer."""
    names = {"__name__": "checker"}
    return [
        ("defined", exec, (request["source"], names)),
        ("entry_point", eval, (ENTRY_POINT, names)),
        ("verdict", eval, (_CALL, names, {_ANSWER: request["answer"]})),
    ]


def reply(results: dict[str, Any], raised: bytes) -> bytes:
    """The verdict, or why there is none. Foreign code has run: nothing but literals and ``is`` may be used here."""
    if "verdict" in results:
        verdict = results["verdict"]
        if verdict is True:
            return b'+{"accepted": true}'
        return b'+{"accepted": false}' if verdict is False else b"-bad_verdict"
    if raised == b"MemoryError":
        return b"-memory"
    if "defined" in results:
        return (b"-exception " + raised if raised else b"-exit") if "entry_point" in results else b"-no_entry_point"
    if raised == b"SyntaxError" or raised == b"IndentationError" or raised == b"TabError":
        return b"-syntax_error"
    return b"-exception " + raised if raised else b"-exit"
