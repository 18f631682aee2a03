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

import gzip
import json
import os
import random
from pathlib import Path

import pytest

from genenv_verl.benchmarks import get_benchmark
from genenv_verl.benchmarks.base import ReleaseError, Verdict
from genenv_verl.benchmarks.rows import read_step, step_row
from genenv_verl.benchmarks.scoring import score_file
from genenv_verl.benchmarks.travelplanner_commonsense import COMMONSENSE
from genenv_verl.benchmarks.travelplanner_database import read_database
from genenv_verl.benchmarks.travelplanner_hard import HARD

TABLES = {
    "restaurants/clean_restaurant_2022.csv": """,Name,City,Cuisines,Average Cost,Aggregate Rating
0,Green Table,Beta,"American, Indian",10,4.0
1,Red Table,Beta,French,20,4.1
2,Blue Corner,Beta,Chinese,30,4.2
3,Yellow House,Beta,Cafe,40,4.3
4,Home Diner,Alpha,Chinese,5,4.4
5,No Rating Grill,Beta,Indian,10,
""",
    "attractions/attractions.csv": """Name,Latitude,Longitude,Address,Phone,Website,City
Old Tower,1.0,2.0,1 Main St,1,http://a,Beta
Park of "Peace, Love",1.0,2.0,2 Main St,2,http://b,Beta
""".replace('Park of "Peace, Love"', '"Park of ""Peace, Love"""'),
    "accommodations/clean_accommodations_2022.csv": (
        ",NAME,room type,price,minimum nights,review rate number,house_rules,maximum occupancy,city\n"
        "0,Quiet Loft,Entire home/apt,100.0,2.0,4.0,No smoking & No parties,2,Beta\n"
        "1,Shared Bunk,Shared room,20.0,1.0,4.0,No pets,1,Beta\n"
        "2,Long Stay,Private room,50.0,5.0,3.0,No visitors,4,Beta\n"
    ),
    "flights/clean_Flights_2022.csv": (
        ",Flight Number,Price,DepTime,ArrTime,ActualElapsedTime,FlightDate,OriginCityName,DestCityName,Distance\n"
        "0,F0000002,150,09:00,10:00,1 hour,2022-03-03,Beta,Alpha,600.0\n"
        "1,F0000001,200,09:00,10:00,1 hour,2022-03-01,Alpha,Beta,600.0\n"
    ),
    "googleDistanceMatrix/distance.csv": """origin,destination,cost,duration,distance
Alpha,Beta,,9 hours,"1,000 km"
Beta,Alpha,,9 hours,"1,010 km"
Alpha,Gamma,,1 day 2 hours,"3,000 km"
Alpha,Delta,,,
""",
    "background/citySet_with_states.txt": "Alpha\tOhio\nBeta\tOhio\nGamma\tTexas\nDelta\tOhio",
}
QUERY = {
    "org": "Alpha",
    "dest": "Beta",
    "days": 3,
    "visiting_city_number": 1,
    "date": ["2022-03-01", "2022-03-02", "2022-03-03"],
    "people_number": 2,
    "local_constraint": {"house rule": None, "cuisine": None, "room type": None, "transportation": None},
    "budget": 1200,
    "query": "Three days in Beta for two, from Alpha, please.",
    "level": "easy",
}
GOLD = [
    {
        "days": 1,
        "current_city": "from Alpha to Beta",
        "transportation": "Flight Number: F0000001, from Alpha to Beta, Departure Time: 09:00, Arrival Time: 10:00",
        "breakfast": "-",
        "attraction": "-",
        "lunch": "-",
        "dinner": "Green Table, Beta",
        "accommodation": "Quiet Loft, Beta",
    },
    {
        "days": 2,
        "current_city": "Beta",
        "transportation": "-",
        "breakfast": "Red Table, Beta",
        "attraction": 'Park of "Peace, Love", Beta;',
        "lunch": "Blue Corner, Beta",
        "dinner": "Yellow House, Beta",
        "accommodation": "Quiet Loft, Beta",
    },
    {
        "days": 3,
        "current_city": "from Beta to Alpha",
        "transportation": "Flight Number: F0000002, from Beta to Alpha, Departure Time: 09:00, Arrival Time: 10:00",
        "breakfast": "-",
        "attraction": "-",
        "lunch": "-",
        "dinner": "-",
        "accommodation": "-",
    },
]
# Two flights for two, the gold plan's meals for two, and two nights in a loft for two.
GOLD_COST = 2 * (200 + 150) + 2 * (10 + 20 + 30 + 40) + 2 * 100
REFERENCE = [
    {"Description": "Attractions in Beta", "Content": "     Name      Address\nOld Tower    1 Main St"},
    {"Description": "Restaurants in Beta", "Content": [{"Name": "Green Table", "Average Cost": 10, "City": "Beta"}]},
]


