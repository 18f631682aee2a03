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
"""When to ask again: exponential back-off with jitter, and what a ``Retry-After`` header asks for."""

from __future__ import annotations

import random
import time
from dataclasses import dataclass
from email.utils import parsedate_to_datetime


@dataclass(frozen=True)
class Backoff:
    """The waits between the tries of one request.

    Attributes:
        retries: Tries after the first one.
        first_s: Upper end of the first wait in seconds; it doubles with every try.
        longest_s: Where the doubling ends, in seconds.
        longest_retry_after_s: A server that asks for a longer wait is not waited for: the request has failed.
    """

    retries: int = 5
    first_s: float = 1.0
    longest_s: float = 60.0
    longest_retry_after_s: float = 900.0

    def wait_s(self, tries: int) -> float:
        """Seconds to wait after ``tries`` (at least 1) failed tries: between half and all of the doubled wait."""
        longest = min(self.longest_s, self.first_s * 2.0 ** min(tries - 1, 32))
        return longest * random.uniform(0.5, 1.0)


def retry_after_s(header: str | None) -> float | None:
    """Seconds that a ``Retry-After`` header asks for (a number or an HTTP date), None without a readable one."""
    if header is None:
        return None
    try:
        seconds = float(header)
    except ValueError:
        try:
            seconds = parsedate_to_datetime(header).timestamp() - time.time()
        except (ValueError, OverflowError):
            return None
    return max(seconds, 0.0) if seconds == seconds else None
