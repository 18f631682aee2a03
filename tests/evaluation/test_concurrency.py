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
from __future__ import annotations

import asyncio

import pytest

from genenv_verl.evaluation.concurrency import for_each


async def stubborn(begun: list[int], item: int) -> None:
    """Work that loses its first cancellation, as ``asyncio.wait_for`` does where an answer comes at that instant."""
    begun.append(item)
    if item == 0:
        raise ValueError("the endpoint does not work")
    try:
        await asyncio.sleep(5.0 if item == 1 else 0.0)
    except asyncio.CancelledError:
        if item != 1:
            raise


def test_every_item_is_worked_on_once_and_no_more_at_a_time_than_wanted():
    done, most, running = [], 0, 0

    async def work(item: int) -> None:
        nonlocal most, running
        running += 1
        most = max(most, running)
        await asyncio.sleep(0.0)
        running -= 1
        done.append(item)

    asyncio.run(for_each(range(20), work, 3))
    asyncio.run(for_each([], work, 3))
    assert sorted(done) == list(range(20)) and most == 3


def test_after_a_failure_a_worker_that_lost_its_cancellation_begins_nothing_more():
    begun: list[int] = []
    with pytest.raises(ValueError, match="does not work"):
        asyncio.run(for_each(range(100), lambda item: stubborn(begun, item), 2))
    assert begun == [0, 1]


def test_after_ctrl_c_a_worker_that_lost_its_cancellation_begins_nothing_more():
    begun: list[int] = []

    async def stopped() -> None:
        running = asyncio.create_task(for_each(range(1, 100), lambda item: stubborn(begun, item), 1))
        await asyncio.sleep(0.05)
        running.cancel()
        await running

    with pytest.raises(asyncio.CancelledError):
        asyncio.run(stopped())
    assert begun == [1]