def write_release(folder: Path, **wishes) -> Path:
    """A release of one training query with the given local constraints, and two test queries."""
    for name, text in TABLES.items():
        path = folder / "database" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    write_queries(folder, "train", query_with(**wishes))
    test = [{"level": "easy", "days": "3", "query": f"Trip {number}?"} for number in (1, 2)]
    (folder / "test.csv").write_text("level,days,query\n" + "".join(f"{','.join(row.values())}\n" for row in test))
    return folder


def query_with(**wishes):
    budget = wishes.pop("budget", QUERY["budget"])
    wishes = {key.replace("_", " "): value for key, value in wishes.items()}
    return {**QUERY, "budget": budget, "local_constraint": {**QUERY["local_constraint"], **wishes}}


def write_queries(folder: Path, split: str, *queries):
    """The Hugging Face form: one CSV a split, structured columns as Python literals."""
    import pandas as pd

    rows = [
        {
            **{key: value if isinstance(value, str) else repr(value) for key, value in query.items()},
            "annotated_plan": repr([query, [*GOLD, {}, {}, {}, {}]]) if split == "train" else "",
            "reference_information": repr(REFERENCE),
        }
        for query in queries
    ]
    pd.DataFrame(rows).to_csv(folder / f"{split}.csv", index=False)


@pytest.fixture(scope="module")
def planner():
    return get_benchmark("travelplanner")


@pytest.fixture(scope="module")
def record(planner, tmp_path_factory):
    return planner.load(write_release(tmp_path_factory.mktemp("release")))[0]


def plan_with(*changes, base=GOLD):
    """The plan with fields of days changed: ``(day from 1, field, value)``; the value ``...`` removes the field."""
    plan = [dict(day) for day in base]
    for day, field, value in changes:
        plan[day - 1][field] = value
        if value is ...:
            del plan[day - 1][field]
    return plan


def failed(verdict: Verdict) -> set[str]:
    constraints = {**(verdict.details["commonsense"] or {}), **(verdict.details["hard"] or {})}
    return {name for name, passes in constraints.items() if passes is False}


def test_the_gold_plan_passes_everything(planner, record):
    verdict = planner.score(record, {"plan": GOLD})
    assert (verdict.score, verdict.reason) == (1.0, "ok")
    assert verdict.details == {
        "delivered": True,
        "commonsense": dict.fromkeys(COMMONSENSE, True),
        "hard": {**dict.fromkeys(HARD), "valid_cost": True},
    }


