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

import json
import os
import resource
import signal
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from genenv_verl.tasks.sandbox import jail as jail_module
from genenv_verl.tasks.sandbox.isolation import empty_directory
from genenv_verl.tasks.sandbox.jail import Jail, JailUnavailable, Limits, NoReply

PROGRAM = """
import os, time

loaded = os.getpid()

def run(request):
    if "sleep" in request:
        time.sleep(request["sleep"])
    if "file" in request:
        return {"words": open(request["file"]).read().split()}
    if "size" in request:
        return {"text": "x" * request["size"]}
    if "nested" in request:
        return "[" * 9 if request["nested"] == "text" else None
    return {"echo": request.get("text"), "secret": os.environ.get("GENENV_SECRET")}
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("jail")
    (folder / "program_of_the_jail_test.py").write_text(PROGRAM)
    (folder / "program_that_does_not_load.py").write_text("import a_module_that_is_missing")
    (folder / "data").mkdir()
    (folder / "data" / "words.txt").write_text("ada bob")
    (folder / "single.txt").write_text("eve")
    (folder / "hidden.txt").write_text("hidden")
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(str(folder))
        patch.setenv("GENENV_SECRET", "1234")
        yield folder


def open_jail(folder: Path, **options) -> Jail:
    try:
        return Jail("program_of_the_jail_test", readable=[folder / "data", folder / "single.txt"], **options)
    except JailUnavailable as error:
        pytest.skip(str(error))


@pytest.fixture(scope="module")
def jail(folder):
    with open_jail(folder, limits=Limits(reply_bytes=100_000)) as jail:
        yield jail


def reason_of(jail: Jail, request: dict, timeout_s: float = 20) -> str:
    with pytest.raises(NoReply) as caught:
        jail.call(request, timeout_s)
    return str(caught.value)


def is_running(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def descendants(pid: int) -> list[int]:
    children = [int(child) for child in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]
    return children + [below for child in children for below in descendants(child)]


def wait_until_gone(pids: list[int]) -> None:
    deadline = time.monotonic() + 10
    while any(map(is_running, pids)) and time.monotonic() < deadline:
        time.sleep(0.05)
    assert not any(map(is_running, pids))


def test_text_passes_unchanged(jail):
    assert jail.call({"text": "hé\ud800\0"}, 20)["echo"] == "hé\ud800\0"


def test_variables_do_not_pass(jail):
    assert jail.call({}, 20)["secret"] is None


def test_readable_paths_and_nothing_else(jail, folder):
    assert jail.call({"file": str(folder / "data" / "words.txt")}, 20) == {"words": ["ada", "bob"]}
    assert jail.call({"file": str(folder / "single.txt")}, 20) == {"words": ["eve"]}
    assert reason_of(jail, {"file": str(folder / "hidden.txt")}).startswith("exception: ")
    assert reason_of(jail, {"file": str(folder / "data" / ".." / "hidden.txt")}).startswith("exception: ")


@pytest.mark.parametrize(
    ("request_", "reason"),
    [
        ({"size": 200_000}, "output_limit"),
        ({"nested": "text"}, "bad_reply: str instead of an object"),
        ({"nested": None}, "bad_reply: NoneType instead of an object"),
        ({"sleep": "long"}, "exception: TypeError"),
    ],
)
def test_no_reply(jail, request_, reason):
    assert reason_of(jail, request_) == reason


def test_request_too_large(jail, monkeypatch):
    monkeypatch.setattr(jail_module, "MAX_BYTES", 1000)
    assert reason_of(jail, {"text": "x" * 1000}).startswith("too_large: ")


def test_timeout_strikes_in_time(jail):
    start = time.monotonic()
    assert reason_of(jail, {"sleep": 99}, timeout_s=0.5) == "timeout"
    assert time.monotonic() - start < 10
    assert jail.call({"text": "next"}, 20)["echo"] == "next"


def test_killed_worker_is_replaced(jail):
    (pid,) = jail.pids()
    below = descendants(pid)
    os.kill(pid, signal.SIGKILL)
    wait_until_gone(below)
    assert jail.call({"text": "next"}, 20)["echo"] == "next"
    assert jail.pids() != [pid]


def test_worker_killed_during_a_call_is_replaced_and_the_call_repeated(jail):
    with ThreadPoolExecutor() as pool:
        reply = pool.submit(jail.call, {"sleep": 1.0, "text": "late"}, 20)
        time.sleep(0.4)
        os.kill(jail.pids()[0], signal.SIGKILL)
        assert reply.result(30)["echo"] == "late"


def test_threads_share_the_workers(folder):
    with open_jail(folder, workers=2) as jail, ThreadPoolExecutor(8) as pool:
        texts = [str(number) for number in range(24)]
        replies = pool.map(lambda text: jail.call({"text": text}, 20)["echo"], texts)
        assert list(replies) == texts
        assert len(jail.pids()) == 2


def test_closing_ends_the_workers(folder):
    jail = open_jail(folder)
    pids = [*jail.pids(), *descendants(jail.pids()[0])]
    assert all(map(is_running, pids))
    jail.close()
    wait_until_gone(pids)


OWNER = """
import json, os, sys, time
sys.path.insert(0, sys.argv[1])
from genenv_verl.tasks.sandbox.jail import Jail
jail = Jail("program_of_the_jail_test")
print(json.dumps(jail.pids()), flush=True)
if sys.argv[2] == "fork" and os.fork() == 0:
    time.sleep(60)
