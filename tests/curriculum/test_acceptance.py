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
import pytest

from genenv_verl.curriculum.acceptance import is_in_band, select_groups
from genenv_verl.curriculum.difficulty import Group


def groups(*p_hats, size=1):
    return [Group(f"g{i}", tuple(range(i * size, (i + 1) * size)), p, 8) for i, p in enumerate(p_hats)]


def select(candidates, **overrides):
    settings = {"alpha": 0.5, "k_min": 0.1, "filter": "band", "min_accepted": 0, "top_k": 0.5} | overrides
    return select_groups(candidates, **settings)


def test_the_edge_of_the_band_belongs_to_it():
    assert is_in_band(0.6, 0.5, 0.1) and is_in_band(0.4, 0.5, 0.1)
    assert is_in_band(0.1 + 0.2, 0.2, 0.1)
    assert not is_in_band(0.601, 0.5, 0.1)


def test_band():
    selection = select(groups(0.0, 0.5, 0.61, 0.4))
    assert selection.accepted == selection.in_band == (1, 3)
    assert not selection.fallback


def test_c08_an_empty_band_falls_back_to_the_nearest_groups():
    selection = select(groups(0.0, 0.0, 1.0, 0.0), min_accepted=2)
    assert selection.in_band == ()
    assert selection.fallback
    assert selection.accepted == (0, 1)


def test_the_fallback_adds_the_nearest_until_enough_tasks_are_in():
    selection = select(groups(0.0, 0.75, 0.5, 0.125, size=4), min_accepted=9)
    assert selection.in_band == (2,)
    assert selection.accepted == (1, 2, 3)
    assert selection.fallback


def test_the_fallback_counts_tasks_not_groups():
    assert select(groups(0.5, 0.0, size=4), min_accepted=4).accepted == (0,)


def test_the_fallback_ends_when_no_group_is_left():
    assert select(groups(0.0, 1.0), min_accepted=99).accepted == (0, 1)
    everything_in_band = select(groups(0.5, 0.5), min_accepted=99)
    assert everything_in_band.accepted == (0, 1)
    assert not everything_in_band.fallback


def test_without_a_minimum_the_band_may_be_empty():
    assert select(groups(0.0, 1.0), min_accepted=0).accepted == ()


@pytest.mark.parametrize("filter", ["band", "top_k", "none"])
def test_no_groups_give_an_empty_selection(filter):
    selection = select([], filter=filter, min_accepted=4)
    assert (selection.accepted, selection.in_band, selection.fallback) == ((), (), False)


@pytest.mark.parametrize(("share", "expected"), [(0.25, (2,)), (0.5, (1, 2)), (0.51, (1, 2, 3)), (1.0, (0, 1, 2, 3))])
def test_top_k_takes_a_share_of_the_groups(share, expected):
    assert select(groups(0.0, 0.3, 0.5, 0.9), filter="top_k", top_k=share).accepted == expected


def test_top_k_takes_at_least_one_group():
    assert select(groups(0.0, 0.5), filter="top_k", top_k=0.001).accepted == (1,)


def test_ties_go_to_the_earlier_group_on_either_side_of_alpha():
    assert select(groups(0.7, 0.3), filter="top_k").accepted == (0,)
    assert select(groups(0.3, 0.7), filter="top_k").accepted == (0,)


def test_none_takes_all_and_still_reports_the_band():
    selection = select(groups(0.0, 0.5, 1.0), filter="none")
    assert selection.accepted == (0, 1, 2)
    assert selection.in_band == (1,)
    assert not selection.fallback


def test_bad_settings_are_named():
    with pytest.raises(ValueError, match="'best'"):
        select(groups(0.5), filter="best")
    with pytest.raises(ValueError, match="top_k"):
        select(groups(0.5), filter="top_k", top_k=0.0)