DRIVE = "Self-driving, from Alpha to Beta, duration: 9 hours"
DRIVE_BACK = "Self-driving, from Beta to Alpha"
CITY_CHECK, SANDBOX = "is_valid_information_in_current_city", "is_valid_information_in_sandbox"


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ([(1, "dinner", "Red Table, Beta")], {"is_valid_restaurants"}),
        ([(1, "dinner", "RED TABLE, Beta")], {SANDBOX}),
        ([(1, "dinner", "Green, Beta")], set()),  # A part of a name is enough.
        ([(1, "dinner", "No Rating Grill, Beta")], {SANDBOX}),  # Rows with gaps are not in the official tables.
        ([(1, "dinner", "Green Table, Beta(Ohio)")], set()),
        ([(1, "dinner", "Green Table")], {CITY_CHECK, SANDBOX}),
        ([(1, "dinner", "Home Diner, Alpha")], set()),  # One may eat where one starts.
        ([(2, "lunch", "Home Diner, Alpha")], set()),  # On a day in one city a letter of its name is enough.
        ([(2, "lunch", None)], set()),
        ([(2, "lunch", "")], {"is_not_absent"}),
        ([(2, "lunch", "-")], {"is_not_absent"}),
        ([(2, "lunch", ...)], {"is_not_absent"}),
        ([(2, "attraction", "Old Tower, Beta;Old Tower, Beta;")], {"is_valid_attractions"}),
        ([(2, "attraction", "Old Tower, Beta; Old Tower, Beta;")], set()),
        ([(2, "attraction", "Old Tower, Beta;No Such Tower, Beta")], set()),  # The last one has no semicolon.
        ([(2, "attraction", "No Such Tower, Beta;")], {SANDBOX}),
        ([(2, "attraction", "-")], {"is_not_absent"}),
        (
            [(1, "accommodation", "Long Stay, Beta"), (2, "accommodation", "Long Stay, Beta")],
            {"is_valid_accommodation"},
        ),
        ([(2, "accommodation", "Shared Bunk, Beta")], {"is_valid_accommodation"}),  # One night in the loft is too few.
        ([(1, "accommodation", ...)], {"is_valid_accommodation", "is_not_absent"}),
        ([(1, "accommodation", "-")], {"is_valid_accommodation", "is_not_absent"}),
        ([(1, "transportation", "-")], {"is_valid_transportation", "is_not_absent"}),
        ([(1, "transportation", DRIVE)], {"is_valid_transportation"}),
        ([(1, "transportation", DRIVE), (3, "transportation", DRIVE_BACK)], set()),
        ([(1, "transportation", "Taxi, from Alpha to Beta")], {"valid_cost"}),  # 1,000 km at a dollar each.
        ([(1, "transportation", "Flight Number: F0000002, from Alpha to Beta")], {SANDBOX}),
        ([(1, "transportation", "By boat, from Alpha to Beta")], set()),  # Only flights and roads are looked up.
        ([(1, "current_city", "from Gamma to Beta")], {"is_reasonable_visiting_city", CITY_CHECK, "is_not_absent"}),
        ([(1, "current_city", "Beta")], {"is_reasonable_visiting_city", "is_not_absent"}),
        ([(3, "current_city", "Beta"), (3, "transportation", "-")], {"is_reasonable_visiting_city", "is_not_absent"}),
        ([(1, "current_city", "from Alpha(Ohio) to Beta(Ohio)")], set()),
    ],
)
def test_each_constraint_fails_for_its_own_reason(planner, record, changes, expected):
    verdict = planner.score(record, {"plan": plan_with(*changes)})
    assert failed(verdict) == expected
    assert verdict.score == float(not expected)


def test_a_city_between_the_ends_is_no_mere_stop(planner, record):
    """Beta is arrived at and left on the first day, so that it occurs but once in the route."""
    plan = plan_with((2, "current_city", "Delta"))
    assert "is_reasonable_visiting_city" in failed(planner.score(record, {"plan": plan}))


def test_days_after_the_trip_are_ignored(planner, record):
    assert planner.score(record, {"plan": [*GOLD, {}, {"current_city": 7}]}).score == 1


def test_hard_constraints_are_looked_at_only_behind_the_gate(planner, record):
    verdict = planner.score(record, {"plan": plan_with((1, "dinner", "Invented, Beta"))})
    assert verdict.details["hard"] is None
    assert verdict.details["commonsense"][SANDBOX] is False


BUNK = [(1, "accommodation", "Shared Bunk, Beta"), (2, "accommodation", "Shared Bunk, Beta")]