jail.call({"sleep": 60}, 60)
"""


@pytest.mark.parametrize("how", ["plain", "fork"])
def test_workers_end_with_their_owner(jail, folder, how):
    """Also if it dies in the middle of a call, and if a process that it forked holds its sockets."""
    owner = subprocess.Popen([sys.executable, "-c", OWNER, folder, how], stdout=subprocess.PIPE, text=True)
    (pid,) = json.loads(owner.stdout.readline())
    time.sleep(0.3)
    pids = [pid, *descendants(pid)]
    forked = [child for child in descendants(owner.pid) if child not in pids]
    owner.kill()
    owner.wait()
    owner.stdout.close()
    wait_until_gone(pids)
    for child in forked:
        os.kill(child, signal.SIGKILL)


def test_jail_works_in_a_forked_process_beside_its_owner(jail):
    before = jail.pids()
    child = os.fork()
    if child == 0:
        status = 1
        try:
            same = jail.call({"text": "forked"}, 20)["echo"] == "forked"
            status = 0 if same and jail.pids() != before else 1
            jail.close()
        finally:
            os._exit(status)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    assert jail.call({"text": "owner"}, 20)["echo"] == "owner"
    assert jail.pids() == before


def test_program_that_does_not_load(jail):
    with pytest.raises(ImportError, match=r"program_that_does_not_load.*a_module_that_is_missing"):
        Jail("program_that_does_not_load")


def test_machine_without_isolation_is_refused(folder, monkeypatch):
    monkeypatch.setattr(jail_module, "_BOOT", "import sys")
    with pytest.raises(JailUnavailable, match=r"(?s)namespaces: .*landlock: .*max_user_namespaces"):
        Jail("program_of_the_jail_test")


def test_a_large_limit_on_stacks_takes_no_memory_from_a_call(jail, folder):
    soft, hard = resource.getrlimit(resource.RLIMIT_STACK)
    if hard != resource.RLIM_INFINITY:
        pytest.skip("this user's stacks cannot be that large")
    resource.setrlimit(resource.RLIMIT_STACK, (4 << 30, hard))
    try:
        with Jail("program_of_the_jail_test", modes=[jail.mode]) as other:
            assert other.call({"text": "x"}, 20)["echo"] == "x"
    finally:
        resource.setrlimit(resource.RLIMIT_STACK, (soft, hard))


def test_empty_directory_reads_each_directory_once(tmp_path, monkeypatch):
    """A crowded folder must not cost the next call more than its files: reading it once a file is quadratic."""
    read = []
    list_names = os.listdir
    monkeypatch.setattr(os, "listdir", lambda *path: read.append(path) or list_names(*path))
    monkeypatch.setattr(os, "scandir", None)
    monkeypatch.chdir(tmp_path)
    for number in range(100):
        os.mkdir(f"{number}", 0)
        Path(f"{number}.txt").touch()
        os.symlink("/", f"{number}.link")
    for _ in range(100):
        os.mkdir("d")
        os.chdir("d")
    os.chdir(tmp_path)
    empty_directory()
    assert list_names(tmp_path) == []
    assert len(read) == 1 + 100 + 100
