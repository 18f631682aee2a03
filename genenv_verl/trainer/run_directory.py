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
"""The files of a run: ``<trainer.default_local_dir>/genenv/``. They survive a kill -9 at any instant."""

from __future__ import annotations

import errno
import fcntl
import json
import os
from pathlib import Path
from typing import Any, BinaryIO

from genenv_verl.pools.pool import Pool


def write_atomically(path: Path, text: str) -> None:
    """Writes a whole file or nothing: temporary file, fsync, rename, fsync of the folder."""
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_name(path.name + ".tmp")
    with open(temporary, "w", encoding="utf-8", errors="replace") as file:
        file.write(text)
        file.flush()
        os.fsync(file.fileno())
    os.replace(temporary, path)
    folder = os.open(path.parent, os.O_RDONLY)
    try:
        os.fsync(folder)
    finally:
        os.close(folder)


def append_line(path: Path, text: str) -> None:
    """Adds a line to a file, which is made, with its folder, if it is missing; returns when it is on disk.

    A kill may leave a part of the line. The next line then begins on its own, so that nothing else is damaged.

    Args:
        path: The file.
        text: The line, ASCII, without its end.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    with open(path, "ab+") as file:
        file.write(b"\n" * (not _ends_whole(file)) + text.encode("ascii") + b"\n")
        file.flush()
        os.fsync(file.fileno())


def _ends_whole(file: BinaryIO) -> bool:
    """Whether a file is empty or ends with the end of a line."""
    if file.seek(0, os.SEEK_END) == 0:
        return True
    file.seek(-1, os.SEEK_END)
    return file.read(1) == b"\n"


class RunInUse(RuntimeError):
    """Another process works in the run directory."""


def lock_run(root: Path) -> int:
    """Claims a run's folder until this process ends, however it ends.

    Returns:
        The descriptor of the lock; closing it gives the folder free.

    Raises:
        RunInUse: Another process has it; two runs in one folder would write into the same pools.
    """
    root.mkdir(parents=True, exist_ok=True)
    lock = os.open(root / "genenv.lock", os.O_RDWR | os.O_CREAT, 0o644)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        os.close(lock)
        raise RunInUse(f"another process is running in {root}: end it, or give another folder") from None
    except OSError as error:
        if error.errno not in (errno.ENOLCK, errno.ENOSYS, errno.EOPNOTSUPP):  # a file system without locks
            raise
    return lock


class EpochFile:
    """``epochs.jsonl``: a line an epoch, in order. A last line that a kill has cut off counts as none.

    Args:
        path: The file; made by the first line.
    """

    def __init__(self, path: Path):
        self.path = path
        # the file is whole and ends before this epoch; None: nobody has looked yet
        self._next: int | None = None

    def write(self, line: dict[str, Any]) -> None:
        """Adds a line; lines of its epoch and of later ones are removed first."""
        epoch = line["epoch"]
        if self._next is None or epoch < self._next:
            self.cut_back(epoch)
        # ASCII: what a model wrote may hold other line separators, or halves of surrogate pairs
        append_line(self.path, json.dumps(line))
        self._next = epoch + 1

    def cut_back(self, epoch: int) -> None:
        """Keeps the lines of epochs before ``epoch``."""
        if self.path.exists():
            lines = self.path.read_text(encoding="utf-8").splitlines(keepends=True)
            whole = [line for line in lines if line.endswith("\n")]
            write_atomically(self.path, "".join(line for line in whole if json.loads(line)["epoch"] < epoch))
        self._next = epoch


class RunDirectory:
    """Pools, epoch lines and task files of one run.

    Args:
        root: the ``genenv`` folder; made if it is missing.
    """

    def __init__(self, root: Path):
        self.root = root
        self.epochs = EpochFile(self.epochs_file)
        self._open()

    def _open(self) -> None:
        self.root.mkdir(parents=True, exist_ok=True)
        self.d_train = Pool(self.root / "d_train", "d_train")
        self.d_env = Pool(self.root / "d_env", "d_env")

    @property
    def epochs_file(self) -> Path:
        return self.root / "epochs.jsonl"

    def tasks_file(self, epoch: int) -> Path:
        return self.root / "tasks" / f"epoch_{epoch:04d}.jsonl"

    def write_epoch(self, epoch: int, line: dict[str, Any], tasks: list[dict[str, Any]]) -> None:
        """Writes an epoch's task file, then its line."""
        # ASCII: what a model wrote may hold other line separators, or halves of surrogate pairs
        text = "".join(json.dumps(record) + "\n" for record in tasks)
        write_atomically(self.tasks_file(epoch), text)
        self.epochs.write({**line, "epoch": epoch})

    def marker(self) -> dict[str, Any]:
        """Where the pools stand: goes into the checkpoint."""
        return {"d_train": self.d_train.marker(), "d_env": self.d_env.marker()}

    def set_aside(self) -> Path | None:
        """Starts with empty pools; what an earlier run without a checkpoint left is kept beside, as ``genenv.1`` ….

        Returns:
            Where it went, ``None`` if there was nothing.
        """
        if not (len(self.d_train) or len(self.d_env) or self.epochs_file.exists()):
            return None
        number = 1
        while (aside := self.root.with_name(f"{self.root.name}.{number}")).exists():
            number += 1
        self.d_train.close()
        self.d_env.close()
        self.root.rename(aside)
        self._open()
        return aside

    def cut_back(self, marker: dict[str, Any], epoch: int) -> None:
        """Goes back to a checkpoint: pools to its marker, epoch lines and task files to those before ``epoch``."""
        self.d_train.cut_back(marker["d_train"])
        self.d_env.cut_back(marker["d_env"])
        self.epochs.cut_back(epoch)
        for file in (self.root / "tasks").glob("epoch_*.jsonl"):
            if int(file.stem.removeprefix("epoch_")) >= epoch:
                file.unlink()