@pytest.mark.parametrize(
    ("wishes", "changes", "name", "expected"),
    [
        ({}, [], "valid_cuisine", None),
        ({"cuisine": ["American", "French"]}, [], "valid_cuisine", True),
        ({"cuisine": ["American", "Mexican"]}, [], "valid_cuisine", False),
        # A meal at the origin does not count, nor do the later ones of that day.
        ({"cuisine": ["Chinese"]}, [(2, "breakfast", "Home Diner, Alpha")], "valid_cuisine", False),
        ({"house_rule": "smoking"}, [], "valid_room_rule", False),
        ({"house_rule": "parties"}, [], "valid_room_rule", False),
        ({"house_rule": "pets"}, [], "valid_room_rule", True),
        ({"house_rule": "pets"}, BUNK, "valid_room_rule", False),
        ({"room_type": "entire room"}, [], "valid_room_type", True),
        ({"room_type": "entire room"}, BUNK, "valid_room_type", False),
        ({"room_type": "private room"}, [], "valid_room_type", False),
        ({"room_type": "shared room"}, BUNK, "valid_room_type", True),
        ({"room_type": "not shared room"}, BUNK, "valid_room_type", False),
        ({"room_type": "not shared room"}, [], "valid_room_type", True),
        ({"transportation": "no flight"}, [], "valid_transportation", False),
        ({"transportation": "no self-driving"}, [], "valid_transportation", True),
        ({"budget": GOLD_COST}, [], "valid_cost", True),
        ({"budget": GOLD_COST - 1}, [], "valid_cost", False),
        # A car for up to five: 1,000 and 1,010 km at five cents instead of the flights.
        (
            {"budget": GOLD_COST - 600},
            [(1, "transportation", DRIVE), (3, "transportation", DRIVE_BACK)],
            "valid_cost",
            True,
        ),
        (
            {"budget": GOLD_COST - 601},
            [(1, "transportation", DRIVE), (3, "transportation", DRIVE_BACK)],
            "valid_cost",
            False,
        ),
    ],
)
def test_hard_constraints(planner, tmp_path, wishes, changes, name, expected):
    record = planner.load(write_release(tmp_path, **wishes))[0]
    verdict = planner.score(record, {"plan": plan_with(*changes)})
    assert verdict.details["hard"][name] is expected


@pytest.mark.parametrize("plan", [None, [], {}, "", 0, False])
def test_no_plan_is_not_delivered(planner, record, plan):
    verdict = planner.score(record, {"plan": plan})
    assert verdict == Verdict(0.0, "no_plan", {"delivered": False, "commonsense": None, "hard": None})


NESTED: list = []
for _ in range(500):
    NESTED = [NESTED]


@pytest.mark.parametrize(
    "plan",
    [
        "a plan",
        7,
        True,
        1e308,
        {"plan": GOLD},
        {"0": GOLD[0]},
        [[]],
        [None, None, None],
        ["day", "day", "day"],
        [{}, {}, {}],
        plan_with((1, "current_city", ...)),
        plan_with((3, "transportation", ...)),
        plan_with((1, "current_city", None)),
        plan_with((1, "current_city", ["Alpha", "Beta"])),
        plan_with((1, "current_city", {"from": "Alpha"})),
        plan_with((2, "breakfast", 12)),
        plan_with((2, "breakfast", {"name": "Red Table"})),
        plan_with((2, "attraction", ["Old Tower, Beta"])),
        plan_with((1, "accommodation", None), (2, "accommodation", None)),
        plan_with((2, "dinner", NESTED), (2, "lunch", NESTED)),
        plan_with((1, "transportation", "Flight Number F0000001, from Alpha to Beta")),
        plan_with((1, "transportation", "flight number: F0000001, from Alpha to Beta")),
        plan_with((1, "transportation", {"flight number": 1})),
        plan_with((1, "transportation", "from " * 30_000)),
        plan_with((1, "current_city", "from" + " " * 100_000)),
    ],
    ids=lambda plan: str(plan)[:40],
)
def test_what_the_official_code_cannot_read_is_a_failed_answer(planner, record, plan):
    verdict = planner.score(record, {"plan": plan})
    assert verdict.score == 0
    assert verdict.reason.startswith("official_code_raises:")
    assert verdict.details == {"delivered": True, "commonsense": None, "hard": None}


@pytest.mark.parametrize("text", [", Beta" * 50_000, "(" * 100_000, "\n, Beta(" * 20_000, "\0, Beta", "🏠, Beta"])
def test_long_and_odd_texts_are_read_in_time(planner, record, text):
    plan = plan_with((2, "lunch", text), (2, "attraction", f"{text};" * 2), (2, "accommodation", text))
    assert planner.score(record, {"plan": plan}).score == 0


