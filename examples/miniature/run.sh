#!/usr/bin/env bash
# Does it work? The variants at equal budgets, in the miniature world:  bash examples/miniature/run.sh --out DIR [--help]
#
# Everything: 2 worlds × 4 arms × 3 seeds = 24 runs. A call that was interrupted continues where it was.
set -euo pipefail
HERE="$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)"
source "$HERE/../setup_cpu.sh"
export PYTHONPATH="$HERE/../miniworld${PYTHONPATH:+:$PYTHONPATH}"
exec "$PY" "$HERE/study.py" "$@"
