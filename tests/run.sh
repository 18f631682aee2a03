#!/usr/bin/env bash
# Everything that has to pass:  bash tests/run.sh          (sets up .venv by itself; about 30 minutes on two cores)
#                               bash tests/run.sh unit     (the plain-Python layers, seconds after set-up)
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
EXTRAS=cpu,dev
source examples/setup_cpu.sh

"$PY" -m ruff check .
"$PY" -m ruff format --check .
"$PY" -m pytest -q -m "not integration"
if [[ "${1:-all}" != unit ]]; then
  "$PY" -m pytest -q -m integration
fi