@pytest.mark.parametrize("number", ["F0000001\0", "F000000", "F00000011", "Ｆ0000001", ""])
def test_a_flight_number_is_matched_whole(planner, record, number):
    plan = plan_with((1, "transportation", f"Flight Number: {number}, from Alpha to Beta"))
    assert failed(planner.score(record, {"plan": plan})) == {SANDBOX}


def test_day_and_days_get_the_same_verdict_b20(planner, record):
    """Case B20: the submission form says "day" where the code says "days"; no constraint reads the number."""
    renamed = [
        {"day": number, **{key: value for key, value in day.items() if key != "days"}}
        for number, day in enumerate(GOLD)
    ]
    assert planner.score(record, {"plan": renamed}) == planner.score(record, {"plan": GOLD})


def test_a_record_without_labels_is_one_error_when_loading_b20(planner, tmp_path):
    """Case B20: a missing label must not surface after hours of generation."""
    write_release(tmp_path)
    lacking = {key: value for key, value in QUERY.items() if key not in ("local_constraint", "visiting_city_number")}
    write_queries(tmp_path, "validation", QUERY, lacking)
    with pytest.raises(ReleaseError, match="line 3.*validation split lacks visiting_city_number, local_constraint"):
        planner.load(tmp_path)


def test_the_test_split_is_counted_but_neither_asked_nor_scored_b20(planner, tmp_path, caplog):
    """Case B20: the official test split holds no labels; one error before any verdict names them and the split."""
    records = planner.load(write_release(tmp_path))
    assert planner.counts(records) == {"train": 1, "test": 2}
    assert [step.step_id for step in planner.steps(records)] == ["train_0"]
    assert "2 queries of the test split come without labels" in caplog.text
    outputs, out = tmp_path / "outputs.jsonl", tmp_path / "verdicts.jsonl"
    lines = [{"id": name, "record_id": name, "plan": GOLD} for name in ("train_0", "test_1")]
    outputs.write_text("".join(json.dumps(line) + "\n" for line in lines))
    with pytest.raises(ReleaseError, match="test_1 of the test split lacks org, dest, visiting_city_number"):
        score_file(planner, records, outputs, out)
    assert not out.exists()


def test_aggregate_has_the_official_denominators(planner, tmp_path):
    record = planner.load(write_release(tmp_path, cuisine=["American"], room_type="private room"))[0]
    answers = [GOLD, plan_with((1, "dinner", "Red Table, Beta")), plan_with((1, "dinner", "Invented, Beta")), None]
    figures = planner.aggregate([(record, planner.score(record, {"plan": plan})) for plan in answers])
    micro, macro = 8 + 7 + 7, 1
    # American is served in the first plan alone; three hard constraints are asked, of which the room type always fails.
    hard = 2 + 1
    assert figures == {
        "score": pytest.approx((micro / 32 + macro / 4 + hard / 12 + 0) / 4),
        "commonsense_micro": micro / 32,
        "commonsense_macro": macro / 4,
        "hard_micro": hard / 12,
        "hard_macro": 0,
        "delivery_rate": 3 / 4,
        "final_pass_rate": 0,
    }
    assert planner.aggregate([]) == {}


def test_a_verdict_without_details_is_a_failed_answer(planner, record):
    assert planner.aggregate([(record, Verdict(0.0, "scorer_error:X"))])["score"] == 0


def test_step_holds_the_reference_and_its_row_scores(planner, record):
    (step,) = planner.steps([record])
    prompt = "\n".join(message.content for message in planner.messages(step))
    assert "Attractions in Beta:\nName Address\nOld Tower 1 Main St" in prompt
    assert "Restaurants in Beta:\nName | Average Cost\nGreen Table | 10" in prompt
    assert QUERY["query"] in prompt
    assert "Quiet Loft" not in prompt
    row = step_row("travelplanner", step, planner.messages(step), split="train", index=0)
    back = read_step(row["reward_model"]["ground_truth"], row["extra_info"])
    assert planner.score(back.record, planner.parse(back, json.dumps(GOLD))).score == 1
    assert planner.defect(back.record) is None


def test_a_validation_query_has_no_gold_and_is_no_seed(planner, tmp_path):
    write_release(tmp_path)
    write_queries(tmp_path, "validation", QUERY)
    validation = [record for record in planner.load(tmp_path) if record.split == "validation"]
    (step,) = planner.steps(validation)
    assert planner.defect(step.record) == "no gold plan"


