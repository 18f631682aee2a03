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
import importlib.util

import pytest

if importlib.util.find_spec("transformers") is None or importlib.util.find_spec("torch") is None:
    pytest.skip("transformers is not installed", allow_module_level=True)

import transformers

from genenv_verl.trainer.parameter_count import parameter_count

SIZES = {"hidden_size": 16, "intermediate_size": 32, "num_hidden_layers": 2, "num_attention_heads": 2, "vocab_size": 50}


def save(folder, tied):
    config = transformers.LlamaConfig(**SIZES, num_key_value_heads=2, tie_word_embeddings=tied)
    config.save_pretrained(folder)
    return str(folder)


def test_a_table_of_its_own_does_not_multiply_and_a_shared_one_does(tmp_path):
    # two layers of attention (4 x 16 x 16), MLP (3 x 16 x 32) and two norms (16); a last norm; the head (50 x 16)
    by_hand = 2 * (4 * 16 * 16 + 3 * 16 * 32 + 2 * 16) + 16 + 50 * 16
    assert parameter_count(save(tmp_path / "own", tied=False)) == by_hand
    assert parameter_count(save(tmp_path / "tied", tied=True)) == by_hand


def test_a_model_that_cannot_be_built_has_no_number(tmp_path):
    assert parameter_count(None) is None
    (tmp_path / "config.json").write_text('{"model_type": "nonsense"}')
    assert parameter_count(str(tmp_path)) is None
