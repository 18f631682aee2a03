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
"""TravelPlanner: a plan of several days, judged by eight commonsense and five hard constraints.

Reference information is given (the official "sole-planning" mode): the whole task is one step.
"""

from __future__ import annotations

import json
import logging
import os
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from genenv_verl.benchmarks.base import Answer, Benchmark, Record, ReleaseError, Step, Verdict, register
from genenv_verl.benchmarks.travelplanner_commonsense import COMMONSENSE
from genenv_verl.benchmarks.travelplanner_database import DOWNLOAD as DATABASE_DOWNLOAD
from genenv_verl.benchmarks.travelplanner_database import read_database
from genenv_verl.benchmarks.travelplanner_hard import HARD, HARD_NAMES
from genenv_verl.benchmarks.travelplanner_plan import CRASHES
from genenv_verl.benchmarks.travelplanner_release import DOWNLOAD, missing_labels, read_records
from genenv_verl.benchmarks.travelplanner_response import read_plan
from genenv_verl.tasks.schema import Context, Evaluation, Message, Task

logger = logging.getLogger(__name__)

SYSTEM = """You plan a trip. Everything that can be booked or visited is listed in the <obs> blocks of the user's \
message; use nothing else, and write names as they stand there.
Write the plan in <response> as a JSON list with one object for each day, and nothing beside it. The keys are "days" \
(the number of the day), "current_city", "transportation", "breakfast", "attraction", "lunch", "dinner" and \
"accommodation"; "-" means that nothing is needed.
- current_city: the city of the day, or "from A to B" on a day of travel.
- transportation: "Flight Number: F0000000, from A to B, Departure Time: 00:00, Arrival Time: 00:00", or \
"Self-driving, from A to B", or "Taxi, from A to B".
- breakfast, lunch, dinner, accommodation: "Name, City".
- attraction: "Name, City;" for each one, the semicolon included.
The trip ends where it began. Restaurants and attractions are visited once, accommodations are kept for their minimum \
of nights, a car of one's own goes with neither flights nor taxis, and the cost for all travellers stays within the \
budget. Flights and meals are paid for each person, a car (for five) and a taxi (for four) for each vehicle, an \
accommodation for each room and night."""


