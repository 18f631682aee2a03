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
"""The report in headless Chromium: what a reader does, and what a hostile task must not do."""

from __future__ import annotations

import json
import shutil

import pytest

from genenv_verl.report import build
from genenv_verl.report.build import ReportBuilder
from genenv_verl.report.live import LiveReport

pytestmark = pytest.mark.browser

MANY = 5000
WAIT_S = 60


@pytest.fixture(scope="module")
def driver():
    webdriver = pytest.importorskip("selenium.webdriver", reason="selenium is not installed")
    browser = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
    program = shutil.which("chromedriver")
    if not browser or not program:
        pytest.skip("no Chromium with its driver: install the packages chromium and chromium-driver")
    options = webdriver.ChromeOptions()
    options.binary_location = browser
    for argument in ("--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage"):
        options.add_argument(argument)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    made = webdriver.Chrome(options=options, service=webdriver.ChromeService(program))
    made.set_script_timeout(WAIT_S)
    yield made
    made.quit()


@pytest.fixture(autouse=True)
def no_figures(monkeypatch):
    monkeypatch.setattr(build, "run_panels", lambda *_: [])
    monkeypatch.setattr(build, "comparison_panels", lambda *_: [])


class Page:
    """A report in the browser."""

    def __init__(self, driver, url: str):
        self.driver = driver
        driver.get_log("browser")  # forgets what an earlier page said
        driver.get("about:blank")
        driver.get(url)
        self.wait("return /generations/.test(document.getElementById('count').textContent)")

    def js(self, code: str, *arguments):
        return self.driver.execute_script(code, *arguments)

    def wait(self, condition: str) -> None:
        from selenium.common.exceptions import JavascriptException
        from selenium.webdriver.support.ui import WebDriverWait

        # a page that is just being loaded again has no elements yet
        waiting = WebDriverWait(self.driver, WAIT_S, 0.05, ignored_exceptions=[JavascriptException])
        waiting.until(lambda driver: driver.execute_script(condition))

    def set(self, field: str, value: str) -> None:
        """Gives a control a value, as a user does."""
        code = "const e = document.getElementById(arguments[0]); e.value = arguments[1];"
        self.js(
            code + "for (const t of ['input', 'change']) e.dispatchEvent(new Event(t, {bubbles: true}));", field, value
        )

    @property
    def count(self) -> str:
        return self.js("return document.getElementById('count').textContent")

    @property
    def rows(self) -> list[str]:
        return self.js("return [...document.querySelectorAll('.row small')].map(e => e.textContent)")

    @property
    def detail(self) -> str:
        return self.js("return document.getElementById('detail').textContent")

    def errors(self) -> list[str]:
        return [entry["message"] for entry in self.driver.get_log("browser")]


@pytest.fixture
def open_report(driver, tmp_path):
    def make(*runs, **options) -> Page:
        return Page(driver, ReportBuilder(list(runs), tmp_path / "out", **options).build().as_uri())

    return make


@pytest.fixture
def tasks(lines):
    rejected = [lines.rejected(n, "not_json" if n % 2 else "duplicate", f"broken {n}") for n in range(6)]
    return [lines.task(n) for n in range(40)] + rejected


def test_filters_and_sorting(open_report, make_run, lines, tasks):
    page = open_report(make_run(epochs=[lines.epoch(0)], tasks={0: tasks}))
    assert page.count == "46 of 46 generations"
    page.set("p-min", "0.5")
    assert page.count == f"{sum(n % 9 / 8 >= 0.5 for n in range(40))} of 46 generations"
    page.set("r-max", "0.2")
    assert page.count == f"{sum(n % 9 / 8 >= 0.5 and n % 7 / 6 <= 0.2 for n in range(40))} of 46 generations"
    page.js("document.getElementById('reset').click()")
    for status, count in (("rejected", 6), ("reason:not_json", 3), ("flag:lucky", 8), ("valid", 40)):
        page.set("status", status)
        assert page.count.startswith(f"{count} of"), status
    page.js("document.getElementById('reset').click()")
    page.set("family", "=family-1")
    assert page.count.startswith("20 of")
    page.set("search", "ANSWER 13")
    page.wait("return document.getElementById('count').textContent.startsWith('1 of')")
    assert page.rows == ["seed-1.e0.v13"]
    page.js("document.getElementById('reset').click()")
    sort = "document.querySelector('[data-sort=\"p\"]').click();"
    page.js(sort)
    assert page.rows[0] == "seed-0.e0.v0"
    page.js(sort)
    assert page.rows[0] == "seed-2.e0.v8" and not page.rows[0].startswith("seed-0.e0.r")  # no p̂ comes last both ways
    assert page.errors() == []


