#!/usr/bin/env bash
# Everything that has to pass:  bash tests/run.sh          (sets up .venv by itself; about 30 minutes on two cores)
#                               bash tests/run.sh unit     (the plain-Python layers, seconds after set-up)
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
EXTRAS=cpu,dev,bfcl
source examples/setup_cpu.sh

# the report is tested in headless Chromium; where it cannot be had, those tests are skipped with the reason
if ! command -v chromedriver >/dev/null && [[ $(id -u) == 0 ]] && command -v apt-get >/dev/null; then
  { apt-get -qq update && apt-get -qq install -y --no-install-recommends chromium chromium-driver; } >/dev/null 2>&1 ||
    echo "genenv: no Chromium: the browser tests will be skipped" >&2
fi

"$PY" -m ruff check .
"$PY" -m ruff format --check .
# TEST_JOBS tests at once: each integration test starts a run that needs 7 GiB
at_once=(-n "${TEST_JOBS:-2}" --dist worksteal)
"$PY" -m pytest -q "${at_once[@]}" -m "not integration"
if [[ "${1:-all}" != unit ]]; then
  if [[ -z "${GENENV_TEST_WORLD:-}" ]]; then
    GENENV_TEST_WORLD="$(mktemp -d)"
    export GENENV_TEST_WORLD
    trap 'rm -rf "$GENENV_TEST_WORLD"' EXIT
  fi
  "$PY" examples/miniworld/build.py --fast --out "$GENENV_TEST_WORLD"
  "$PY" -m pytest -q "${at_once[@]}" --durations=12 -m integration
fi
