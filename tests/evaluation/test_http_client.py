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
import json
import time
import tracemalloc
from contextlib import asynccontextmanager
from dataclasses import replace
from email.utils import formatdate

import pytest

from genenv_verl.evaluation.backoff import Backoff, retry_after_s
from genenv_verl.evaluation.chat import MIN_NEW_TOKENS, Decoding, ask, completion_key, read_completion
from genenv_verl.evaluation.endpoint import LazyEndpoint, find_model
from genenv_verl.evaluation.http import (
    MAX_BODY_BYTES,
    EndpointError,
    JsonClient,
    RequestFailed,
    check_url,
    key_from_environment,
    spellings,
)
from genenv_verl.tasks.schema import Message

QUESTION = [Message(role="user", content="How are you?")]
QUICK = Backoff(retries=3, first_s=0.01, longest_s=0.05)


def ask_once(url, *, timeout_s=60.0, backoff=QUICK, secret=None, times=1):
    async def work():
        headers = {"Authorization": f"Bearer {secret}"} if secret else {}
        async with JsonClient(url, headers=headers, secret=secret, timeout_s=timeout_s, backoff=backoff) as client:
            answers = []
            for _ in range(times):
                try:
                    answers.append(await ask(client, "fake", QUESTION, Decoding()))
                except RequestFailed as failure:
                    answers.append(failure)
            return answers if times > 1 else answers[0]

    return asyncio.run(work())


def test_a_request_carries_the_prompt_and_the_decoding(serve):
    server = serve(lambda body, number: serve.completion("Fine.", model="fake-2"))
    answer = ask_once(server.url)
    assert answer.content == "Fine." and answer.finish_reason == "stop" and answer.served_model == "fake-2"
    assert (answer.prompt_tokens, answer.completion_tokens) == (10, 5)
    assert server.bodies == [
        {
            "model": "fake",
            "messages": [{"role": "user", "content": "How are you?"}],
            "temperature": 0.0,
            "max_tokens": 4096,
            "seed": 0,
        }
    ]
    assert server.posts[0][0] == "/v1/chat/completions"


@pytest.mark.parametrize(
    "fault",
    [
        dict(status=500, body=b"oops"),
        dict(status=503),
        dict(status=429),
        dict(status=408),
        dict(body=b""),
        dict(body=b"<html>"),
        dict(body=b"[" * 100_000),
        dict(body=b"\xff\xfe"),
        dict(body=b"null"),
        dict(body=b'{"choices": []}'),
        dict(body=b'{"choices": [{"message": {"content": 7}}]}'),
        dict(body=b'{"error": {"message": "busy"}}'),
        dict(body=b'{"choices": [{"message": {"content": "cut o', promised=500),
    ],
    ids=lambda fault: str(fault)[:40],
)
def test_a_fault_that_passes_is_asked_again(serve, fault):
    server = serve(lambda body, number: serve.Reply(**fault) if number < 3 else serve.completion("Fine."))
    assert ask_once(server.url).content == "Fine."
    assert len(server.posts) == 3


@pytest.mark.parametrize("headers", [{}, {"Retry-After": "0.01"}])
def test_a_request_whose_turn_comes_late_has_not_failed(serve, headers):
    """One answer in 20 ms: most requests need more tries than one has, and nothing is wrong with the server."""
    free_at = [0.0]

    def reply(body, number):
        if time.monotonic() < free_at[0]:
            return serve.Reply(status=429, headers=headers)
        free_at[0] = time.monotonic() + 0.02
        return serve.completion("Fine.")

    async def work():
        async with JsonClient(serve(reply).url, backoff=replace(QUICK, retries=5)) as client:
            return await asyncio.gather(*(ask(client, "fake", QUESTION, Decoding()) for _ in range(60)))

    assert [answer.content for answer in asyncio.run(work())] == ["Fine."] * 60


def test_a_server_that_hangs_is_asked_again(serve):
    server = serve(lambda body, number: serve.Reply(hang_s=60.0) if number == 1 else serve.completion("Fine."))
    assert ask_once(server.url, timeout_s=1.0, backoff=Backoff(retries=20, first_s=0.01)).content == "Fine."
    assert len(server.posts) >= 2


