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
"""JSON over HTTP with servers that fail: bounded answers, a limit on the time of each try, retries.

The key is sent as a header and nowhere else: whatever a server sends back, an error message that quotes the request
among it, loses the key before anybody else reads it (a key of less than eight characters only what is told of failures,
one of less than four nothing).
"""

from __future__ import annotations

import asyncio
import json
import os
import random
import re
import ssl
import time
from collections.abc import Callable, Mapping
from typing import Any, NoReturn, TypeVar

import httpx

from genenv_verl.evaluation.backoff import Backoff, retry_after_s

MAX_BODY_BYTES = 2 * 2**20
"""4,096 tokens are some 20 kB: what is longer by far is no answer."""

SHORTEST_SECRET, SHORTEST_SECRET_IN_ANSWERS = 4, 8
"""Characters. A short key may be a word (``EMPTY``, ``none``): it is taken out of what a server says of its failures,
not out of what a model writes."""

_RETRIED_BELOW_500 = frozenset({408, 409, 425, 429})
_HOPELESS = {
    401: "the key was refused (it is read from an environment variable, see --api-key-env)",
    403: "access was refused (the key is read from an environment variable, see --api-key-env)",
    404: "there is no such path or model (an OpenAI-compatible URL mostly ends in /v1)",
    405: "it takes no such request (an OpenAI-compatible URL mostly ends in /v1)",
}
_HOPELESS_ROW = 20


T = TypeVar("T")


class EndpointError(RuntimeError):
    """The endpoint as a whole does not work: no further request makes sense. The message says what to change."""


class RequestFailed(RuntimeError):
    """One request has failed for good; ``reason`` is one word for counting, the message has the details."""

    def __init__(self, reason: str, message: str):
        super().__init__(message)
        self.reason = reason


class UnreadableAnswer(ValueError):
    """The JSON of an answer is not what was asked for. Another try may help."""


class _TryAgain(Exception):
    def __init__(self, reason: str, message: str, wait_s: float | None = None):
        super().__init__(message)
        self.reason = reason
        self.wait_s = wait_s


def check_url(url: str, option: str) -> str:
    """A base URL without its closing slash (ValueError if it is none, or if it carries a secret)."""
    try:
        parts = httpx.URL(url)
    except httpx.InvalidURL:
        parts = httpx.URL()
    if parts.userinfo or parts.query or parts.fragment:
        raise ValueError(
            f"{option}: a URL for {parts.host} with a user, password or query would be written into the results; "
            "give the bare URL and the key in an environment variable"
        )
    if not parts.host or parts.scheme not in ("http", "https"):
        raise ValueError(f"{option} {url!r} is no http(s) URL, such as http://127.0.0.1:8000/v1")
    return url.rstrip("/")


def key_from_environment(variable: str) -> str | None:
    """The key in an environment variable, None where it is not set (ValueError if no header can carry it)."""
    key = os.environ.get(variable, "").strip()
    if any(not "!" <= character <= "~" for character in key):
        raise ValueError(f"the key in the environment variable {variable} has characters that no HTTP header can carry")
    return key or None


