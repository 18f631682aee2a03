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
"""``manifest.json``: how a fixed training set was made. It is what a run of ``static`` or ``offline`` is allowed on."""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from genenv_verl.tasks.schema import first_problem

MANIFEST_FILE = "manifest.json"
TRAIN_FILE = "train.parquet"
MANIFEST_VERSION = 1

Count = Annotated[int, Field(ge=0)]
Counts = dict[str, Count]


class ManifestError(ValueError):
    """A training file was not made by ``genenv-verl augment``, or is not what it was then. Names the file."""


class TokenCost(BaseModel):
    """What the writing cost, over all answers that the set is made of, whenever they were paid.

    ``untold`` answers came without a token count and are in neither sum. Tries that failed are not known to have cost.
    """

    model_config = ConfigDict(extra="forbid")

    prompt: Count = 0
    completion: Count = 0
    untold: Count = 0


class Manifest(BaseModel):
    """The account of a fixed training set.

    ``requested`` = ``generated`` + Σ ``failed`` + ``not_asked``; ``generated`` = ``valid`` + Σ ``invalid_reasons``;
    ``rows`` = ``seeds`` + ``valid``.
    """

    model_config = ConfigDict(extra="forbid")

    version: Literal[1] = MANIFEST_VERSION
    variant: Literal["static", "offline"]
    model: str
    endpoint: str
    served_models: list[str]
    sampling: dict[str, Any]
    settings: dict[str, Any]
    limits: dict[str, Any]
    seed_files: dict[str, str]
    seeds: Count
    n_variations: Count
    target_multiple: float | None
    target_rows: Count | None
    requested: Count
    not_asked: Count
    failed: Counts
    generated: Count
    valid: Count
    invalid_reasons: Counts
    rows: Count
    tokens: TokenCost
    train_sha256: str


def sha256_of(path: Path) -> str:
    """Hash of a file's content in hexadecimal digits (OSError if it cannot be read)."""
    digest = hashlib.sha256()
    with path.open("rb") as file:
        while chunk := file.read(2**20):
            digest.update(chunk)
    return digest.hexdigest()


def manifest_of(train_file: Path, variant: str) -> Manifest:
    """The manifest beside a training file, checked against the file.

    Args:
        train_file: What ``data.train_files`` names.
        variant: What the run calls itself, ``static`` or ``offline``.

    Raises:
        ManifestError: There is none, it cannot be read, it belongs to another variant, or the file has changed.
    """
    path = train_file.parent / MANIFEST_FILE
    remedy = "make it with `genenv-verl augment` and give its train.parquet"
    try:
        manifest = Manifest.model_validate_json(path.read_bytes())
    except OSError:
        raise ManifestError(f"{train_file}: there is no readable {path} beside it: {remedy}") from None
    except ValidationError as error:
        raise ManifestError(f"{path} is damaged ({first_problem(error)}): {remedy}") from None
    if manifest.variant != variant:
        raise ManifestError(
            f"{train_file} was written as {manifest.variant!r} (model {manifest.model}), the run is {variant!r}: "
            f"use genenv.variant={manifest.variant}, or make another file"
        )
    try:
        is_the_same = sha256_of(train_file) == manifest.train_sha256
    except OSError as error:
        raise ManifestError(f"{train_file} cannot be read: {error}") from None
    if not is_the_same:
        raise ManifestError(f"{train_file} is not the file that {path} describes: {remedy}")
    return manifest
