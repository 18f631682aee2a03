#!/usr/bin/env bash
# The main job:  bash examples/smollm2_bfcl/train.sh DATA MODEL RUN [hydra overrides …]
# DATA is a folder made by prepare_data.py, both players start from MODEL, RUN receives checkpoints, pools and epoch lines.
set -euo pipefail
HERE="$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)"
DATA="$(cd "$1" && pwd)" MODEL="$(cd "$2" && pwd)" RUN="$3"
shift 3
# Limits in tokens are those of prepare_data.py. Micro-batches are small: a row of logits has 49,152 numbers. The KV
# cache (384 MiB) holds a step's 64 sequences at once, and the weight bucket the embedding (113 MB).
exec "${PY:-python}" -m verl.trainer.main_ppo --config-name genenv_cpu \
  data.train_files="$DATA/seeds.parquet" data.val_files="$DATA/validation.parquet" \
  data.train_batch_size=16 data.max_prompt_length=512 data.max_response_length=160 \
  actor_rollout_ref.model.path="$MODEL" \
  actor_rollout_ref.actor.ppo_mini_batch_size=16 actor_rollout_ref.actor.ppo_max_token_len_per_gpu=1024 \
  actor_rollout_ref.actor.optim.lr=5e-6 actor_rollout_ref.actor.use_kl_loss=false actor_rollout_ref.actor.entropy_coeff=0 \
  actor_rollout_ref.rollout.n=4 actor_rollout_ref.rollout.max_model_len=672 \
  actor_rollout_ref.rollout.log_prob_max_token_len_per_gpu=1024 \
  actor_rollout_ref.rollout.engine_kwargs.vllm.kv_cache_memory_bytes=402653184 \
  actor_rollout_ref.rollout.checkpoint_engine.update_weights_bucket_megabytes=256 \
  genenv.seeds="$DATA/seeds.parquet" genenv.steps_per_epoch=2 genenv.n_variations=4 genenv.min_accepted=8 \
  genenv.mixture.base=0.125 genenv.mixture.pool=0.125 genenv.mixture.fresh=0.75 \
  genenv.environment.model.path="$MODEL" genenv.environment.actor.optim.lr=1e-5 \
  genenv.rwr.batch_size=16 genenv.rwr.max_kl=0.5 \
  genenv.environment_template="$HERE/environment.jinja" genenv.agent_template="$HERE/agent.jinja" \
  trainer.total_epochs=3 trainer.test_freq=6 trainer.max_actor_ckpt_to_keep=1 \
  trainer.default_local_dir="$RUN" hydra.run.dir="$RUN/hydra" "$@"
