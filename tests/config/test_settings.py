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
"""The genenv block: yaml and typed settings say the same, and a bad value names key, value and what is allowed."""

import math

import pytest
import yaml

from genenv_verl.config.allowed import block_of
from genenv_verl.config.reference import comments, yaml_text
from genenv_verl.config.settings import (
    PRESETS,
    Filter,
    Granularity,
    RegressionSettings,
    Settings,
    SettingsError,
    read_settings,
)
from genenv_verl.curriculum import acceptance, difficulty, weights

# null in the yaml: filled in from the preset
PRESET_KEYS = {"granularity", "filter", "k_min", "beta", "rwr.lam"}
# the yaml fills these in from verl's configuration; a caller without Hydra gives them
YAML_ONLY = {"seeds", "environment", "sandbox.sandbox_fusion_url"}


def yaml_block():
    return yaml.safe_load(yaml_text())["genenv"]


def test_the_curriculum_knows_every_word_that_the_settings_allow():
    """Neither imports the other: the method is read, and used, without the configuration."""
    assert Granularity == difficulty.Granularity and Filter == acceptance.Filter
    assert Settings.model_fields["objective"].annotation == weights.Objective
    assert RegressionSettings.model_fields["weight"].annotation == weights.Weighting


def is_block(field):
    return block_of(field.annotation) is not None


def typed_keys(block=Settings, prefix=""):
    keys = {}
    for name, field in block.model_fields.items():
        keys[prefix + name] = field
        if is_block(field):
            keys |= typed_keys(field.annotation, f"{prefix}{name}.")
    return keys


def written_keys(block, typed, prefix=""):
    keys = {}
    for name, value in block.items():
        keys[prefix + name] = value
        if prefix + name in typed and is_block(typed[prefix + name]):
            keys |= written_keys(value, typed, f"{prefix}{name}.")
    return keys


def test_yaml_and_settings_have_the_same_keys():
    typed = typed_keys()
    assert set(written_keys(yaml_block(), typed)) == set(typed)


def test_yaml_and_settings_have_the_same_defaults():
    typed = typed_keys()
    written = written_keys(yaml_block(), typed)
    different = {}
    for key, field in typed.items():
        if is_block(field) or key in YAML_ONLY:
            continue
        default = None if field.is_required() else field.get_default(call_default_factory=True)
        if written[key] != default:
            different[key] = (written[key], default)
    assert different == {}
    required = {key for key, field in typed.items() if field.is_required() and not is_block(field)}
    assert required == PRESET_KEYS | {"seeds"}


def test_every_key_has_a_comment_above_it():
    assert set(typed_keys()) - set(comments(yaml_text())) == set()


def test_a_missing_comment_is_seen():
    text = "\ngenenv:\n  # said\n  a: 1\n\n  # far away\n\n  b: 2\n  block:\n    # inner\n    c: 3\n"
    assert comments(text) == {"a": "said", "block.c": "inner"}


def settings(**block):
    return read_settings({"seeds": "seeds.jsonl", **block})


def test_the_yaml_itself_is_valid_and_follows_the_paper():
    read = read_settings(yaml_block())
    assert (read.granularity, read.filter, read.k_min, read.beta, read.rwr.lam) == ("seed", "band", 0.1, 2.0, 1.0)
    assert read.n_variations == 4
    assert read.environment["actor"]["optim"]["lr"] == 5e-7


@pytest.mark.parametrize("name", PRESETS)
def test_a_preset_fills_what_is_null_and_nothing_else(name):
    preset = PRESETS[name]
    read = settings(preset=name, granularity=None, rwr={"lam": None})
    assert (read.granularity, read.filter, read.k_min, read.beta, read.rwr.lam) == tuple(preset.values())
    read = settings(preset=name, beta=3.5, filter="top_k", rwr={"lam": 0.7})
    assert (read.beta, read.filter, read.rwr.lam) == (3.5, "top_k", 0.7)
    assert (read.granularity, read.k_min) == (preset["granularity"], preset["k_min"])


def test_the_callers_block_is_left_as_it_is():
    block = {"seeds": "seeds.jsonl", "rwr": {"lam": None}}
    read_settings(block)
    assert block == {"seeds": "seeds.jsonl", "rwr": {"lam": None}}


