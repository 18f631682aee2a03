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
"""What runs a checker, seen from outside: one source, many answers, one outcome each.

A checker is Python source that defines::

    def check(response: str) -> bool: ...

It is called once with an answer, in a state that no other answer can have touched. Only the objects ``True`` and
``False``, returned by that call, are a verdict. Everything else (an exception, an exit, a 1, a printed line) is none.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a checker said about one answer.

    Attributes:
        accepted: The verdict, or None if there is none.
        reason: ``accepted`` or ``rejected`` with a verdict, else why there is none: ``syntax_error``,
            ``no_entry_point``, ``exception``, ``exit``, ``bad_verdict`` (neither True nor False), ``timeout``,
            ``memory``, ``crash``, ``output_limit``, ``too_large`` (source and answer) or ``unavailable``.
        detail: For people: what is behind the reason; may be empty.
    """

    accepted: bool | None
    reason: str
    detail: str = ""

    @classmethod
    def verdict(cls, accepted: bool) -> Outcome:
        return cls(accepted, "accepted" if accepted else "rejected")


class CheckerBackend(Protocol):
    """Runs checkers. Safe to use from several threads."""

    name: str

    def check(self, source: str, answers: Sequence[str]) -> list[Outcome]:
        """Judges each answer by the checker, each in a fresh state. Whatever the source does, outcomes come back."""
        ...

    def close(self) -> None:
        """Ends what the backend has started; it must not be used afterwards."""
        ...


@dataclass(frozen=True, slots=True)
class Unavailable:
    """The backend of a machine where nothing can run checkers safely: every outcome is ``unavailable``.

    Attributes:
        why: What is missing and what to do about it.
    """

    why: str
    name: str = "unavailable"

    def check(self, source: str, answers: Sequence[str]) -> list[Outcome]:
        return [Outcome(None, "unavailable", self.why) for _ in answers]

    def close(self) -> None:
        pass
