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
"""A checkpoint is agent, environment, pools, history, sampler and generator together, complete or ignored.

verl writes ``latest_checkpointed_iteration.txt`` last but not atomically, and deletes old folders of one model before
the others are saved. Here each folder gets a completeness mark after everything in it is on disk, the tracker is
repaired from these marks when it cannot be read, and retention is decided once, after the tracker moved.
"""

from __future__ import annotations

import logging
import shutil
from pathlib import Path

from genenv_verl.trainer.run_directory import write_atomically

logger = logging.getLogger(__name__)

TRACKER = "latest_checkpointed_iteration.txt"
STATE_FILE = "genenv.json"
# of runs without an environment, which are no other than stock runs
COST_FILE = "genenv_cost.json"
COMPLETE_MARK = "genenv_complete"


def checkpoint_folder(root: Path, step: int) -> Path:
    """Folder of the checkpoint after ``step``, verl's own layout."""
    return root / f"global_step_{step}"


def tracked_step(root: Path) -> int | None:
    """Step that verl's tracker names, or ``None`` if there is none, it cannot be read or its folder is missing."""
    try:
        step = int((root / TRACKER).read_text(encoding="utf-8"))
    except (FileNotFoundError, ValueError):
        return None
    return step if checkpoint_folder(root, step).is_dir() else None


def _steps(root: Path) -> list[int]:
    suffixes = (path.name.removeprefix("global_step_") for path in root.glob("global_step_*") if path.is_dir())
    return sorted(int(suffix) for suffix in suffixes if suffix.isdecimal())


def _complete_steps(root: Path) -> list[int]:
    return [step for step in _steps(root) if (checkpoint_folder(root, step) / COMPLETE_MARK).exists()]


def repair_tracker(root: Path) -> int | None:
    """Makes the tracker name the last complete checkpoint.

    A kill while verl rewrites the tracker leaves it empty. The newest folder with a completeness mark is taken then.
    A kill right after verl moved the tracker leaves a complete folder without its mark: it gets it now, or a tracker
    that breaks later would lead back past it. Newer folders, cut off in the middle of a save, are named in a warning
    and ignored; the next save overwrites them.

    Returns:
        The step to resume from, ``None`` for a fresh start.
    """
    step = tracked_step(root)
    if step is not None:
        mark_complete(root, step)
    elif complete := _complete_steps(root):
        step = complete[-1]
        write_atomically(root / TRACKER, str(step))
        logger.warning("genenv: %s could not be read; resuming from the last complete step %d", root / TRACKER, step)
    else:
        (root / TRACKER).unlink(missing_ok=True)
    for other in _steps(root):
        if step is None or other > step:
            logger.warning("genenv: %s is not complete and is ignored", checkpoint_folder(root, other))
    return step


def roll_back(root: Path, step: int) -> None:
    """Makes ``step`` the last checkpoint: later folders belong to a history that this run leaves.

    Without it a kill in the next save could be followed by a resume from a folder of both histories.
    """
    for later in _steps(root):
        if later > step:
            unmark(root, later)
    if checkpoint_folder(root, step).is_dir():
        write_atomically(root / TRACKER, str(step))
    else:
        (root / TRACKER).unlink(missing_ok=True)


def unmark(root: Path, step: int) -> None:
    """Takes back the mark of a folder that is about to be written again, after a run was rolled back behind it."""
    (checkpoint_folder(root, step) / COMPLETE_MARK).unlink(missing_ok=True)


def mark_complete(root: Path, step: int) -> None:
    """Marks a checkpoint as complete; called when everything in it and the tracker are on disk."""
    write_atomically(checkpoint_folder(root, step) / COMPLETE_MARK, f"{step}\n")


def prune(root: Path, keep: int | None) -> None:
    """Removes the oldest complete checkpoints beyond ``keep``, each as a whole. The tracked one always stays.

    Older folders without a mark, left by a save or a removal that was cut off, go with them.
    """
    tracked = tracked_step(root)
    if keep is None or keep < 1 or tracked is None:
        return
    complete = _complete_steps(root)
    rubble = [step for step in _steps(root) if step not in complete]
    for step in sorted(complete[:-keep] + rubble):
        if step < tracked:
            # without its mark the folder no longer counts as a checkpoint, should the removal be cut off
            (checkpoint_folder(root, step) / COMPLETE_MARK).unlink(missing_ok=True)
            shutil.rmtree(checkpoint_folder(root, step))
