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

import base64
import gzip
import json
import re
from html import unescape
from html.parser import HTMLParser

import pytest
from typer.testing import CliRunner

from genenv_verl.cli import app
from genenv_verl.report.build import ReportBuilder
from genenv_verl.report.figures import catalogue
from genenv_verl.report.run_files import NoRun


class _Page(HTMLParser):
    """What a page loads, and the text of its elements with an id."""

    def __init__(self, html: str):
        super().__init__()
        self.urls: list[str] = []
        self.scripts = 0
        self.texts: dict[str, str] = {}
        self._open: str | None = None
        self.feed(html)

    def handle_starttag(self, tag, attributes):
        its = dict(attributes)
        self.scripts += tag == "script"
        self.urls += [its[name] for name in ("src", "href", "action", "poster", "data") if its.get(name)]
        self._open = its.get("id")

    def handle_data(self, data):
        if self._open:
            self.texts[self._open] = self.texts.get(self._open, "") + data


def unpack(part: str):
    return json.loads(gzip.decompress(base64.b64decode(part)))


def test_the_page_holds_everything_and_asks_for_nothing(make_run, lines, tmp_path):
    run = make_run(epochs=[lines.epoch(0), lines.epoch(1)], tasks={0: [lines.task(n) for n in range(5)]})
    result = CliRunner().invoke(app, ["report", str(run), "--out", str(tmp_path / "out")])
    assert result.exit_code == 0, result.output
    html = unescape((tmp_path / "out" / "index.html").read_text())
    page = _Page(html)
    assert all(url.startswith("#") or url == "data:," for url in page.urls)
    assert "default-src 'none'" in html and "://" not in html.replace("://www.w3.org/", "")
    assert len(unpack(page.texts["part-r0-e0"])["rows"]) == 5
    assert not (tmp_path / "out" / "tasks").exists()
    names = {path.name for path in (tmp_path / "out" / "figures").iterdir()}
    assert {"run1_calibration.svg", "run1_calibration.png", "run1_trust.svg", "run1_cost.png"} <= names


def test_text_of_models_and_names_of_runs_are_never_markup(make_run, lines, tmp_path, monkeypatch):
    for charts, name in (("RUN_CHARTS", "validity"), ("COMPARISON_CHARTS", "compare_success")):
        monkeypatch.setattr(catalogue, charts, [its for its in getattr(catalogue, charts) if its.name == name])
    hostile = lines.hostile
    task = lines.task(0, text=hostile, task_id=hostile)
    task["task"]["context"]["goal"] = hostile
    run = make_run(
        name="<b>&'\"$\\frac$",
        epochs=[lines.epoch(0, variant=hostile, warnings=[f"{hostile}\u202e\0"], invalid_reasons={hostile: 3})],
        tasks={0: [task, lines.rejected(0, hostile, hostile)]},
        config=f"genenv: {{variant: {json.dumps(hostile)}}}",
    )
    other = make_run(name="_hidden", epochs=[lines.epoch(0)])
    html = ReportBuilder([run, other], tmp_path / "out").build().read_text()
    assert "<script>window.hacked" not in html and "<img src=x" not in html and "<b>" not in html
    assert "\\u202e\\x00" in html and not {"\u202e", "\0"} & set(html)  # marks that turn a line around are spelt out
    page = _Page(html)
    assert page.scripts == 3  # data, one part, our own
    assert json.loads(page.texts["report-data"])["runs"][0]["name"] == "<b>&'\"$\\frac$"
    row = unpack(page.texts["part-r0-e0"])["rows"][0]
    assert row["goal"] == hostile == row["id"]


def test_headings_leave_no_level_out(make_run, lines, tmp_path, monkeypatch):
    monkeypatch.setattr(catalogue, "RUN_CHARTS", catalogue.RUN_CHARTS[:1])
    monkeypatch.setattr(catalogue, "COMPARISON_CHARTS", catalogue.COMPARISON_CHARTS[:1])
    runs = [make_run(name=name, epochs=[lines.epoch(0)]) for name in ("one", "two")]
    levels = [
        int(level) for level in re.findall(r"<h([1-6])", ReportBuilder(runs, tmp_path / "out").build().read_text())
    ]
    assert levels[0] == 1 and 4 in levels
    assert all(below - above <= 1 for above, below in zip(levels, levels[1:], strict=False))


def test_many_tasks_go_into_files_beside_the_page(make_run, lines, tmp_path, monkeypatch):
    run = make_run(epochs=[lines.epoch(0)], tasks={n: [lines.task(place, n) for place in range(20)] for n in range(3)})
    out = tmp_path / "out"
    monkeypatch.setattr(catalogue, "RUN_CHARTS", ())
    html = unescape(ReportBuilder([run], out, embed=1000).build().read_text())
    assert "'strict-dynamic'" in html and _Page(html).scripts == 2
    assert sorted(path.name for path in (out / "tasks").iterdir()) == ["r0-e0.js", "r0-e1.js", "r0-e2.js"]
    text = (out / "tasks" / "r0-e1.js").read_text()
    assert (
        unpack(re.fullmatch(r'genenvPart\("r0-e1","([A-Za-z0-9+/=]*)"\);\n', text)[1])["rows"][0]["id"]
        == "seed-0.e1.v0"
    )
    ReportBuilder([run], out).build()
    assert not (out / "tasks").exists()


def test_a_folder_without_a_run_is_named_with_what_to_give(tmp_path):
    result = CliRunner().invoke(app, ["report", str(tmp_path), "--out", str(tmp_path / "out")])
    assert result.exit_code != 0 and "trainer.default_local_dir" in str(result.exception or result.output)
    (tmp_path / "run" / "genenv" / "tasks").mkdir(parents=True)
    given = ["report", str(tmp_path / "run"), "--out", str(tmp_path / "out"), "--seeds", str(tmp_path / "no_such_file")]
    assert CliRunner().invoke(app, given).exit_code == 2
    with pytest.raises(NoRun, match="no run in it"):
        ReportBuilder([tmp_path / "nothing"], tmp_path / "out")


def test_the_page_says_that_versions_are_missing_only_where_they_are(make_run, lines, tmp_path, monkeypatch):
    monkeypatch.setattr(catalogue, "RUN_CHARTS", ())
    run, missing = make_run(epochs=[lines.epoch(0)]), "has not recorded the version of verl"
    assert missing in ReportBuilder([run], tmp_path / "out").build().read_text()
    (run / "versions.json").write_text('{"verl": "0.9.1"}')
    assert missing not in ReportBuilder([run], tmp_path / "out").build().read_text()
