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
"""What is known of a model in a local folder without loading it."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from pathlib import Path

_CHUNK_BYTES = 4 * 2**20
_NO_PART_OF_THE_MODEL = {".md", ".png", ".jpg", ".gitattributes", ".lock"}


class ModelFolderError(ValueError):
    """The folder holds no Hugging Face model; the message names the file."""


def is_folder(model: str) -> bool:
    """Whether a model is a local folder; a hub name is ``owner/name``."""
    return Path(model).is_dir()


def fingerprint(folder: Path) -> str:
    """The folder's name and a hash of all its files: other weights in the same place are another model.

    Reads every byte once, which the server would do anyway.

    Raises:
        ModelFolderError: It has no ``config.json``.
    """
    if not (folder / "config.json").is_file():
        raise ModelFolderError(f"{folder} is no Hugging Face model: {folder / 'config.json'} is missing")
    digest = hashlib.sha256()
    for path in sorted(path for path in folder.iterdir() if path.is_file()):
        if path.suffix in _NO_PART_OF_THE_MODEL:
            continue
        digest.update(f"{path.name} {path.stat().st_size}\n".encode())
        with path.open("rb") as file:
            while chunk := file.read(_CHUNK_BYTES):
                digest.update(chunk)
    return f"{folder.resolve().name}@{digest.hexdigest()[:16]}"


def context_length(folder: Path) -> int | None:
    """The longest prompt plus answer of a model in tokens, None if its ``config.json`` does not say."""
    try:
        config = json.loads((folder / "config.json").read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise ModelFolderError(f"{folder / 'config.json'} is damaged: {error}") from None
    length = config.get("max_position_embeddings") if isinstance(config, dict) else None
    return length if isinstance(length, int) and length > 0 else None


def token_counter(folder: Path) -> Callable[[str], int] | None:
    """Counts tokens with the model's own ``tokenizer.json``; None without that file or the library ``tokenizers``."""
    try:
        from tokenizers import Tokenizer
    except ImportError:
        return None
    path = folder / "tokenizer.json"
    if not path.is_file():
        return None
    tokenizer = Tokenizer.from_file(str(path))
    return lambda text: len(tokenizer.encode(text, add_special_tokens=False).ids)
