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
"""Whatever instant a save is cut off at, a resume finds the last checkpoint that is complete."""

import logging
import shutil

import pytest

from genenv_verl.trainer import checkpointing
from genenv_verl.trainer.checkpointing import checkpoint_folder, mark_complete, prune, repair_tracker, tracked_step

PARTS = ("environment/weights", "genenv.json", "actor/weights")


def set_tracker(root, text):
    (root / checkpointing.TRACKER).write_text(text)


def write_part(root, step, part):
    file = checkpoint_folder(root, step) / part
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(f"{part} of step {step}")


def instants_of_a_save(root, step, keep):
    """A save as the trainer does it, one change of the disk after the other."""
    for part in PARTS:
        yield write_part(root, step, part)
    yield set_tracker(root, "")  # verl opens the file, which empties it, and writes
    yield set_tracker(root, str(step))
    yield mark_complete(root, step)
    yield prune(root, keep)


def save(root, step, keep=None):
    list(instants_of_a_save(root, step, keep))


def save_until(root, step, keep, instants):
    for _, _ in zip(range(instants), instants_of_a_save(root, step, keep), strict=False):
        pass


def is_whole(root, step):
    return all((checkpoint_folder(root, step) / part).is_file() for part in PARTS)


def steps_on_disk(root):
    return sorted(int(path.name.removeprefix("global_step_")) for path in root.glob("global_step_*"))


INSTANTS_OF_A_SAVE = len(PARTS) + 4
TRACKER_MOVED = len(PARTS) + 2


@pytest.mark.parametrize("keep", [None, 1, 2])
@pytest.mark.parametrize("instants", range(INSTANTS_OF_A_SAVE + 1))
def test_a_save_cut_off_anywhere_resumes_from_the_last_complete_checkpoint(tmp_path, instants, keep):
    save(tmp_path, 10, keep)
    save_until(tmp_path, 20, keep, instants)

    expected = 20 if instants >= TRACKER_MOVED else 10
    assert repair_tracker(tmp_path) == expected
    assert tracked_step(tmp_path) == expected  # verl reads the file, not our return value
    assert is_whole(tmp_path, expected)
    # the run goes on: the next save is whole as well, and nothing is kept beyond `keep`
    save(tmp_path, 20, keep)
    save(tmp_path, 30, keep)
    assert repair_tracker(tmp_path) == 30
    assert steps_on_disk(tmp_path) == {None: [10, 20, 30], 1: [30], 2: [20, 30]}[keep]


@pytest.mark.parametrize("instants", range(INSTANTS_OF_A_SAVE + 1))
def test_the_first_save_cut_off_is_a_fresh_start(tmp_path, instants):
    save_until(tmp_path, 10, None, instants)
    assert repair_tracker(tmp_path) == (10 if instants >= TRACKER_MOVED else None)


@pytest.mark.parametrize("keep", [1, 2])
def test_two_kills_in_a_row_do_not_lead_back_past_a_complete_checkpoint(tmp_path, keep):
    """The first kill right before the mark is set, the second while the next save rewrites the tracker."""
    save(tmp_path, 10, keep)
    save_until(tmp_path, 20, keep, TRACKER_MOVED)
    assert repair_tracker(tmp_path) == 20
    save_until(tmp_path, 30, keep, TRACKER_MOVED - 1)
    assert repair_tracker(tmp_path) == 20


def test_c06_an_incomplete_newer_folder_is_named_and_ignored(tmp_path, caplog):
    save(tmp_path, 10)
    for part in PARTS[:1]:
        write_part(tmp_path, 20, part)
    with caplog.at_level(logging.WARNING):
        assert repair_tracker(tmp_path) == 10
    assert "global_step_20" in caplog.text and "global_step_10" not in caplog.text
    assert tracked_step(tmp_path) == 10


def test_c07_with_one_to_keep_a_failed_save_leaves_the_old_one_whole(tmp_path):
    save(tmp_path, 10, keep=1)
    write_part(tmp_path, 20, PARTS[0])  # the agent's part raises "no space left": nothing more happens
    assert repair_tracker(tmp_path) == 10
    assert (tmp_path / checkpointing.TRACKER).read_text() == "10"
    assert is_whole(tmp_path, 10)