def test_the_keyboard_moves_reads_and_returns(open_report, make_run, lines, tasks):
    from selenium.webdriver.common.keys import Keys

    page = open_report(make_run(epochs=[lines.epoch(0)], tasks={0: tasks}))
    page.js("document.getElementById('rows').focus()")
    page.driver.switch_to.active_element.send_keys(Keys.ARROW_DOWN, Keys.ARROW_DOWN)
    for part in ("seed-1.e0.v1", "goal 1", '{"n": "1"}', "answer 1", "1 of 3 scored ones succeed", "checker_timeout"):
        assert part in page.detail
    active = "return document.activeElement.id"
    assert page.js("return document.getElementById('rows').getAttribute('aria-activedescendant')") == "row-1"
    page.driver.switch_to.active_element.send_keys(Keys.ENTER)
    assert page.js(active) == "detail"
    page.driver.switch_to.active_element.send_keys(Keys.ESCAPE)
    assert page.js(active) == "rows"
    page.driver.switch_to.active_element.send_keys(Keys.END)
    assert "What the environment wrote" in page.detail and "broken 5" in page.detail
    assert page.js("return [...document.querySelectorAll('input,select')].every(e => e.labels.length === 1)")
    assert page.errors() == []


def test_the_keyboard_stays_in_place_at_the_last_epoch(open_report, make_run, lines):
    from selenium.webdriver.common.keys import Keys

    epochs = range(3)
    page = open_report(make_run(epochs=map(lines.epoch, epochs), tasks={n: [lines.task(0, n)] for n in epochs}))
    page.js("document.getElementById('previous').focus()")
    for epoch, focused in (("1", "previous"), ("0", "epoch")):
        page.driver.switch_to.active_element.send_keys(Keys.ENTER)
        assert page.js("return [document.getElementById('epoch').value, document.activeElement.id]") == [epoch, focused]


def test_hostile_texts_stay_texts(open_report, make_run, lines):
    task = lines.task(0, text=lines.hostile, task_id=lines.hostile, seed_id="__proto__")
    task["task"]["context"] = {"goal": lines.hostile, "system": lines.hostile, "tools": [lines.hostile]}
    task["attempts"][0]["response"] = lines.hostile + "\u202e\u0000\ud800 \u00ad \U000e0041 \U0001f9d1\u200d\U0001f680"
    task["trust"] = {"flags": [lines.hostile], "consensus": lines.hostile}
    other = lines.rejected(1, lines.hostile, lines.hostile) | {"seed_id": "constructor"}
    run = make_run(epochs=[lines.epoch(0, variant=lines.hostile, warnings=[lines.hostile])], tasks={0: [task, other]})
    page = open_report(run)
    for row in (0, 1):
        page.js(f"document.getElementById('row-{row}').click()")
        assert lines.hostile in page.detail
    shown = page.js("document.getElementById('row-0').click(); return document.getElementById('detail').textContent")
    assert "\\u202e\\u0000\ufffd \\u00ad \\u{e0041} \U0001f9d1\u200d\U0001f680" in shown
    assert page.js("return window.hacked") is None
    assert page.js("return document.querySelectorAll('img, #detail script, #rows script').length") == 0
    assert page.errors() == []
    # the page's policy holds even against a script that somehow came in
    page.js("document.body.append(Object.assign(document.createElement('script'), {textContent: 'window.hacked = 3'}))")
    assert page.js("return window.hacked") is None


def test_a_text_that_is_written_from_the_right_is_read_from_the_right(open_report, make_run, lines):
    goal = "כמה זה 12 + 7 - 3, ומה השארית של החלוקה ב-5?"
    task = lines.task(0)
    task["task"] |= {"family": goal}
    task["task"]["context"]["goal"] = task["attempts"][0]["response"] = goal
    page = open_report(make_run(epochs=[lines.epoch(0)], tasks={0: [task]}))
    page.js("document.getElementById('row-0').click()")
    places = """
      const reading = arguments[0], range = document.createRange();
      const texts = [...document.querySelectorAll("#row-0 .task, #row-0 .family, #detail pre, #detail dd")]
        .map((its) => its.firstChild).filter((node) => node.data === reading);
      const left = (node, at) => { range.setStart(node, at); range.setEnd(node, at + 1);
        return range.getBoundingClientRect().left; };
      return texts.map((node) => [left(node, 0), left(node, reading.length - 1), node.parentElement.className
        .match(/task|family/) ? node.parentElement.getBoundingClientRect().right : innerWidth]);"""
    found = page.js(places, goal)
    assert len(found) >= 5
    for first, last, edge in found:
        assert last < first < edge, "the beginning stands to the right of the end, and is not cut off"


def test_long_names_stay_in_their_place_and_columns_stand_over_their_values(open_report, make_run, lines):
    long = "n" * 280
    task = lines.task(0, seed_id=long, task_id=long)
    rejected = lines.rejected(1, long, long) | {"seed_id": long}
    page = open_report(make_run(epochs=[lines.epoch(0)], tasks={0: [task, rejected, *map(lines.task, range(2, 90))]}))
    for row in (0, 1):
        page.js(f"document.getElementById('row-{row}').click()")
        assert page.js("""
          return [document.getElementById('detail'), ...document.querySelectorAll('#detail h4, #detail p')]
            .every((its) => its.scrollWidth <= its.clientWidth);""")
    lefts = "return [...document.querySelectorAll(arguments[0])].map((e) => Math.round(e.getBoundingClientRect().left))"
    assert page.js(lefts, "#columns > *") == page.js(lefts, "#row-0 > *")


