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
"""Bamboogle: 125 two-hop questions, answered with a search tool in a few rounds (Press et al. 2023).

The official metric of the tool-calling papers is a judge model. Offline the score is the normalised exact match of
Search-R1, with token F1 beside it, and both carry their names.
"""

from __future__ import annotations

import re
import string
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from decimal import Decimal
from pathlib import Path
from typing import Any

from genenv_verl.benchmarks.base import Answer, Benchmark, Record, ReleaseError, Step, Verdict, register
from genenv_verl.benchmarks.harness import call_block
from genenv_verl.tasks.schema import Context, Evaluation, FunctionSpec, Message, Task, ToolCall, ToolSpec
from genenv_verl.tasks.tool_calls import parse_response

FILE = "data.json"
FOLDERS = ("", "bamboogle", "benchmarks/Bamboogle")

MAX_ANSWER_CHARS = 65_536
"""Longer answers score 0: it bounds the time, and a short phrase is asked for."""

SEARCH = ToolSpec(
    function=FunctionSpec(
        name="Search",
        description="Searches the web and returns the best results.",
        parameters={
            "type": "object",
            "properties": {"query": {"type": "string", "description": "What to search for."}},
            "required": ["query"],
        },
    )
)


@register
class Bamboogle(Benchmark):
    """One question, one step; with search, ``next_round`` makes the step of the following round.

    Args:
        max_rounds: How often the model is asked at most (ToolRL: 4). Calls are forbidden in the last round; with 1
            there is no search at all, which is the default of rows: nobody searches for them.
    """

    name = "bamboogle"
    download = "benchmarks/Bamboogle/data.json of https://github.com/qiancheng0/ToolRL (Apache-2.0)"
    official_counts = {"test": 125}
    row_options = {"max_rounds": 1}

    def __init__(self, max_rounds: int = 4):
        if isinstance(max_rounds, bool) or not isinstance(max_rounds, int) or max_rounds < 1:
            raise ValueError(f"max_rounds is {max_rounds!r}, but a question needs at least one round")
        self.max_rounds = max_rounds

    def load(self, source: Path | None) -> list[Record]:
        if source is None:
            raise ReleaseError(f"Bamboogle needs its folder (--data, or --source of prepare); download {self.download}")
        path = next((path for folder in FOLDERS if (path := source / folder / FILE).exists()), source / FILE)
        return [self._record(entry, index, path) for index, entry in enumerate(self.json_list(path))]

    def steps(self, records: Iterable[Record]) -> Iterator[Step]:
        for record in records:
            question = record.data["question"]
            task = Task(
                task_id=f"bamboogle/{record.record_id}",
                family="bamboogle",
                context=self._context([], question) if self.max_rounds > 1 else _last_context([], question),
                evaluation=Evaluation(kind="reference_answer", reference=record.data["answer"]),
            )
            yield Step(record.record_id, record, task, {"round": 1})

    def next_round(self, step: Step, response: str, results: str) -> Step:
        """The step after a search: the call and its results join the history.

        Args:
            step: The round that was answered.
            response: The model's response, in which ``search_query`` found a query.
            results: What the search returned, as text.

        Raises:
            ValueError: ``step`` is the last round, or the response holds no query.
        """
        number = step.answer_fields["round"] + 1
        query = search_query(response)
        if query is None or number > self.max_rounds:
            raise ValueError("the response calls no search" if query is None else f"round {number} is one too many")
        context = step.task.context
        history = context.history or [Message(role="user", content=step.record.data["question"])]
        search = ToolCall(name=SEARCH.name, arguments={"query": query})
        history = [
            *history,
            Message(role="assistant", content=call_block([search])),
            Message(role="tool", content=results),
        ]
        if number == self.max_rounds:
            context = _last_context(history, "Answer now, with what was found: the search is closed.")
        else:
            context = self._context(history, "Search again if something is missing, or give the answer.")
        return replace(step, task=step.task.model_copy(update={"context": context}), answer_fields={"round": number})

    def parse(self, step: Step, response: str) -> Answer:
        return {"model_output": response, "answer": extract_answer(response)}

    def score(self, record: Record, answer: Mapping[str, Any]) -> Verdict:
        """Exact match and F1 of ``answer``, or of the answer in ``model_output`` where ``answer`` is no text."""
        predicted, output = answer.get("answer"), answer.get("model_output")
        if not isinstance(predicted, str):
            if not isinstance(output, str):
                return Verdict(0.0, "no_model_output", {"f1": 0.0})
            predicted = extract_answer(output)
        if predicted is None:
            return Verdict(0.0, "search_call", {"f1": 0.0})
        if len(predicted) > MAX_ANSWER_CHARS:
            return Verdict(0.0, "answer_too_long", {"f1": 0.0})
        gold = record.data["answer"]
        solved = exact_match(predicted=predicted, gold=gold)
        reason = "ok" if solved else "wrong_answer" if predicted.strip() else "empty_answer"
        return Verdict(float(solved), reason, {"f1": f1(predicted=predicted, gold=gold)})

    def aggregate(self, verdicts: Sequence[tuple[Record, Verdict]]) -> dict[str, float]:
        """``score`` is ``exact_match``; ``f1`` beside it. Empty without verdicts."""
        if not verdicts:
            return {}
        exact = sum(verdict.score for _, verdict in verdicts) / len(verdicts)
        mean_f1 = sum(verdict.details.get("f1", 0.0) for _, verdict in verdicts) / len(verdicts)
        return {"score": exact, "exact_match": exact, "f1": mean_f1}

    def _context(self, history: list[Message], goal: str) -> Context:
        system = (
            "Answer the question with a name, a date or a short phrase, and nothing else in <response>. What you do "
            f"not know you can look up, {self.max_rounds - 1} times at most, one query in each turn."
        )
        return Context(system=system, tools=[SEARCH], history=history, goal=goal)

    def _record(self, entry: Any, index: int, path: Path) -> Record:
        match entry:
            case {"Question": str(question), "Answer": str(answer)} if question.strip() and answer.strip():
                return Record(f"bamboogle_{index}", "test", {"question": question, "answer": answer})
        raise ReleaseError(f"{path}, record {index}: no 'Question' and 'Answer'; download it again: {self.download}")


