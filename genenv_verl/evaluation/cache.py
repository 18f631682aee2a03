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
"""Answers that were paid for once: an append-only file of JSON lines that survives a kill at any instant.

A line counts once it ends with a newline. What a kill left of a last line is cut off when the file is opened again.
"""

from __future__ import annotations

import errno
import fcntl
import json
import logging
import os
from pathlib import Path
from typing import Any

logger = logging.getLogger(__name__)


class CacheInUse(RuntimeError):
    """Another process has the cache open."""


class AnswerCache:
    """A dictionary of JSON objects on disk, opened by one process at a time. A context manager.

    Args:
        path: The file; it and its folder are made if they are not there.

    Raises:
        CacheInUse: Another process has it open.
    """

    def __init__(self, path: Path):
        path.parent.mkdir(parents=True, exist_ok=True)
        self._path = path
        self._file = os.open(path, os.O_RDWR | os.O_CREAT | os.O_APPEND, 0o644)
        try:
            fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            os.close(self._file)
            raise CacheInUse(
                f"{path}: another evaluation is writing here; wait for it or choose another --out"
            ) from None
        except OSError as error:
            if error.errno not in (errno.ENOLCK, errno.ENOSYS, errno.EOPNOTSUPP):  # a file system without locks
                raise
        self._answers: dict[str, dict[str, Any]] = {}
        self.damaged_lines = 0
        self._read(path)
        if self.damaged_lines:
            logger.warning("%s: %d damaged lines are passed over", path, self.damaged_lines)

    def __enter__(self) -> AnswerCache:
        return self

    def __exit__(self, *_: object) -> None:
        os.fsync(self._file)
        os.close(self._file)

    def __len__(self) -> int:
        return len(self._answers)

    def get(self, key: str) -> dict[str, Any] | None:
        return self._answers.get(key)

    def put(self, key: str, answer: dict[str, Any]) -> None:
        """Adds an answer; a key that is there already keeps its first answer, so that repeated runs agree."""
        if key in self._answers:
            return
        line = json.dumps({"key": key, "answer": answer}).encode() + b"\n"
        try:
            while line:
                line = line[os.write(self._file, line) :]
        except OSError as error:
            raise OSError(error.errno, error.strerror, str(self._path)) from None  # a file descriptor has no name
        self._answers[key] = answer

    def _read(self, path: Path) -> None:
        whole_lines = 0
        with path.open("rb") as lines:
            for line in lines:
                if not line.endswith(b"\n"):
                    break
                whole_lines += len(line)
                self._read_line(line)
        os.ftruncate(self._file, whole_lines)

    def _read_line(self, line: bytes) -> None:
        try:
            record = json.loads(line)
            key, answer = record["key"], record["answer"]
        except (ValueError, KeyError, TypeError, RecursionError):
            self.damaged_lines += 1
            return
        if isinstance(key, str) and isinstance(answer, dict):
            self._answers.setdefault(key, answer)
        else:
            self.damaged_lines += 1