def test_queries_as_json_lines_with_their_references(planner, tmp_path):
    """The repository's layout; the number of cities stands in the annotation alone."""
    write_release(tmp_path)
    (tmp_path / "train.csv").unlink()
    lean = {key: value for key, value in QUERY.items() if key != "visiting_city_number"}
    (tmp_path / "train_queries.jsonl").write_text(json.dumps({**lean, "annotated_plan": [QUERY, [*GOLD, {}]]}) + "\n")
    reference = {section["Description"]: section["Content"] for section in REFERENCE}
    (tmp_path / "train_ref_info.jsonl").write_text(json.dumps(reference) + "\n")
    (tmp_path / "postprocess").mkdir()
    (tmp_path / "postprocess/example_evaluation.jsonl").write_text(json.dumps({"idx": 1, "query": "Go!", "plan": []}))
    records = planner.load(tmp_path)
    assert planner.counts(records) == {"train": 1, "validation": 1, "test": 2}
    assert planner.score(records[0], {"plan": records[0].data["gold_plan"]}).score == 1
    assert records[0].data["reference"][1]["text"] == "Name | Average Cost\nGreen Table | 10"
    (tmp_path / "train_ref_info.jsonl").unlink()
    with pytest.raises(ReleaseError, match="train_ref_info.jsonl is missing.*; download"):
        planner.load(tmp_path)


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("train.csv", None, "train.csv, validation.csv or test.csv; download"),
        ("train.csv", "query,annotated_plan\nGo,[[]]\n", "line 2.*no pair of query and days"),
        ("train.csv", "query,local_constraint\nGo,__import__('os')\n", "line 2.*local_constraint is damaged"),
        ("train.csv", "query,days\nGo,many\n", "line 2.*days is damaged"),
        ("train.csv", "query,days\n ,3\n", "line 2.*no query"),
        ("train.csv", "\x00\x00", "train.csv holds no query"),
        ("database/flights/clean_Flights_2022.csv", None, "missing: .*clean_Flights_2022.csv; download"),
    ],
)
def test_a_broken_release_names_the_file(planner, tmp_path, name, text, message):
    write_release(tmp_path)
    (tmp_path / "test.csv").unlink()
    (tmp_path / name).unlink() if text is None else (tmp_path / name).write_text(text)
    with pytest.raises(ReleaseError, match=message):
        planner.load(tmp_path)


@pytest.mark.parametrize("damage", ["columns", "cut", "flipped"])
def test_a_damaged_table_is_named_when_the_release_is_read(planner, tmp_path, damage):
    path = write_release(tmp_path) / "database/attractions/attractions.csv"
    if damage == "columns":
        path.write_text("Name\nOld Tower\n")
    else:
        packed = bytearray(gzip.compress(random.Random(0).randbytes(3_000)))
        packed[1_000] ^= 0xFF
        path.unlink()
        path.with_name("attractions.csv.gz").write_bytes(packed[:1_500] if damage == "cut" else packed)
    with pytest.raises(ReleaseError, match=r"attractions\.csv.* is damaged .*; download"):
        planner.load(tmp_path)


@pytest.mark.parametrize("text", ["", "Springfield Ohio\n"])
def test_damaged_states_are_named_when_the_release_is_read(planner, tmp_path, text):
    (write_release(tmp_path) / "database/background/citySet_with_states.txt").write_text(text)
    with pytest.raises(ReleaseError, match=r"citySet_with_states\.txt is damaged .*; download"):
        planner.load(tmp_path)


@pytest.mark.parametrize(
    ("table", "keep"),
    [
        ("background/citySet_with_states.txt", 1),
        ("restaurants/clean_restaurant_2022.csv", 2),
        ("flights/clean_Flights_2022.csv", 1),
    ],
)
def test_lost_rows_are_told_since_the_gold_plans_fail(planner, tmp_path, caplog, table, keep):
    path = write_release(tmp_path) / "database" / table
    planner.load(tmp_path)
    assert not caplog.text
    read_database.cache_clear()
    path.write_text("".join(path.read_text().splitlines(keepends=True)[:keep]))
    planner.load(tmp_path)
    read_database.cache_clear()
    (told,) = caplog.messages
    assert f"{tmp_path}/database: 1 of 1 gold plans do not pass (train_0: " in told
    assert "; download the database" in told


