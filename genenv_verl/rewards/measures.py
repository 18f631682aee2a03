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
"""How an answer in other words is compared with its reference: the measures that ``genenv.reward.text`` names.

A measure is a function that is given two texts which are not the same answer (``same_answer`` has looked before) and
returns a similarity in [0, 1]. One of your own needs no change here: ``genenv.reward.text=my_module:my_function``.
"""

from __future__ import annotations

import functools
import importlib
from typing import Protocol

from genenv_verl.rewards.text import similarity, token_f1


class Measure(Protocol):
    def __call__(self, *, predicted: str, gold: str) -> float:
        """Similarity of an answer to its reference in [0, 1]."""


def exact(*, predicted: str, gold: str) -> float:
    """0: what is not the same answer is wrong."""
    return 0.0


def words(*, predicted: str, gold: str) -> float:
    """Token F1, below 1: the same words in another order are not the same answer."""
    return min(token_f1(predicted=predicted, gold=gold), 0.9999)


MEASURES: dict[str, Measure] = {"ratio": similarity, "token_f1": words, "exact": exact}


@functools.cache
def find_measure(name: str) -> Measure:
    """The measure of a name in ``MEASURES``, or the function that ``module:function`` names.

    Raises:
        ValueError: There is none.
    """
    if name in MEASURES:
        return MEASURES[name]
    module, colon, function = name.partition(":")
    if not colon:
        raise ValueError(f"{name!r} is none of {', '.join(MEASURES)}, and not module:function")
    try:
        return getattr(importlib.import_module(module), function)
    except (ImportError, AttributeError, TypeError, ValueError) as error:
        raise ValueError(f"{name!r} cannot be loaded: {error}") from error
