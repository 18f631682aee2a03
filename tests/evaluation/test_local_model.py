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
import shutil

import pytest

from genenv_verl.evaluation.local_model import ModelFolderError, context_length, fingerprint, is_folder


@pytest.fixture
def model(tmp_path):
    folder = tmp_path / "model"
    folder.mkdir()
    (folder / "config.json").write_text(json.dumps({"max_position_embeddings": 8192}))
    (folder / "model.safetensors").write_bytes(bytes(5 * 2**20))
    return folder


def test_other_weights_in_the_same_place_are_another_model(model):
    before = fingerprint(model)
    assert before.startswith("model@")
    (model / "README.md").write_text("words about it")
    assert fingerprint(model) == before
    with (model / "model.safetensors").open("r+b") as weights:
        weights.seek(2**20)
        weights.write(b"\1")
    assert fingerprint(model) != before


def test_a_copy_is_the_same_model(model, tmp_path):
    copy = tmp_path / "elsewhere" / "model"
    shutil.copytree(model, copy)
    assert fingerprint(copy) == fingerprint(model)


def test_a_folder_that_is_no_model(tmp_path):
    with pytest.raises(ModelFolderError, match="config.json is missing"):
        fingerprint(tmp_path)
    assert is_folder(str(tmp_path)) and not is_folder("Qwen/Qwen2.5-7B-Instruct")


@pytest.mark.parametrize(
    ("content", "length"),
    [({"max_position_embeddings": 8192}, 8192), ({}, None), ([], None), ({"max_position_embeddings": "x"}, None)],
)
def test_context_length(model, content, length):
    (model / "config.json").write_text(json.dumps(content))
    assert context_length(model) == length


def test_a_damaged_config_is_named(model):
    (model / "config.json").write_text("{")
    with pytest.raises(ModelFolderError, match="config.json is damaged"):
        context_length(model)
