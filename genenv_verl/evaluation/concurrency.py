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
"""Bounded concurrency."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable, Sequence
from typing import TypeVar

T = TypeVar("T")


async def for_each(items: Sequence[T], work: Callable[[T], Awaitable[None]], concurrency: int) -> None:
    """Does the work on every item, at most ``concurrency`` at a time. The first exception ends all.

    So does a cancellation: no further item is begun. Before Python 3.12 ``asyncio.wait_for`` can lose the cancellation
    of a task whose answer has just come; such a task must not go on with all that is left.
    """
    waiting = deque(items)

    async def worker() -> None:
        while waiting:
            await work(waiting.popleft())

    workers = [asyncio.create_task(worker()) for _ in range(min(concurrency, len(items)))]
    try:
        if workers:
            done, _ = await asyncio.wait(workers, return_when=asyncio.FIRST_EXCEPTION)
            for task in done:
                task.result()
    finally:
        waiting.clear()
        for task in workers:
            task.cancel()
        await asyncio.gather(*workers, return_exceptions=True)