@pytest.mark.parametrize(
    ("block", "key", "value", "allowed"),
    [
        ({"alpha": {"start": 0.0}}, "genenv.alpha.start", "0.0", "number in (0, 1)"),
        ({"alpha": {"start": 1.5}}, "genenv.alpha.start", "1.5", "number in (0, 1)"),
        ({"alpha": {"schedule": "linear", "end": 1.0}}, "genenv.alpha.end", "1.0", "number in (0, 1)"),
        ({"alpha": {"epochs": 0}}, "genenv.alpha.epochs", "0", "whole number >= 1"),
        ({"alpha": {"schedule": "cosine"}}, "genenv.alpha.schedule", "'cosine'", "constant | linear | piecewise"),
        ({"alpha": {"schedule": "piecewise"}}, "genenv.alpha", "piecewise", "[[0, alpha], …]"),
        (
            {"alpha": {"schedule": "piecewise", "points": [[0, 0.3], [5, 0.5], [5, 0.6]]}},
            "genenv.alpha", "[5, 0.6]", "ascending epochs",
        ),
        ({"alpha": {"schedule": "piecewise", "points": [[1, 0.3]]}}, "genenv.alpha", "[[1, 0.3]]", "[[0, alpha], …]"),
        ({"alpha": {"points": [[0, 2.0]]}}, "genenv.alpha.points.0.1", "2.0", "number in (0, 1)"),
        ({"alpha": 0.5}, "genenv.alpha", "0.5", "schedule, start, end, epochs, points"),
        ({"variant": "nonsense"}, "genenv.variant", "'nonsense'", "genenv | random | static | offline | grpo"),
        ({"preset": "papr"}, "genenv.preset", "'papr'", "paper | calibrated"),
        ({"preset": ["paper"]}, "genenv.preset", "['paper']", "paper | calibrated"),
        ({"preset": None}, "genenv.preset", "None", "paper | calibrated"),
        ({"n_variations": 0}, "genenv.n_variations", "0", "whole number >= 1"),
        ({"n_variations": 1.5}, "genenv.n_variations", "1.5", "whole number >= 1"),
        ({"steps_per_epoch": 0}, "genenv.steps_per_epoch", "0", "whole number >= 1 | null"),
        ({"success_threshold": 0}, "genenv.success_threshold", "0", "number in (0, 1]"),
        ({"beta": -2.0}, "genenv.beta", "-2.0", "number > 0"),
        ({"beta": math.inf}, "genenv.beta", "inf", "number > 0"),
        ({"granularity": "epoch"}, "genenv.granularity", "'epoch'", "task | seed | batch | shrunk"),
        ({"filter": "Band"}, "genenv.filter", "'Band'", "band | top_k | none"),
        ({"objective": "ppo"}, "genenv.objective", "'ppo'", "rwr | grpo"),
        ({"objective": "grpo"}, "genenv.objective", "'grpo'", "genenv.granularity = 'seed'; set"),
        (
            {"objective": "grpo", "preset": "calibrated", "granularity": "batch"},
            "genenv.objective", "'batch'", "genenv.granularity=task or shrunk, or genenv.preset=calibrated",
        ),
        ({"objective": "grpo", "preset": "calibrated", "n_variations": 1}, "genenv.objective", "'grpo'", "2 or more"),
        ({"k_min": 0.0}, "genenv.k_min", "0.0", "number in (0, 1)"),
        ({"k_min": 1.0}, "genenv.k_min", "1.0", "number in (0, 1)"),
        ({"k_min": math.nan}, "genenv.k_min", "nan", "number in (0, 1)"),
        ({"min_accepted": -1}, "genenv.min_accepted", "-1", "whole number >= 0"),
        ({"top_k": 0.0}, "genenv.top_k", "0.0", "number in (0, 1]"),
        ({"history_decay": 1.1}, "genenv.history_decay", "1.1", "number in [0, 1]"),
        ({"rwr": {"lam": -1.0}}, "genenv.rwr.lam", "-1.0", "number > 0"),
        ({"rwr": {"lam": 0.0}}, "genenv.rwr.lam", "0.0", "number > 0"),
        ({"rwr": {"kl_coef": -0.1}}, "genenv.rwr.kl_coef", "-0.1", "number >= 0"),
        ({"rwr": {"max_kl": 0}}, "genenv.rwr.max_kl", "0", "number > 0 | null"),
        ({"rwr": {"weight": "softmax"}}, "genenv.rwr.weight", "'softmax'", "exp | linear"),
        ({"rwr": 3}, "genenv.rwr", "3", "lam, weight, batch_size"),
        ({"rwr": None}, "genenv.rwr", "None", "lam, weight, batch_size"),
        ({"mixture": {"base": 0.5}}, "genenv.mixture", "0.5", "must sum to 1, got 1.25"),
        ({"mixture": {"base": 0.5, "pool": 0.5, "fresh": 0.0}}, "genenv.mixture", "'fresh': 0.0", "above 0"),
        ({"mixture": {"base": -0.25, "pool": 0.75}}, "genenv.mixture.base", "-0.25", "number in [0, 1]"),
        ({"watchdog": {"checkpoint": 0}}, "genenv.watchdog.checkpoint", "0", "number > 0 | null"),
        ({"poll_interval": 0}, "genenv.poll_interval", "0", "number > 0"),
        ({"seed": -1}, "genenv.seed", "-1", "whole number >= 0"),
        ({"seeds": None}, "genenv.seeds", "None", "text | list of text"),
        ({"environment": "Qwen"}, "genenv.environment", "'Qwen'", "block of keys"),
        ({"budget": {"agent_steps": 0}}, "genenv.budget.agent_steps", "0", "whole number >= 1 | null"),
        ({"budget": {"tokens": 5}}, "genenv.budget.tokens", "5", "agent_steps, agent_tokens, total_tokens"),
        ({"lambda": 1.0}, "genenv.lambda", "1.0", "unknown key; genenv has variant, preset"),
        ({"rwr": {"lambda": 1.0}}, "genenv.rwr.lambda", "1.0", "unknown key; genenv.rwr has lam, weight"),
    ],
)  # fmt: skip
def test_a_bad_value_names_key_value_and_what_is_allowed(block, key, value, allowed):
    with pytest.raises(SettingsError) as caught:
        settings(**block)
    message = str(caught.value)
    assert message.startswith(f"{key} = ")
    assert value in message and allowed in message
    assert len(message.splitlines()) == 1


