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

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from genenv_verl.benchmarks.travelplanner_response import read_plan

DAY = {
    "days": 1,
    "current_city": "from Alpha to Beta",
    "transportation": "Taxi, from Alpha to Beta",
    "breakfast": "-",
    "attraction": "Old Tower, Beta;Park, Beta;",
    "lunch": "Red: the Table, Beta",
    "dinner": "-",
    "accommodation": "Quiet Loft, Beta",
}
TEXT = """Here is the plan.
Day 1:
Current City: from Alpha to Beta
Transportation: Taxi, from Alpha to Beta
Breakfast: -
Attraction: Old Tower, Beta;Park, Beta.
Lunch: Red: the Table, Beta
Dinner: -
Accommodation: Quiet Loft, Beta

Enjoy!
"""
MARKDOWN = """### **Day 1**
- **Current City:** from Alpha to Beta
- **Transportation:** Taxi, from Alpha to Beta
* **Breakfast**: -
* Attractions: Old Tower, Beta;Park, Beta
- Lunch: Red: the Table, Beta
- Dinner: -
- Accommodation: Quiet Loft, Beta
"""


@pytest.mark.parametrize(
    "response",
    [
        json.dumps([DAY]),
        f"<think>[{{}}] maybe</think>\n<response>{json.dumps([DAY])}</response>",
        f"<response>\n```json\n{json.dumps([DAY], indent=2)}\n```",
        f"Sure: {json.dumps({'plan': [DAY]})} Enjoy [1]!",
        json.dumps({"days": 1, "notes": ["none"], "itinerary": [DAY]}),
        f"{json.dumps(DAY)}\n",
        json.dumps([{key.replace("_", " ").title(): value for key, value in DAY.items()}]),
        TEXT,
        f"<think>Day 1: Current City: Gamma</think><response>{TEXT}</response>",
        MARKDOWN,
    ],
)
def test_forms_of_one_plan(response):
    assert read_plan(response) == [DAY]


def test_a_json_plan_stays_as_it_is():
    """Only text is completed: what a model writes as JSON is scored as it stands, oddities included."""
    plan = [{**DAY, "attraction": "Old Tower, Beta", "lunch": None, "note": [1]}, {"day": 2}, 7]
    assert read_plan(json.dumps(plan)) == [plan[0], {"days": 2}, 7]


def test_days_one_after_another():
    assert [day["days"] for day in read_plan(f"{json.dumps(DAY)}\n{json.dumps({**DAY, 'days': 2})}")] == [1, 2]


def test_days_of_a_text_in_their_order():
    plan = read_plan(
        "Day 1: \ncurrent city: Alpha\nLunch: -\nLunch: X, Alpha\nDay 2\nCurrent City: Beta\nWeather: fine"
    )
    assert plan == [{"days": 1, "current_city": "Alpha", "lunch": "-"}, {"days": 2, "current_city": "Beta"}]


@pytest.mark.parametrize(
    "response",
    [
        "",
        "I cannot plan this.",
        "[1, 2, 3]",
        "{}",
        '{"plan": {"current_city": "Beta"}}',
        "Day 1:\nLunch: X, Beta",
        "<think>" + json.dumps([DAY]),
        f"<think>{json.dumps([DAY])}</think>",
        "[" * 60_000,
        "Day 1:\n" * 9_000,
        " " * 70_000 + json.dumps([DAY]),
        "\ud800",
    ],
    ids=lambda text: text[:20].encode("ascii", "replace").decode(),
)
def test_no_plan(response):
    assert read_plan(response) is None


@given(st.text(st.sampled_from('{}[]":,;*- \nday1currentcity<>/response'), max_size=200) | st.text(max_size=200))
def test_never_raises(response):
    plan = read_plan(response)
    assert plan is None or (isinstance(plan, list) and plan)
