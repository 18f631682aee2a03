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
"""Negative controls: what each shim of the CPU platform is for, shown by what happens without it."""

from __future__ import annotations

import os
import subprocess
import sys
import textwrap

import pytest

pytestmark = pytest.mark.integration


def run(code: str, **environment: str) -> subprocess.CompletedProcess:
    environment = {**os.environ, "VERL_PLATFORM": "cpu", "OMP_NUM_THREADS": "1", **environment}
    for name in ("VERL_ENGINE_DEVICE", "TORCH_COMPILE_DISABLE"):
        if name not in environment.get("KEEP", ""):
            environment.pop(name, None)
    return subprocess.run(
        [sys.executable, "-c", textwrap.dedent(code)], env=environment, capture_output=True, text=True, timeout=600
    )


def works(code: str, **environment: str) -> str:
    result = run(code, **environment)
    assert result.returncode == 0, result.stderr[-3000:]
    return result.stdout


def test_verl_finds_no_vllm_without_the_distribution_name():
    code = """
        import sys, verl
        from genenv_verl.platforms import cpu
        {}
        import verl.third_party.vllm
        from vllm.platforms import current_platform
        print("is_cpu", current_platform.is_cpu())
    """
    assert "is_cpu True" in works(code.format("pass"))
    removed = "sys.meta_path[:] = [f for f in sys.meta_path if not isinstance(f, cpu._VllmDistributionFinder)]"
    without = run(code.format(removed))
    assert without.returncode != 0 and "vllm version None not supported" in without.stderr


def test_the_engine_registry_knows_no_cpu_without_the_switch():
    code = """
        import os, verl
        from verl.workers.engine import EngineRegistry
        {}
        print("engine", EngineRegistry.get_engine_cls("language_model", "fsdp2").__name__)
    """
    assert "engine FSDPEngine" in works(code.format("pass"))
    without = run(code.format("os.environ.pop('VERL_ENGINE_DEVICE')"))
    assert without.returncode != 0


def test_torch_refuses_the_process_group_that_verl_asks_for():
    code = """
        import os
        os.environ.update(RANK="0", WORLD_SIZE="1", MASTER_ADDR="127.0.0.1", MASTER_PORT="0")
        import verl, verl.utils.distributed as d
        {}
        d.initialize_global_process_group_ray()
        print("initialised")
    """
    assert "initialised" in works(code.format("pass"))
    stock = "d.initialize_global_process_group_ray = d.initialize_global_process_group_ray.__closure__[0].cell_contents"
    without = run(code.format(stock))
    assert without.returncode != 0 and "Duplicate device type cpu" in without.stderr


def test_the_reference_model_cannot_pin_its_memory():
    code = """
        import os
        os.environ.update(RANK="0", WORLD_SIZE="1", MASTER_ADDR="127.0.0.1", MASTER_PORT="0")
        import torch, torch.distributed as dist
        import verl
        import verl.workers.engine.fsdp.transformer_impl as ti
        from torch.distributed.fsdp import CPUOffloadPolicy, fully_shard
        dist.init_process_group("gloo")
        policy = {}(pin_memory=True)
        model = fully_shard(torch.nn.Linear(4, 4), offload_policy=policy,
                            mesh=dist.device_mesh.init_device_mesh("cpu", (1,)))
        model(torch.ones(1, 4))
        print("forward")
    """
    assert "forward" in works(code.format("ti.CPUOffloadPolicy"))
    assert run(code.format("CPUOffloadPolicy")).returncode != 0


def test_vllm_frees_the_weights_that_the_next_sync_needs():
    code = """
        import verl, torch
        from genenv_verl.platforms import vllm_cpu
        {}
        from vllm.model_executor.layers.linear import UnquantizedLinearMethod
        layer = torch.nn.Linear(64, 64, bias=False)
        UnquantizedLinearMethod().process_weights_after_loading(layer)
        print("weights", layer.weight.numel())
    """
    assert "weights 4096" in works(code.format("vllm_cpu.register()"))
    without = run(code.format("pass"))
    assert "weights 4096" not in without.stdout


def test_a_seeded_request_cannot_have_its_prompt_cut(world):
    """Why genenv_cpu.yaml switches chunked prefill off: the second prompt finds room for a part of it."""
    code = """
        import verl
        from vllm import LLM, SamplingParams
        llm = LLM({model!r}, dtype="float32", enforce_eager=True, max_model_len=128, max_num_batched_tokens=128,
                  kv_cache_memory_bytes=1 << 26, enable_chunked_prefill={chunked})
        prompts = [{{"prompt_token_ids": [5 + place] * 100}} for place in range(2)]
        answers = llm.generate(prompts, [SamplingParams(max_tokens=4, seed=place) for place in range(2)])
        print("answers", len(answers))
    """
    in_process = {"VLLM_ENABLE_V1_MULTIPROCESSING": "0"}
    assert "answers 2" in works(code.format(model=str(world / "agent"), chunked=False), **in_process)
    cut = run(code.format(model=str(world / "agent"), chunked=True), **in_process)
    assert cut.returncode != 0 and "CPU Generator does not use offset" in cut.stderr


def test_nothing_of_it_is_loaded_without_the_variable():
    code = """
        import sys, os, verl
        print("genenv_verl.platforms.cpu" in sys.modules, "VERL_ENGINE_DEVICE" in os.environ)
    """
    assert "False False" in works(code, VERL_PLATFORM="")