def search_query(response: str) -> str | None:
    """The query of the first call of a response, or None: only that call of a round is executed."""
    calls = parse_response(response, mode="lenient").calls
    query = calls[0].arguments.get("query") if calls and calls[0].name == SEARCH.name else None
    return query if isinstance(query, str) and query.strip() else None


def extract_answer(response: str) -> str | None:
    """The answer as ToolRL's evaluation finds it: the first ``<response>``, else what follows the thought, else all.

    None where the response holds a call: then the round is a search, whatever else it says.
    """
    if "<tool_call>" in response:
        return None
    if "<response>" in response:
        return response.partition("<response>")[2].partition("</response>")[0].strip()
    return response.rpartition("</think>")[2].strip()


def exact_match(*, predicted: str, gold: str) -> bool:
    """Whether two answers are equal after SQuAD's normalisation; two plain numbers are compared by value.

    The normalisation alone would make 10.8 of 108, and -5 of 5. A false "equal" is worse than a miss.
    """
    mine, theirs = _number(predicted), _number(gold)
    if mine is not None and theirs is not None:
        return mine == theirs
    return normalise(predicted) == normalise(gold)


def f1(*, predicted: str, gold: str) -> float:
    """F1 of the normalised words in [0, 1], with multiplicity; of two plain numbers their exact match.

    As in FlashRAG, "yes", "no" and "noanswer" share a word with nothing but themselves.
    """
    if _number(predicted) is not None and _number(gold) is not None:
        return float(exact_match(predicted=predicted, gold=gold))
    texts = normalise(predicted), normalise(gold)
    if texts[0] != texts[1] and not _WHOLE_ANSWERS.isdisjoint(texts):
        return 0.0
    mine, theirs = (Counter(text.split()) for text in texts)
    shared = (mine & theirs).total()
    return 2 * shared / (mine.total() + theirs.total()) if shared else 0.0


def normalise(text: str) -> str:
    """SQuAD's normalisation: lower case, no ASCII punctuation, no articles, single spaces."""
    return " ".join(_ARTICLES.sub(" ", text.lower().translate(_NO_PUNCTUATION)).split())


_NO_PUNCTUATION = str.maketrans("", "", string.punctuation)
_WHOLE_ANSWERS = frozenset({"yes", "no", "noanswer"})
_ARTICLES = re.compile(r"\b(a|an|the)\b")
_NUMBER = re.compile(r"[-+]?(?:[0-9]{1,3}(?:,[0-9]{3})+|[0-9]{1,40})(?:\.[0-9]{1,40})?")
_MAX_NUMBER_CHARS = 100


def _number(text: str) -> Decimal | None:
    """The value of a text that is one number, but for what surrounds it; else None."""
    if len(text) > _MAX_NUMBER_CHARS:
        return None
    text = _ARTICLES.sub(" ", text.lower()).replace("\N{MINUS SIGN}", "-").strip()
    text = text.strip("\"'()[]*").rstrip(".,;!?").strip()
    return Decimal(text.replace(",", "")) if _NUMBER.fullmatch(text) else None


def _last_context(history: list[Message], goal: str) -> Context:
    """A round without a tool: what is not offered cannot be called."""
    system = "Answer the question with a name, a date or a short phrase, and nothing else in <response>."
    return Context(system=system, history=history, goal=goal)