def test_five_thousand_tasks_stay_smooth(open_report, make_run, lines):
    page = open_report(make_run(epochs=[lines.epoch(0)], tasks={0: [lines.task(n) for n in range(MANY)]}))
    assert page.count == "5,000 of 5,000 generations"
    scroll = """
      const done = arguments[0], list = document.getElementById('rows'), times = [];
      let step = 0, most = 0;
      const next = () => {
        if (step === 60) return done([times.sort((a, b) => a - b)[30], most, list.lastElementChild.id]);
        const began = performance.now();
        list.scrollTop = (++step / 60) * list.scrollHeight;
        list.dispatchEvent(new Event('scroll'));
        requestAnimationFrame(() => requestAnimationFrame(() => {
          times.push(performance.now() - began);
          most = Math.max(most, document.querySelectorAll('.row').length);
          next();
        }));
      };
      next();"""
    median_ms, most, last = page.driver.execute_async_script(scroll)
    assert most < 60 and last == "row-4999"
    assert median_ms < 500  # two frames take 33 ms on an idle machine; a list without virtual rows takes seconds
    page.set("search", "answer 4321")
    page.wait("return document.getElementById('count').textContent.startsWith('1 of')")
    assert page.errors() == []


def test_a_damaged_run_opens_and_says_what_is_damaged(open_report, make_run, lines):
    run = make_run(epochs=[lines.epoch(0), {"epoch": 1, "tokens": "x"}], tasks={0: [lines.task(0), {}], 1: []})
    with open(run / "genenv" / "epochs.jsonl", "a") as file:
        file.write('{"epoch": 2, "succ')
    with open(run / "genenv" / "tasks" / "epoch_0000.jsonl", "a") as file:
        file.write("\x00\x00{broken\n")
    page = open_report(run)
    page.set("epoch", "0")
    page.wait("return document.getElementById('count').textContent.startsWith('2 of')")
    assert "1 damaged line " in page.count
    assert "1 damaged line in epochs.jsonl" in page.js("return document.body.textContent")
    page.js("document.getElementById('row-1').click()")
    assert page.errors() == []


def test_tasks_in_files_are_loaded_from_disk_and_a_missing_one_is_said(open_report, make_run, lines, tmp_path):
    page = open_report(make_run(epochs=[], tasks={0: [lines.task(0)], 1: [lines.task(1, 1)]}), embed=10)
    assert page.rows == ["seed-1.e1.v1"] and page.errors() == []
    (tmp_path / "out" / "tasks" / "r0-e0.js").unlink()
    page.js("document.getElementById('previous').click()")
    page.wait("return document.getElementById('count').textContent.includes('keep the folder')")


@pytest.mark.parametrize(
    ("width", "scheme", "background"), [(360, "light", "rgb(255, 255, 255)"), (1280, "dark", "rgb(20, 23, 26)")]
)
def test_it_fits_a_phone_and_follows_the_colour_scheme(open_report, make_run, lines, tasks, width, scheme, background):
    epochs = [lines.epoch(0, variant="v" * 60)]
    page = open_report(make_run("a-run-with-quite-a-long-name-" * 3, epochs=epochs, tasks={0: tasks}))
    metrics = {"width": width, "height": 800, "deviceScaleFactor": 1, "mobile": width < 500}
    page.driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", metrics)
    feature = {"features": [{"name": "prefers-color-scheme", "value": scheme}]}
    page.driver.execute_cdp_cmd("Emulation.setEmulatedMedia", feature)
    page.js(
        "for (const e of document.querySelectorAll('details')) e.open = true; document.getElementById('row-0').click()"
    )
    assert page.js("return document.documentElement.scrollWidth") <= width
    assert page.js("return getComputedStyle(document.body).backgroundColor") == background
    page.driver.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})
    page.driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": []})


def test_a_live_page_follows_its_run_and_keeps_its_state(driver, make_run, lines, tasks, tmp_path):
    run = make_run(epochs=[lines.epoch(0)], tasks={0: tasks})
    report = LiveReport(ReportBuilder([run], tmp_path / "out", live=True))
    report.update()
    report.start()
    try:
        page = Page(driver, report.url)
        page.set("status", "rejected")
        with open(run / "genenv" / "epochs.jsonl", "a") as file:
            file.write(json.dumps(lines.epoch(1)) + "\n")
        (run / "genenv" / "tasks" / "epoch_0001.jsonl").write_text(json.dumps(lines.task(1, 1)) + "\n")
        assert report.update()
        page.wait("return document.querySelectorAll('#epoch option').length === 2")
        page.wait("return document.getElementById('count').textContent === '6 of 46 generations'")
        assert page.errors() == []
    finally:
        report.close()