def test_damaged_references_are_told_with_their_own_file_in_one_line(planner, tmp_path):
    write_release(tmp_path)
    (tmp_path / "train.csv").unlink()
    (tmp_path / "train_queries.jsonl").write_text(json.dumps({**QUERY, "annotated_plan": [QUERY, GOLD]}) + "\n")
    (tmp_path / "train_ref_info.jsonl").write_text('{"a": 1}\n')
    with pytest.raises(ReleaseError, match="train_ref_info.jsonl, line 1: reference_information is damaged"):
        planner.load(tmp_path)
    (tmp_path / "database/attractions/attractions.csv").write_text("Name,City\na,b\na,b,c\n")
    read_database.cache_clear()
    with pytest.raises(ReleaseError, match=r"attractions\.csv is damaged .*; download") as error:
        planner.load(tmp_path)
    assert "\n" not in str(error.value)


def test_no_folder(planner):
    with pytest.raises(ReleaseError, match="needs its folder"):
        planner.load(None)


DATA = os.environ.get("GENENV_BENCHMARK_DATA")
needs_data = pytest.mark.skipif(not DATA, reason="GENENV_BENCHMARK_DATA names no folder with the official data")
RATES = {
    "direct": (0.75556, 0.11111, 0.40952, 0.24444),
    "cot": (0.78056, 0.15556, 0.50476, 0.24444),
}


@pytest.fixture(scope="module")
def official():
    planner = get_benchmark("travelplanner")
    return planner, {record.record_id: record for record in planner.load(Path(DATA) / "benchmarks/travelplanner")}


@needs_data
def test_every_official_verdict_is_reproduced(official):
    planner, records = official
    crashes = 0
    for line in (Path(DATA) / "verdicts/travelplanner_dev.jsonl").read_text().splitlines():
        line = json.loads(line)
        verdict, expected = planner.score(records[line["record_id"]], {"plan": line["plan"]}), line["official"]
        details = {key: expected[key] for key in ("delivered", "commonsense", "hard")}
        assert (verdict.score, verdict.details) == (float(expected["final"]), details), line["id"]
        assert verdict.reason.startswith("official_code_raises") is bool(expected["exception"]), line["id"]
        crashes += bool(expected["exception"])
    assert crashes == 52


@needs_data
@pytest.mark.parametrize("kind", RATES)
def test_published_submissions_are_reproduced_to_three_decimals(official, kind):
    planner, records = official
    path = Path(DATA) / f"benchmarks/travelplanner/train_gpt-4-1106-preview_{kind}_sole-planning_submission.jsonl"
    plans = [json.loads(line)["plan"] for line in path.read_text().splitlines()]
    train = [records[f"train_{number}"] for number in range(45)]
    figures = planner.aggregate([(r, planner.score(r, {"plan": p})) for r, p in zip(train, plans, strict=True)])
    names = ("commonsense_micro", "commonsense_macro", "hard_micro", "hard_macro")
    assert tuple(figures[name] for name in names) == pytest.approx(RATES[kind], abs=5e-6)


@needs_data
def test_official_counts_gold_plans_and_prompts(official):
    planner, records = official
    assert planner.counts(list(records.values())) == {"train": 45, "validation": 180}
    steps = list(planner.steps(records.values()))
    assert len(steps) == 45  # The examples for the validation queries come without labels.
    assert all(planner.score(step.record, {"plan": records[step.step_id].data["gold_plan"]}).score for step in steps)
    from genenv_verl.benchmarks.harness import Harness

    harness = Harness()
    assert all(harness.fits(planner.messages(step, harness)) for step in steps)


@needs_data
def test_the_official_database_is_complete(official):
    _, records = official
    database = read_database(records["train_0"].data["database"])
    assert len(database.states) == 312
    assert database.road_cost("Detroit", "Norfolk", "self-driving") == 57
    assert database.road_cost("Detroit", "Norfolk", "taxi") == 1144
