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
"""A local vLLM server for the time of an evaluation. Only this part of the package's evaluation needs vLLM."""

from __future__ import annotations

import asyncio
import importlib.metadata
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path

import httpx

START_TIMEOUT_S = 1800.0
GRACE_S = 10.0
_LOG_TAIL_LINES = 30

# On a CPU: threads are not bound (containers refuse it), and nothing is compiled, which would need a C++ compiler.
_CPU_ENVIRONMENT = {"VLLM_CPU_OMP_THREADS_BIND": "nobind", "TORCH_COMPILE_DISABLE": "1"}
_QUIET_ENVIRONMENT = {"VLLM_NO_USAGE_STATS": "1", "DO_NOT_TRACK": "1"}


class ServerError(RuntimeError):
    """The server cannot be started or has died; the message holds the end of its log."""


def vllm_version() -> str:
    """The version of the installed vLLM; the distribution for the CPU is called vllm-cpu.

    Raises:
        ServerError: There is none.
    """
    for distribution in ("vllm", "vllm-cpu"):
        try:
            version = importlib.metadata.version(distribution)
        except importlib.metadata.PackageNotFoundError:
            continue
        return version if distribution == "vllm" or "cpu" in version else f"{version}+cpu"
    raise ServerError(
        "--model without --base-url starts a vLLM server, but vLLM is not installed: "
        "pip install '.[gpu]' (or '.[cpu]') in genenv_verl's folder, or give the --base-url of a server"
    )


def has_bfloat16_instructions(cpuinfo: Path = Path("/proc/cpuinfo")) -> bool:
    """Whether the processor multiplies bfloat16 itself; where it is emulated, float32 is many times faster.

    True where nothing is known about the processor: vLLM's own choice stands.
    """
    try:
        lines = cpuinfo.read_text(encoding="utf-8").splitlines()
    except OSError:
        return True
    flags = [line for line in lines if line.partition(":")[0].strip() in ("flags", "Features")]
    return "bf16" in flags[0] if flags else True


def server_command(
    model: str, *, name: str, port: int, max_model_len: int | None, arguments: Sequence[str]
) -> list[str]:
    """The command line of the server; the user's arguments come last and win."""
    command = [sys.executable, "-m", "vllm.entrypoints.openai.api_server", "--model", model]
    command += ["--served-model-name", name, "--host", "127.0.0.1", "--port", str(port)]
    if max_model_len is not None:
        command += ["--max-model-len", str(max_model_len)]
    if vllm_version().endswith("cpu"):
        command.append("--enforce-eager")
        if not has_bfloat16_instructions():
            command += ["--dtype", "float32"]
    return [*command, *arguments]


@asynccontextmanager
async def vllm_server(
    model: str,
    *,
    name: str,
    log: Path,
    max_model_len: int | None = None,
    arguments: Sequence[str] = (),
    start_timeout_s: float = START_TIMEOUT_S,
) -> AsyncIterator[str]:
    """Starts a server, waits until it answers, and ends it with everything it started, however the block ends.

    Args:
        model: Folder or hub name.
        name: Under which it is served.
        log: The server's output goes here.
        max_model_len: Longest prompt plus answer in tokens, None for the model's own.
        arguments: Further arguments of vLLM's server.
        start_timeout_s: Seconds until it must answer.

    Yields:
        The base URL.

    Raises:
        ServerError: vLLM is missing, or the server dies or does not answer in time.
    """
    port = free_port()
    command = server_command(model, name=name, port=port, max_model_len=max_model_len, arguments=arguments)
    environment = _QUIET_ENVIRONMENT | (_CPU_ENVIRONMENT if vllm_version().endswith("cpu") else {})
    if Path(model).is_dir():
        environment |= {"HF_HUB_OFFLINE": "1"}  # everything is in the folder
    with running(command, log, environment) as process:
        await wait_until_healthy(process, f"http://127.0.0.1:{port}/health", log, start_timeout_s)
        yield f"http://127.0.0.1:{port}/v1"


@contextmanager
def running(
    command: Sequence[str], log: Path, environment: Mapping[str, str], grace_s: float = GRACE_S
) -> Iterator[subprocess.Popen[bytes]]:
    """A process group that ends with the block, or with this process, however that ends.

    Args:
        command: What is run.
        log: Its output goes here.
        environment: Added where this process's environment does not say otherwise.
        grace_s: Seconds between the request to end and the end.
    """
    log.parent.mkdir(parents=True, exist_ok=True)
    with log.open("wb") as output:
        process = subprocess.Popen(
            [sys.executable, "-m", "genenv_verl.evaluation.guard", str(grace_s), *command],
            stdin=subprocess.PIPE,
            stdout=output,
            stderr=subprocess.STDOUT,
            env={**environment, **os.environ},
            start_new_session=True,
        )
    try:
        yield process
    finally:
        process.stdin.close()
        try:
            process.wait(grace_s + 5.0)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()


def free_port() -> int:
    """A TCP port of this machine that nobody listens on now."""
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return listener.getsockname()[1]


async def wait_until_healthy(process: subprocess.Popen[bytes], url: str, log: Path, timeout_s: float) -> None:
    """Returns once the URL answers with 200 (ServerError if the process ends before, or the time is over)."""
    deadline = time.monotonic() + timeout_s
    async with httpx.AsyncClient(trust_env=False, timeout=5.0) as client:
        while process.poll() is None:
            try:
                if (await client.get(url)).status_code == 200:
                    return
            except httpx.TransportError:
                pass  # it is not there yet
            if time.monotonic() > deadline:
                raise ServerError(f"the server does not answer after {timeout_s:g} s\n{_tail(log)}")
            await asyncio.sleep(0.5)
    raise ServerError(f"the server ended with status {process.returncode}\n{_tail(log)}")


def _tail(log: Path) -> str:
    lines = log.read_text(encoding="utf-8", errors="replace").splitlines()[-_LOG_TAIL_LINES:]
    return "\n".join([f"the end of {log}:", *lines])