@pytest.mark.parametrize(
    ("fault", "reason", "message"),
    [
        (dict(status=500, body=b"o \x1b o\nps"), "http_500", "HTTP 500: o o ps (4 tries)"),
        (dict(status=429), "http_429", "(4 tries)"),
        (dict(body=b"<html>"), "invalid_json", "no JSON: '<html>' (4 tries)"),
        (dict(body=b"{}"), "unreadable", "no message: {} (4 tries)"),
        (dict(body=b'{"choices"', promised=500), "connection", "RemoteProtocolError"),
    ],
)
def test_a_fault_that_stays_is_a_failed_request(serve, fault, reason, message):
    server = serve(lambda body, number: serve.Reply(**fault))
    failure = ask_once(server.url)
    assert failure.reason == reason and message in str(failure)
    assert len(server.posts) == 4


def test_a_server_that_only_hangs_is_a_failed_request(serve):
    server = serve(lambda body, number: serve.Reply(hang_s=60.0))
    failure = ask_once(server.url, timeout_s=0.2, backoff=Backoff(retries=1, first_s=0.01))
    assert failure.reason == "timeout" and "no complete answer within 0.2 s (2 tries)" in str(failure)


def test_what_another_try_cannot_mend_is_not_tried_again(serve):
    server = serve(lambda body, number: serve.Reply(b"too many tokens", status=400))
    failure = ask_once(server.url)
    assert failure.reason == "http_400" and "too many tokens" in str(failure) and len(server.posts) == 1


@pytest.mark.parametrize(
    ("location", "advice"),
    [
        ("https://elsewhere/v1/chat/completions", "give 'https://elsewhere/v1'"),
        ("https://elsewhere:8443/api/chat/completions/?key=sk%2Fsecret-0123", "give 'https://elsewhere:8443/api'"),
        ("https://sk%2Fsecret-0123@elsewhere/v1/chat/completions", "give 'https://elsewhere/v1'"),
        ("/v2/chat/completions", "/v2'"),
    ],
)
def test_a_redirection_is_told_and_not_followed(serve, location, advice):
    server = serve(lambda body, number: serve.Reply(status=308, headers={"Location": location}))
    failure = ask_once(server.url, secret="sk/secret-0123")
    assert failure.reason == "http_308" and advice in str(failure) and len(server.posts) == 1
    assert "secret" not in str(failure)


def test_a_location_beside_another_failure_hides_nothing(serve):
    headers = {"Location": "http://elsewhere/docs"}
    server = serve(lambda body, number: serve.Reply(b"max_tokens is too large", status=422, headers=headers))
    assert "max_tokens is too large" in str(ask_once(server.url))


def test_a_huge_answer_is_given_up_before_it_is_read(serve):
    tracemalloc.start()
    server = serve(lambda body, number: serve.Reply(b" " * 2**16, repeat=1600))
    failure = ask_once(server.url)
    _, most_bytes = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert failure.reason == "too_large" and len(server.posts) == 1
    assert most_bytes < 3 * MAX_BODY_BYTES  # of 100 MB


def test_a_server_that_drips_is_cut_off_at_the_time_limit():
    # Every byte comes in time for a limit on reads: only a limit on the whole try ends this.
    async def drip(reader, writer):
        await reader.read(1000)
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\n")
        while not writer.is_closing():
            writer.write(b" ")
            await asyncio.sleep(0.05)

    async def work():
        dripping = await asyncio.start_server(drip, "127.0.0.1", 0)
        port = dripping.sockets[0].getsockname()[1]
        client = JsonClient(f"http://127.0.0.1:{port}", timeout_s=0.3, backoff=Backoff(retries=0))
        async with client:
            with pytest.raises(RequestFailed, match="0.3 s"):
                await ask(client, "fake", QUESTION, Decoding())
        dripping.close()

    asyncio.run(asyncio.wait_for(work(), 60))


def test_retry_after_is_obeyed_by_every_request(serve):
    def reply(body, number):
        if number == 1:
            return serve.Reply(status=429, headers={"Retry-After": "0.5"})
        return serve.completion("Fine.")

    server = serve(reply)

    async def work():
        async with JsonClient(server.url, backoff=QUICK) as client:
            first = asyncio.create_task(ask(client, "fake", QUESTION, Decoding()))
            await asyncio.sleep(0.2)
            await asyncio.gather(first, ask(client, "fake", QUESTION, Decoding()))

    asyncio.run(work())
    refused, *others = [arrived for *_, arrived in server.posts]
    assert len(others) == 2 and all(arrived - refused >= 0.49 for arrived in others)


def test_a_wait_that_is_too_long_is_not_waited_for(serve):
    server = serve(lambda body, number: serve.Reply(status=429, headers={"Retry-After": "86400"}))
    assert ask_once(server.url).reason == "http_429" and len(server.posts) == 1


