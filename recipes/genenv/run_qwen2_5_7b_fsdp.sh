#!/usr/bin/env bash
# GenEnv with the paper's hyperparameters: both players from Qwen2.5-7B-Instruct, one node of 8 GPUs.
#   SEEDS=seeds.parquet VAL=validation.parquet bash recipes/genenv/run_qwen2_5_7b_fsdp.sh [hydra overrides …]
set -euo pipefail
MODEL="${MODEL:-Qwen/Qwen2.5-7B-Instruct}"

python -m verl.trainer.main_ppo \
  --config-path "$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)/config" --config-name genenv_qwen2_5_7b \
  data.train_files="$SEEDS" data.val_files="$VAL" \
  actor_rollout_ref.model.path="$MODEL" "$@"
