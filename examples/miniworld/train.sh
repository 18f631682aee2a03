#!/usr/bin/env bash
# The main job on the miniature world:  bash examples/miniworld/train.sh WORLD RUN [hydra overrides …]
# WORLD is a folder made by build.py, RUN receives checkpoints, pools and epoch lines.
set -euo pipefail
HERE="$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)"
WORLD="$(cd "$1" && pwd)"
RUN="$2"
shift 2
exec "${PY:-python}" -m verl.trainer.main_ppo --config-name genenv_cpu \
  data.train_files="$WORLD/seeds.parquet" data.val_files="$WORLD/exam.parquet" \
  data.train_batch_size=24 data.max_prompt_length=64 data.max_response_length=64 \
  actor_rollout_ref.model.path="$WORLD/agent" \
  actor_rollout_ref.actor.ppo_mini_batch_size=24 actor_rollout_ref.actor.ppo_max_token_len_per_gpu=8192 \
  actor_rollout_ref.actor.optim.lr=2e-4 actor_rollout_ref.actor.use_kl_loss=false actor_rollout_ref.actor.entropy_coeff=0 \
  actor_rollout_ref.rollout.n=8 actor_rollout_ref.rollout.max_model_len=192 \
  actor_rollout_ref.rollout.log_prob_max_token_len_per_gpu=16384 \
  actor_rollout_ref.rollout.max_num_seqs=128 actor_rollout_ref.rollout.max_num_batched_tokens=4096 \
  actor_rollout_ref.rollout.val_kwargs.temperature=1.0 actor_rollout_ref.rollout.val_kwargs.do_sample=true \
  genenv.preset=calibrated genenv.steps_per_epoch=4 genenv.n_variations=4 \
  genenv.mixture.base=0.125 genenv.mixture.pool=0.125 genenv.mixture.fresh=0.75 \
  genenv.environment.model.path="$WORLD/environment" genenv.environment.actor.optim.lr=2e-4 \
  genenv.environment.rollout.prompt_length=64 genenv.environment.rollout.response_length=96 \
  genenv.rwr.batch_size=24 genenv.rwr.kl_coef=0.05 genenv.rwr.max_kl=1.0 \
  genenv.novelty.near_duplicate=null \
  genenv.environment_template="$HERE/environment.jinja" genenv.agent_template="$HERE/agent.jinja" \
  trainer.total_epochs=6 trainer.test_freq=12 trainer.default_local_dir="$RUN" hydra.run.dir="$RUN/hydra" "$@"