@pytest.mark.parametrize(
    ("header", "seconds"),
    [(None, None), ("3", 3.0), ("0.5", 0.5), ("-4", 0.0), ("soon", None), ("nan", None), ("", None)],
)
def test_retry_after_header(header, seconds):
    assert retry_after_s(header) == seconds


def test_retry_after_header_as_a_date():
    assert retry_after_s(formatdate(time.time() + 30, usegmt=True)) == pytest.approx(30, abs=2)
    assert retry_after_s("Wed, 21 Oct 2015 07:28:00 GMT") == 0.0


def test_waits_double_with_jitter_up_to_the_longest():
    backoff = Backoff(first_s=1.0, longest_s=60.0)
    for tries, longest in [(1, 1.0), (2, 2.0), (4, 8.0), (10, 60.0), (10_000, 60.0)]:
        waits = [backoff.wait_s(tries) for _ in range(50)]
        assert longest / 2 <= min(waits) < max(waits) <= longest


@pytest.mark.parametrize("status", [401, 403, 404, 405])
def test_an_endpoint_that_cannot_work_ends_the_run_at_once(serve, status):
    server = serve(lambda body, number: serve.Reply(b"no", status=status))
    with pytest.raises(EndpointError, match=f"HTTP {status}"):
        ask_once(server.url)
    assert len(server.posts) == 1


def test_the_same_status_behind_an_answer_is_one_failed_request(serve):
    server = serve(lambda b, number: serve.completion("Fine.") if number == 1 else serve.Reply(b"flagged", status=403))
    assert ask_once(server.url, times=2)[1].reason == "http_403"


def test_an_endpoint_that_answers_nothing_more_ends_the_run(serve):
    server = serve(lambda b, number: serve.completion("Fine.") if number == 1 else serve.Reply(status=500))
    with pytest.raises(EndpointError, match="20 requests in a row have failed, the last: HTTP 500"):
        ask_once(server.url, times=100, backoff=Backoff(retries=0))


def test_prompts_that_are_too_long_do_not_end_the_run(serve):
    server = serve(lambda b, number: serve.completion("Fine.") if number == 1 else serve.Reply(status=400))
    assert len(ask_once(server.url, times=60)) == 60


def test_nobody_there():
    failure = ask_once("http://127.0.0.1:9", backoff=Backoff(retries=0))
    assert failure.reason == "connection"


def test_the_key_is_sent_and_never_seen_again(serve):
    key = "sk-secret-0123456789"

    def reply(body, number):
        if number == 1:
            return serve.Reply(f"bad key {key}".encode(), status=400)
        return serve.completion(f"Your key is {key}.", model=key)

    server = serve(reply)
    failure, answer = ask_once(server.url, secret=key, times=2)
    assert server.posts[0][2]["Authorization"] == f"Bearer {key}"
    assert key not in str(failure) and "bad key [key]" in str(failure)
    assert answer.content == "Your key is [key]." and key not in json.dumps(answer.as_record())


def test_a_short_key_is_hidden_in_failures_and_changes_no_answer(serve):
    def reply(body, number):
        if number == 1:
            return serve.Reply(b"bad key EMPTY", status=400)
        if number == 2:
            return serve.Reply(json.dumps({"error": "x" * 185 + "EMPTY"}).encode())
        return serve.Reply(b"EMPTY") if number == 3 else serve.completion("The list is EMPTY.")

    once = Backoff(retries=0)
    *failures, answer = ask_once(serve(reply).url, secret="EMPTY", times=4, backoff=once)
    assert all("EMPTY" not in str(failure) and "[key]" in str(failure) for failure in failures)
    assert answer.content == "The list is EMPTY."


@pytest.mark.parametrize("usage", [[1], "many", 7, True])
def test_an_answer_without_readable_usage_is_not_paid_for_again(serve, usage):
    server = serve(lambda body, number: serve.completion("Fine.", usage=usage))
    answer = ask_once(server.url)
    assert (answer.content, answer.prompt_tokens, answer.completion_tokens) == ("Fine.", None, None)
    assert len(server.posts) == 1


@pytest.mark.parametrize(
    "escaped", [r"sk-a\/b\"c+d=0123", r"\u0073k-a/b\u0022c\u002Bd=0123", r"sk-a\\\/b\\\"c\\u002bd=0123"]
)
def test_a_key_that_comes_back_in_json_escapes_is_not_seen_again_either(serve, escaped):
    key = 'sk-a/b"c+d=0123'
    body = serve.completion("HERE").body.replace(b"HERE", escaped.encode())
    answer = ask_once(serve(lambda *_: serve.Reply(body)).url, secret=key)
    assert answer.content == "[key]"


