#!/usr/bin/env bash
# Two tiny language models co-evolve on your CPU:  bash examples/quickstart.sh [--random] [--out DIR] [--epochs N] [-- overrides …]
#
#   --random     run the `random` variant as well (the environment is never trained) and print both tables
#   --out DIR    where models, checkpoints and pools go (default: quickstart_run)
#   --epochs N   epochs of co-evolution (default: 5)
#
# Needs Python 3.10-3.12, two cores, 11 GiB of free memory and 6 GB of disk. The first call installs into .venv. A call that was
# interrupted continues where it was when it is made again.
set -euo pipefail
HERE="$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)"

OUT=quickstart_run EPOCHS=5 VARIANTS=(genenv) OVERRIDES=()
while [[ $# -gt 0 ]]; do
  case "$1" in
    --random) VARIANTS=(genenv random) ;;
    --out) OUT="$2"; shift ;;
    --epochs) EPOCHS="$2"; shift ;;
    --) shift; OVERRIDES=("$@"); break ;;
    -h|--help) sed -n '2,9p' "${BASH_SOURCE[0]}" | cut -c3-; exit 0 ;;
    *) echo "genenv: unknown argument $1 (see --help)" >&2; exit 2 ;;
  esac
  shift
done

source "$HERE/setup_cpu.sh"
export PY
mkdir -p "$OUT"
OUT="$(cd "$OUT" && pwd)"
SECONDS=0

if [[ ! -f "$OUT/world/build.json" ]]; then
  echo "genenv: building the miniature world and warm-starting two models (a few minutes)"
  "$PY" "$HERE/miniworld/build.py" --out "$OUT/world"
fi

for variant in "${VARIANTS[@]}"; do
  echo "genenv: co-evolution in verl, variant $variant, $EPOCHS epochs; full log: $OUT/$variant.log"
  run_logged "$OUT/$variant.log" bash "$HERE/miniworld/train.sh" "$OUT/world" "$OUT/$variant" \
    genenv.variant="$variant" trainer.total_epochs="$EPOCHS" ${OVERRIDES[@]+"${OVERRIDES[@]}"}
done

"$PY" -m genenv_verl epochs "${VARIANTS[@]/#/$OUT/}"
echo
echo "genenv: this call took $SECONDS s, installation apart. What was written:"
for variant in "${VARIANTS[@]}"; do
  echo "  $OUT/$variant/genenv/epochs.jsonl          one line an epoch"
  echo "  $OUT/$variant/genenv/tasks/                every generated task, its attempts, p̂ and R_env"
  echo "  $OUT/$variant/genenv/{d_train,d_env}/      the two pools"
  echo "  $OUT/$variant/global_step_*/               checkpoints of both models"
done
echo
echo "Look at it:  ${PY%/*}/genenv-verl report $OUT/${VARIANTS[0]} --out $OUT/report"