@pytest.mark.parametrize("text", ["", " \n", "20.5", "step 20", "\x00\x00", "-10", "99999"])
def test_a_tracker_that_says_nothing_is_repaired_from_the_marks(tmp_path, text):
    save(tmp_path, 10)
    save(tmp_path, 20)
    write_part(tmp_path, 30, PARTS[0])
    set_tracker(tmp_path, text)
    assert tracked_step(tmp_path) is None
    assert repair_tracker(tmp_path) == 20
    assert (tmp_path / checkpointing.TRACKER).read_text() == "20"


def test_a_tracker_that_is_no_text_is_repaired(tmp_path):
    save(tmp_path, 10)
    (tmp_path / checkpointing.TRACKER).write_bytes(b"\xff\xfe")
    assert repair_tracker(tmp_path) == 10


def test_a_missing_tracker_and_a_missing_folder(tmp_path):
    save(tmp_path, 10)
    save(tmp_path, 20)
    (tmp_path / checkpointing.TRACKER).unlink()
    assert repair_tracker(tmp_path) == 20
    shutil.rmtree(checkpoint_folder(tmp_path, 20))
    assert repair_tracker(tmp_path) == 10
    shutil.rmtree(checkpoint_folder(tmp_path, 10))
    assert repair_tracker(tmp_path) is None
    assert not (tmp_path / checkpointing.TRACKER).exists()  # verl would ask for the folder that it names


def test_an_empty_and_a_missing_root_are_a_fresh_start(tmp_path):
    assert repair_tracker(tmp_path) is None
    assert repair_tracker(tmp_path / "missing") is None
    prune(tmp_path / "missing", 1)


def test_steps_are_compared_as_numbers_and_other_folders_are_passed_over(tmp_path):
    for step in (2, 9, 10):
        save(tmp_path, step)
    (tmp_path / "global_step_latest").mkdir()
    (tmp_path / "global_step_11").write_text("a file")
    (tmp_path / checkpointing.TRACKER).unlink()
    assert repair_tracker(tmp_path) == 10


@pytest.mark.parametrize(
    ("keep", "left"), [(None, [1, 2, 3, 4]), (0, [1, 2, 3, 4]), (-1, [1, 2, 3, 4]), (1, [4]), (3, [2, 3, 4])]
)
def test_prune_keeps_the_newest(tmp_path, keep, left):
    for step in (1, 2, 3, 4):
        save(tmp_path, step)
    prune(tmp_path, keep)
    assert steps_on_disk(tmp_path) == left


def test_prune_keeps_the_tracked_one_and_what_is_newer(tmp_path):
    for step in (1, 2, 3, 4):
        save(tmp_path, step)
    set_tracker(tmp_path, "2")
    prune(tmp_path, 1)
    assert steps_on_disk(tmp_path) == [2, 3, 4]


def test_prune_without_a_tracker_removes_nothing(tmp_path):
    for step in (1, 2):
        save(tmp_path, step)
    set_tracker(tmp_path, "")
    prune(tmp_path, 1)
    assert steps_on_disk(tmp_path) == [1, 2]


def test_a_removal_that_is_cut_off_leaves_no_checkpoint_and_is_finished_later(tmp_path, monkeypatch):
    save(tmp_path, 10)
    save(tmp_path, 20)

    def cut_off(folder):
        (folder / PARTS[0]).unlink()
        raise KeyboardInterrupt

    with monkeypatch.context() as patched, pytest.raises(KeyboardInterrupt):
        patched.setattr(checkpointing.shutil, "rmtree", cut_off)
        prune(tmp_path, 1)
    assert steps_on_disk(tmp_path) == [10, 20]
    set_tracker(tmp_path, "")
    assert repair_tracker(tmp_path) == 20
    shutil.rmtree(checkpoint_folder(tmp_path, 20))
    assert repair_tracker(tmp_path) is None  # half of step 10 is gone: never resumed from
    save(tmp_path, 30, keep=1)
    assert steps_on_disk(tmp_path) == [30]


def test_after_a_roll_back_later_folders_are_no_checkpoints(tmp_path):
    for step in (5, 10, 15):
        save(tmp_path, step)
    checkpointing.roll_back(tmp_path, 5)
    assert checkpointing.repair_tracker(tmp_path) == 5
    set_tracker(tmp_path, "")
    assert checkpointing.repair_tracker(tmp_path) == 5, "also when the tracker breaks"