@pytest.mark.parametrize("block", [{"preset": "calibrated"}, {"granularity": "task"}, {"granularity": "shrunk"}])
def test_grpo_as_objective_takes_single_tasks_and_any_filter(block):
    assert settings(objective="grpo", **block).objective == "grpo"
    assert settings(objective="grpo", filter="band", **block).filter == "band"


def test_all_faults_are_named_one_a_line():
    with pytest.raises(SettingsError) as caught:
        settings(variant="nonsense", n_variations=0, rwr={"lam": -1.0})
    assert [line.split(" = ")[0] for line in str(caught.value).splitlines()] == [
        "genenv.variant",
        "genenv.n_variations",
        "genenv.rwr.lam",
    ]


def test_missing_seeds_are_named():
    with pytest.raises(SettingsError, match=r"^genenv\.seeds is missing; allowed: text \| list of text$"):
        read_settings({})


@pytest.mark.parametrize(
    ("variant", "has_environment", "trains_environment", "has_fixed_set"),
    [
        ("genenv", True, True, False),
        ("random", True, False, False),
        ("static", False, False, True),
        ("offline", False, False, True),
        ("grpo", False, False, False),
    ],
)
def test_what_a_variant_means(variant, has_environment, trains_environment, has_fixed_set):
    read = settings(variant=variant)
    found = (read.has_environment, read.trains_environment, read.has_fixed_set)
    assert found == (has_environment, trains_environment, has_fixed_set)


def test_one_seed_file_or_several():
    assert settings().seed_files == ["seeds.jsonl"]
    assert settings(seeds=["a.parquet", "b.jsonl"]).seed_files == ["a.parquet", "b.jsonl"]
