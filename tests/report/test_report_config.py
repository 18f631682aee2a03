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

from pathlib import Path

import pytest
import yaml

from genenv_verl.report.run_config import MASK, flatten, mask_override, mask_value, read_config


@pytest.mark.parametrize(
    "key",
    ["trainer.wandb_api_key", "a.hf_token", "OPENAI_API_KEY", "x.password", "x.credentials.user",
     "headers.Authorization",
     "accessToken", "client.secret.id", "aws_secret_access_key", "ray.runtime_env.env_vars.WANDB_API_KEY", "db.pwd"],
)  # fmt: skip
def test_values_of_secret_keys_are_masked(key):
    assert mask_value(key, "hunter2") == MASK


@pytest.mark.parametrize(
    ("key", "value"),
    [("data.max_tokens", 4096), ("data.prompt_key", "prompt"), ("actor.loss_agg_mode", "token-mean"),
     ("x.token2text", False),
     ("x.eos_token", "</s>"), ("a.profile_token_start", None), ("x.tokenizer", "a/b"), ("num_speculative_tokens", 1),
     ("model.tokenizer_path", "/models/a"), ("x.api_key", "${oc.env.KEY}"), ("x.password", None),
     ("x.headers.auth", "{}")],
)  # fmt: skip
def test_what_is_no_secret_stays(key, value):
    assert mask_value(key, value) == value


def test_numbers_under_a_password_are_masked_and_counts_of_tokens_are_not():
    assert mask_value("db.password", 1234) == MASK
    assert mask_value("max_token", 1234) == 1234


@pytest.mark.parametrize(
    ("text", "left"),
    [
        ("run with sk-abcdefghijklmnop1234", "run with " + MASK),
        ("hf_abcdefghijklmnopqrstuv", MASK),
        ("https://user:hunter2@host/v1", f"https://{MASK}@host/v1"),
        ("https://host/v1?model=a&api_key=hunter2&x=1", f"https://host/v1?model=a&{MASK}&x=1"),
        ("Bearer abcdef123456", "Bearer " + MASK),
    ],
)
def test_values_that_look_like_secrets_are_masked_under_any_key(text, left):
    assert mask_value("some.note", text) == left
    assert "hunter2" not in mask_override(f"+some.note={text}")


def test_overrides_are_masked_by_their_key():
    assert mask_override("+trainer.wandb_api_key=hunter2") == f"+trainer.wandb_api_key={MASK}"
    assert mask_override("genenv.beta=2") == "genenv.beta=2"
    assert mask_override("a.ppo_max_token_len_per_gpu=8192") == "a.ppo_max_token_len_per_gpu=8192"
    assert mask_override("db.password=1234") == f"db.password={MASK}"


def test_a_configuration_that_unfolds_without_end_is_cut():
    bomb: list = ["x"]
    for _ in range(60):
        bomb = [bomb, bomb]
    assert len(flatten({"a": bomb})) <= 20_000
    loop: dict = {}
    loop["self"] = loop
    assert flatten(loop)


@pytest.mark.parametrize(
    "text", ["{", "- a", "a: !!python/object/apply:os.system [true]", "[" * 3000, "a: " + "9" * 5000]
)
def test_a_broken_configuration_is_a_note(tmp_path, text):
    folder = tmp_path / "hydra" / ".hydra"
    folder.mkdir(parents=True)
    (folder / "config.yaml").write_text(text)
    notes: list[str] = []
    config = read_config(tmp_path, notes)
    assert config is None and notes


def test_what_the_preset_decides_is_shown_as_it_was_used(tmp_path):
    folder = tmp_path / "hydra" / ".hydra"
    folder.mkdir(parents=True)
    block = {"preset": "calibrated", "beta": None, "granularity": "seed", "rwr": {"lam": None, "max_kl": None}}
    (folder / "config.yaml").write_text(yaml.safe_dump({"genenv": block}))
    values = read_config(tmp_path, []).effective
    assert [values[f"genenv.{key}"] for key in ("beta", "rwr.lam", "granularity")] == [10.0, 0.2, "seed"]
    assert values["genenv.rwr.max_kl"] is None


def test_a_configuration_in_a_folder_that_may_not_be_entered_is_a_note(tmp_path, monkeypatch):
    def refuse(_):
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(Path, "is_file", refuse)
    notes: list[str] = []
    assert read_config(tmp_path, notes) is None
    assert notes == ["The configuration cannot be read: Permission denied."]