@register
class TravelPlanner(Benchmark):
    """One query, one step."""

    name = "travelplanner"
    download = DOWNLOAD
    official_counts = {"train": 45, "validation": 180, "test": 1_000}

    def load(self, source: Path | None) -> list[Record]:
        if source is None:
            raise ReleaseError(
                f"TravelPlanner needs its folder (--data, or --source of prepare); download {self.download}"
            )
        database = Path(os.path.realpath(source / "database"))
        read_database(str(database))  # What is damaged is told now, and not at the first plan.
        records = read_records(source, database)
        self._warn_of_failing_golds(records, database)
        return records

    def steps(self, records: Iterable[Record]) -> Iterator[Step]:
        """A step for every record that can be scored: the official test split comes without the labels for it."""
        without_labels: Counter[str] = Counter()
        for record in records:
            if missing_labels(record):
                without_labels[record.split] += 1
                continue
            data = record.data
            # The verdict needs neither the search results nor the gold plan.
            kept = {key: data[key] for key in ("query", "database", "has_gold")}
            lean = replace(record, data=kept)
            yield Step(record.record_id, lean, self._task(record))
        for split, count in without_labels.items():
            logger.warning("%d queries of the %s split come without labels and make no steps", count, split)

    def parse(self, step: Step, response: str) -> Answer:
        return {"plan": read_plan(response)}

    def score(self, record: Record, answer: Mapping[str, Any]) -> Verdict:
        """1 if every applicable constraint passes.

        Raises:
            ReleaseError: The record lacks labels (official test split), so that no plan can be scored on it.
        """
        if missing := missing_labels(record):
            raise ReleaseError(
                f"record {record.record_id} of the {record.split} split lacks {', '.join(missing)}: plans for it can "
                "only be scored by the official leaderboard"
            )
        plan = answer.get("plan")
        if not plan:
            return _verdict("no_plan")
        query, database = record.data["query"], read_database(record.data["database"])
        try:
            commonsense = {name: passes(query, plan, database) for name, passes in COMMONSENSE.items()}
            if not (commonsense["is_not_absent"] and commonsense["is_valid_information_in_sandbox"]):
                return _verdict(_first_failed(commonsense), delivered=True, commonsense=commonsense)
            hard = {name: passes(query, plan, database) for name, passes in HARD.items()}
        except CRASHES as error:
            return _verdict(f"official_code_raises:{type(error).__name__}", delivered=True)
        failed = _first_failed({**commonsense, **hard})
        return _verdict(failed, delivered=True, commonsense=commonsense, hard=hard)

    def aggregate(self, verdicts: Sequence[tuple[Record, Verdict]]) -> dict[str, float]:
        """The four official rates and their mean, which is ``score``; delivery and final pass rate beside them.

        The denominators are those of all records, delivered or not: eight commonsense constraints each, and the hard
        ones that the query asks for.
        """
        if not verdicts:
            return {}
        count = len(verdicts)
        commonsense = [verdict.details.get("commonsense") or {} for _, verdict in verdicts]
        hard = [verdict.details.get("hard") or {} for _, verdict in verdicts]
        asked = sum(_asked(record) for record, _ in verdicts)
        rates = {
            "commonsense_micro": sum(_passed(each) for each in commonsense) / (len(COMMONSENSE) * count),
            "commonsense_macro": sum(_passes(each) for each in commonsense) / count,
            "hard_micro": sum(_passed(each) for each in hard) / asked,
            "hard_macro": sum(_passes(each) for each in hard) / count,
        }
        return {
            "score": sum(rates.values()) / len(rates),
            **rates,
            "delivery_rate": sum(bool(verdict.details.get("delivered")) for _, verdict in verdicts) / count,
            "final_pass_rate": sum(verdict.score for _, verdict in verdicts) / count,
        }

    def defect(self, record: Record) -> str | None:
        """Without a gold plan a record is no training seed."""
        return None if record.data["has_gold"] else "no gold plan"

    def _warn_of_failing_golds(self, records: Iterable[Record], database: Path) -> None:
        """The gold plans pass with the whole database: where they do not, a table has lost rows."""
        golds = [record for record in records if record.data["has_gold"]]
        verdicts = {each.record_id: self.score(each, {"plan": each.data["gold_plan"]}) for each in golds}
        failing = {name: verdict.reason for name, verdict in verdicts.items() if not verdict.score}
        if failing:
            logger.warning(
                "%s: %d of %d gold plans do not pass (%s: %s), so a table has lost rows; download %s again",
                database,
                len(failing),
                len(golds),
                *next(iter(failing.items())),
                DATABASE_DOWNLOAD,
            )

    def _task(self, record: Record) -> Task:
        results = [
            Message(role="tool", content=f"{section['title']}:\n{section['text']}")
            for section in record.data["reference"]
        ]
        gold = record.data["gold_plan"]
        return Task(
            task_id=f"travelplanner/{record.record_id}",
            family="travelplanner",
            context=Context(system=SYSTEM, history=results, goal=record.data["query"]["query"]),
            evaluation=Evaluation(
                kind="reference_answer",
                reference=json.dumps(gold, ensure_ascii=False) if gold else "a plan that satisfies every constraint",
            ),
        )


def _verdict(
    failed: str | None,
    *,
    delivered: bool = False,
    commonsense: Mapping[str, bool] | None = None,
    hard: Mapping[str, bool | None] | None = None,
) -> Verdict:
    details = {"delivered": delivered, "commonsense": commonsense, "hard": hard}
    return Verdict(float(failed is None), failed or "ok", details)


def _first_failed(constraints: Mapping[str, bool | None]) -> str | None:
    return next((name for name, passes in constraints.items() if passes is False), None)


def _asked(record: Record) -> int:
    wishes = record.data["query"]["local_constraint"]
    return 1 + sum(wishes[key] is not None for key in HARD_NAMES.values())


def _passed(constraints: Mapping[str, bool | None]) -> int:
    return sum(passes is True for passes in constraints.values())


def _passes(constraints: Mapping[str, bool | None]) -> bool:
    return bool(constraints) and False not in constraints.values()
