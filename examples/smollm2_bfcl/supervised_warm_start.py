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
"""The supervised warm start: verl's own SFT trainer, in one process on the CPU.

    VERL_PLATFORM=cpu python supervised_warm_start.py model.path=… data.train_files=… output=… …

Both players start from its result, as both start from one model in the paper.
"""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import hydra
import torch
from omegaconf import DictConfig
from verl.trainer.sft_trainer import SFTTrainer


@hydra.main(config_path=".", config_name="supervised_warm_start", version_base=None)
def main(config: DictConfig) -> None:
    # what torchrun would set: verl's worker reads it
    os.environ.update(WORLD_SIZE="1", RANK="0", LOCAL_RANK="0", MASTER_ADDR="127.0.0.1", MASTER_PORT="0")
    # verl's own entry asks torch for "cpu:gloo,cpu:gloo" here, which is refused (verl/utils/distributed.py,
    # initialize_global_process_group); the trainer itself takes the group that is there
    torch.distributed.init_process_group("gloo", store=torch.distributed.HashStore(), rank=0, world_size=1)
    torch.manual_seed(config.trainer.seed)
    trainer = SFTTrainer(config)
    trainer.fit()
    torch.distributed.destroy_process_group()
    checkpoints = Path(config.trainer.default_local_dir)
    os.replace(checkpoints / f"global_step_{trainer.total_training_steps}" / "huggingface", config.output)
    shutil.rmtree(checkpoints)


if __name__ == "__main__":
    main()