def test_a_server_of_backslashes_does_not_keep_the_search_for_the_key_busy():
    started = time.monotonic()
    assert not spellings("sk-a/b+c=0123").search("\\" * MAX_BODY_BYTES)
    assert time.monotonic() - started < 20.0


def test_a_key_that_no_header_can_carry_is_refused_without_showing_it(monkeypatch):
    monkeypatch.setenv("MY_KEY", "sk-secret\nX-Evil: 1")
    with pytest.raises(ValueError, match="MY_KEY") as error:
        key_from_environment("MY_KEY")
    assert "sk-secret" not in str(error.value)
    monkeypatch.setenv("MY_KEY", " sk-good\n")
    assert key_from_environment("MY_KEY") == "sk-good"
    assert key_from_environment("MY_OTHER_KEY") is None


@pytest.mark.parametrize(
    "url",
    ["ftp://host/v1", "host:8000", "http://", "http://user:password@host", "https://host/v1?key=1", "http://[::1"],
)
def test_bad_urls_are_refused_without_their_secrets(url):
    with pytest.raises(ValueError) as error:
        check_url(url, "--base-url")
    assert "--base-url" in str(error.value) and "password" not in str(error.value).replace("user, password", "")


def test_a_good_url_loses_its_slash():
    assert check_url("http://host:8000/v1/", "--base-url") == "http://host:8000/v1"


def find(server, name):
    async def work():
        async with JsonClient(server.url) as client:
            return await find_model(client, name)

    return asyncio.run(work())


def test_which_model_is_served(serve):
    server = serve(lambda body, number: serve.completion(""))
    server.models = [{"id": "a", "max_model_len": 8192}]
    assert find(server, None).name == "a" and find(server, "a").max_model_len == 8192
    with pytest.raises(EndpointError, match="does not serve the model 'b'; it serves: a"):
        find(server, "b")
    server.models = [{"id": "a"}, {"id": "b", "max_model_len": "x"}, "junk", {"id": 7}]
    with pytest.raises(EndpointError, match="--model; it serves: a, b"):
        find(server, None)
    assert find(server, "b").max_model_len is None
    server.models = None
    assert find(server, "anything").name == "anything"
    with pytest.raises(EndpointError, match="does not list its models"):
        find(server, None)


@pytest.mark.parametrize("content", ["", None])
def test_an_empty_answer_is_an_answer(content):
    assert read_completion({"choices": [{"message": {"content": content}}]}).content == ""


def test_lone_surrogates_do_not_reach_the_files():
    answer = json.loads('{"model": "\\ud800", "choices": [{"message": {"content": "a\\ud800b"}}]}')
    completion = read_completion(answer)
    assert json.dumps(completion.as_record(), ensure_ascii=False).encode()


def test_the_key_of_a_request_knows_the_model_the_prompt_and_the_decoding():
    key = completion_key("model", QUESTION, Decoding())
    assert key == completion_key("model", list(QUESTION), Decoding())
    others = {
        completion_key("other", QUESTION, Decoding()),
        completion_key("model", [Message(role="system", content="How are you?")], Decoding()),
        completion_key("model", QUESTION, Decoding(seed=1)),
        completion_key("model", QUESTION, Decoding(temperature=0.1)),
        completion_key("model", QUESTION, Decoding(extra={"top_k": 1})),
    }
    assert len(others | {key}) == 6


def test_a_null_takes_a_field_out():
    decoding = Decoding(extra={"max_tokens": None, "max_completion_tokens": 100})
    assert decoding.fields() == {"temperature": 0.0, "seed": 0, "max_completion_tokens": 100}


def test_an_answer_is_no_longer_than_there_is_room_for():
    assert Decoding(max_tokens=4096).fitting(6000, 8192).max_tokens == 2192
    assert Decoding(max_tokens=512).fitting(6000, 8192).max_tokens == 512
    assert Decoding(max_tokens=4096).fitting(9000, 8192).max_tokens == MIN_NEW_TOKENS


def test_who_waited_for_a_server_that_did_not_start_starts_no_other():
    starts = []

    @asynccontextmanager
    async def failing():
        starts.append(1)
        await asyncio.sleep(0.01)
        raise EndpointError("no memory")
        yield

    async def work():
        async with LazyEndpoint(failing) as endpoint:
            return await asyncio.gather(*(endpoint.client() for _ in range(5)), return_exceptions=True)

    assert [str(failure) for failure in asyncio.run(work())] == ["no memory"] * 5 and len(starts) == 1
