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
from __future__ import annotations

import re
from xml.etree import ElementTree

import pytest
from matplotlib.colors import to_rgb

from genenv_verl.report.figures import catalogue, run_figures
from genenv_verl.report.figures.catalogue import Chart, comparison_panels, run_panels
from genenv_verl.report.figures.run_figures import BLUE
from genenv_verl.report.figures.style import (
    INK,
    PALETTE,
    edges,
    legend_beside,
    new_figure,
    plain_label,
    plot,
    report_style,
)
from genenv_verl.report.groups import group_runs
from genenv_verl.report.run_files import read_run

LIGHT, DARK = "#ffffff", "#1d2125"  # the backgrounds of figures in assets/report.css


def contrast(one: str, other: str) -> float:
    """WCAG's contrast ratio, 1 to 21."""

    def luminance(colour: str) -> float:
        parts = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in to_rgb(colour)]
        return 0.2126 * parts[0] + 0.7152 * parts[1] + 0.0722 * parts[2]

    low, high = sorted((luminance(one), luminance(other)))
    return (high + 0.05) / (low + 0.05)


@pytest.mark.parametrize("colour", PALETTE)
def test_every_colour_is_seen_on_light_and_on_dark(colour):
    assert min(contrast(colour, LIGHT), contrast(colour, DARK)) >= 3.0


def test_labels_are_text_whatever_they_hold():
    assert plain_label("_hidden").strip() == "_hidden" and not plain_label("_hidden").startswith("_")
    assert plain_label("a\nb\x00\ud800") == "a�b��"
    assert len(plain_label("x" * 100)) == 44


def test_long_labels_leave_the_curves_their_place():
    with report_style():
        figure, (axes,) = new_figure()
        for place in range(3):
            plot(axes, [(0, place), (1, place)], BLUE, "checker_undiscriminating")
        legend_beside(axes, 3)
        figure.get_layout_engine().execute(figure)
        figure.draw_without_rendering()
    assert axes.get_legend().get_window_extent().x1 <= figure.bbox.x1
    assert axes.get_position().width > 0.8


def test_edges_stand_between_neighbours():
    assert edges([3]) == [2.5, 3.5]
    assert edges([0, 1, 3]) == [-0.5, 0.5, 2, 4]


def test_a_page_gets_figures_that_follow_its_colour_and_share_no_id(make_run, lines, tmp_path, monkeypatch):
    charts = [chart for chart in catalogue.RUN_CHARTS if chart.name in {"validity", "calibration"}]
    monkeypatch.setattr(catalogue, "RUN_CHARTS", charts)
    hostile = "<script>&$\\frac$ _x"
    run = read_run(make_run(epochs=[lines.epoch(0, invalid_reasons={hostile: 2}), lines.epoch(1)]), "run")
    panels = run_panels(run, 0, tmp_path)
    ids = [found for panel in panels for found in re.findall(r'\bid="([^"]+)"', panel.svg)]
    assert len(ids) == len(set(ids)) > 10
    for panel in panels:
        assert "currentColor" in panel.svg and INK not in panel.svg and "<style" not in panel.svg
        ElementTree.fromstring(panel.svg.replace("<svg ", '<svg xmlns:xlink="http://www.w3.org/1999/xlink" ', 1))
        linked = re.findall(r'(?:xlink:href="#|url\(#)([^")]+)', panel.svg)
        assert linked and set(linked) <= set(ids)
    svg = (tmp_path / "run1_validity.svg").read_text()
    assert hostile in "".join(ElementTree.fromstring(svg).itertext()) and "<script>" not in svg
    assert (tmp_path / "run1_validity.png").read_bytes().startswith(b"\x89PNG")


def test_what_was_not_recorded_is_said(make_run):
    run = read_run(make_run(epochs=[{"epoch": 0}]), "run")
    panels = run_panels(run, 0, None)
    assert all(panel.svg is None and panel.missing for panel in panels) and len(panels) == len(catalogue.RUN_CHARTS)


def test_groups_are_drawn_with_the_runs_they_rest_on(make_run, lines, monkeypatch):
    wanted = {"compare_success", "compare_last_validation"}
    monkeypatch.setattr(catalogue, "COMPARISON_CHARTS", [c for c in catalogue.COMPARISON_CHARTS if c.name in wanted])
    metrics = [{"step": 0, "data": {"val-core/a/reward/mean@1": 0.25}}]
    runs = [
        read_run(
            make_run(
                f"s{seed}",
                epochs=[lines.epoch(0), lines.epoch(1)],
                config=f"genenv: {{seed: {seed}}}",
                metrics=metrics if seed else (),
            ),
            f"s{seed}",
        )  # fmt: skip
        for seed in range(3)
    ]
    last, success = comparison_panels(group_runs(runs), None)
    assert "genenv, 3 runs" in success.svg and "last validation score" in last.svg


def test_many_epochs_are_merged_into_columns():
    rows = [(float(epoch), [float(epoch)] * 10) for epoch in range(1000)]
    columns = run_figures.merged(rows, 120)
    assert len(columns) <= 120 and columns[0] == (4.0, [4.0] * 10)
    assert run_figures.merged(rows[:3], 120) == rows[:3]


def test_a_figure_with_wild_numbers_is_drawn(make_run, lines, monkeypatch):
    wild = [lines.epoch(0, success_rate=-5.0, response_tokens_mean=1e29, tokens={"env_generate": 1e29}),
            lines.epoch(10**9 - 1, success_rate=7.0, alpha=None)]  # fmt: skip
    chosen = [chart for chart in catalogue.RUN_CHARTS if chart.name in {"calibration", "cost"}]
    assert all(isinstance(chart, Chart) for chart in chosen)
    monkeypatch.setattr(catalogue, "RUN_CHARTS", chosen)
    assert all(panel.svg for panel in run_panels(read_run(make_run(epochs=wild), "run"), 0, None))