class JsonClient:
    """Posts JSON to one endpoint. Used as an asynchronous context manager.

    Args:
        base_url: What paths are appended to.
        headers: Sent with every request.
        secret: The key among the headers, or None.
        timeout_s: Seconds for one try, from connecting to the last byte.
        backoff: The waits between tries.

    After a ``Retry-After`` every request waits, not only the one that was told. While others are
    answered a 429 ends no request, whose turn is yet to come: its tries count anew. A hopeless status, or
    20 failures in a row (every one of a hopeless kind, or nothing answered yet), is an ``EndpointError``.
    """

    def __init__(
        self,
        base_url: str,
        *,
        headers: Mapping[str, str] | None = None,
        secret: str | None = None,
        timeout_s: float = 600.0,
        backoff: Backoff = Backoff(),  # noqa: B008  (frozen)
    ):
        self.base_url = base_url
        self._secret = spellings(secret) if secret and len(secret) >= SHORTEST_SECRET else None
        self._hides_in_answers = secret is not None and len(secret) >= SHORTEST_SECRET_IN_ANSWERS
        self._timeout_s = timeout_s
        self._backoff = backoff
        self._resume_at = 0.0
        self._answers = 0
        self._failures_in_a_row = 0
        url = httpx.URL(base_url)
        # Compressed answers could not be bounded by what is read; a proxy has no way to a server on this machine; and
        # without TLS there is no need to load the certificates, a tenth of a second a client.
        self._http = httpx.AsyncClient(
            headers={"Accept-Encoding": "identity", **(headers or {})},
            timeout=httpx.Timeout(timeout_s, pool=None),
            limits=httpx.Limits(max_connections=None),
            verify=True if url.scheme == "https" else ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT),
            trust_env=url.host not in ("127.0.0.1", "localhost", "::1"),
        )

    async def __aenter__(self) -> JsonClient:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._http.aclose()

    async def get(self, path: str) -> Any:
        """The JSON behind a path, one try (RequestFailed otherwise)."""
        try:
            return await self._try("GET", path, None)
        except _TryAgain as error:
            raise RequestFailed(error.reason, str(error)) from None

    async def post(self, path: str, body: Any, read: Callable[[Any], T]) -> T:
        """Posts a JSON body, with retries.

        Args:
            path: Appended to the base URL.
            body: What becomes JSON.
            read: Makes the result of the answer's JSON; raises UnreadableAnswer.

        Raises:
            RequestFailed: This request has failed.
            EndpointError: The endpoint does not work.
        """
        try:
            answer = await self._post_with_retries(path, body, read)
        except RequestFailed as failure:
            self._failures_in_a_row += 1
            if self._failures_in_a_row >= _HOPELESS_ROW and (not self._answers or failure.reason != "http_400"):
                raise EndpointError(
                    f"{self.base_url}: {self._failures_in_a_row} requests in a row have failed, the last: {failure}"
                ) from None
            raise
        self._answers += 1
        self._failures_in_a_row = 0
        return answer

    async def _post_with_retries(self, path: str, body: Any, read: Callable[[Any], T]) -> T:
        tries = failed_tries = 0
        answers = self._answers
        while True:
            while (pause_s := self._resume_at - time.monotonic()) > 0:
                await asyncio.sleep(pause_s + random.uniform(0.0, self._backoff.first_s))  # not all at once
            try:
                return read(await self._try("POST", path, body))
            except UnreadableAnswer as error:
                failure = _TryAgain("unreadable", self._clean(str(error))[:240])
            except _TryAgain as error:
                failure = error
            tries += 1
            failed_tries += 1
            if failure.reason == "http_429" and self._answers > answers:
                failed_tries, answers = 0, self._answers
            if failed_tries > self._backoff.retries or (failure.wait_s or 0.0) > self._backoff.longest_retry_after_s:
                raise RequestFailed(failure.reason, f"{failure} ({tries} tries)")
            if failure.wait_s is not None:
                self._resume_at = max(self._resume_at, time.monotonic() + failure.wait_s)
            await asyncio.sleep(self._backoff.wait_s(tries))

    async def _try(self, method: str, path: str, body: Any) -> Any:
        try:
            return await asyncio.wait_for(self._exchange(method, path, body), self._timeout_s)
        except (asyncio.TimeoutError, httpx.TimeoutException):
            raise _TryAgain("timeout", f"no complete answer within {self._timeout_s:g} s") from None
        except (httpx.TransportError, httpx.DecodingError) as error:
            raise _TryAgain("connection", f"{type(error).__name__}: {self._clean(str(error))}") from None

    async def _exchange(self, method: str, path: str, body: Any) -> Any:
        async with self._http.stream(method, self.base_url + path, json=body) as response:
            content = bytearray()
            async for chunk in response.aiter_raw():
                content += chunk
                if len(content) > MAX_BODY_BYTES:
                    raise RequestFailed("too_large", f"the answer is longer than {MAX_BODY_BYTES:,} bytes")
        text = content.decode("utf-8", errors="replace")
        clean = self._clean(text)
        if response.status_code != 200:
            self._refuse(method, response, path, _one_line(clean[:500]))
        try:
            return json.loads(clean if self._hides_in_answers else text)
        except (ValueError, RecursionError):
            raise _TryAgain("invalid_json", f"the answer is no JSON: {clean[:80]!r}") from None

    def _refuse(self, method: str, response: httpx.Response, path: str, text: str) -> NoReturn:
        status = response.status_code
        if status in _RETRIED_BELOW_500 or status >= 500:
            raise _TryAgain(
                f"http_{status}", f"HTTP {status}: {text}", retry_after_s(response.headers.get("retry-after"))
            )
        if method == "POST" and status in _HOPELESS and not self._answers:
            raise EndpointError(f"{self.base_url}{path}: HTTP {status}, {_HOPELESS[status]}: {text}")
        if response.next_request:
            # without user and query, in which a server may repeat the key
            url = response.next_request.url
            there = f"{url.scheme}://{url.netloc.decode()}{url.path.rstrip('/').removesuffix(path)}"
            there = self._clean(_one_line(there))[:200]
            text = f"redirections are not followed, the key would follow them; give {there!r}"
        raise RequestFailed(f"http_{status}", f"HTTP {status}: {text}")

    def _clean(self, text: str) -> str:
        return self._secret.sub("[key]", text) if self._secret else text


def spellings(key: str) -> re.Pattern[str]:
    """Matches a key as it is and as JSON may spell it (``a\\/b``, ``\\u0061/b``), in a string or a string's string."""
    return re.compile("".join(rf"(?:\\{{0,8}}{re.escape(sign)}|\\{{1,8}}u(?i:{ord(sign):04x}))" for sign in key))


def _one_line(text: str) -> str:
    """A server's words without line breaks, and without what would steer a terminal."""
    return " ".join("".join(character if character.isprintable() else " " for character in text).split())
