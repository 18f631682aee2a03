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

import asyncio
import json
import os

import pytest

from genenv_verl.evaluation.cache import AnswerCache
from genenv_verl.evaluation.corpus_search import CorpusError, CorpusSearch
from genenv_verl.evaluation.endpoint import LazyEndpoint
from genenv_verl.evaluation.http import JsonClient
from genenv_verl.evaluation.search import MAX_PASSAGE_CHARACTERS, HttpSearch, Passage, show

FACTS = [
    {"title": "Oslo", "text": "Oslo is the capital of Norway. Its mayor is Anne."},
    {"title": "Bergen", "contents": "Bergen is a rainy city in Norway."},
    {"text": "Paris is the capital of France."},
    {"title": "Café", "text": "A café sells coffee."},
]


@pytest.fixture
def corpus(tmp_path):
    path = tmp_path / "facts.jsonl"
    path.write_text("\n".join(map(json.dumps, FACTS)) + "\n\n")
    return path


def find(search, query):
    return asyncio.run(search.find(query))


def test_the_best_passage_comes_first(corpus, tmp_path):
    search = CorpusSearch(corpus, tmp_path / "index")
    assert find(search, "Who is the mayor of the capital of Norway?")[0] == Passage("Oslo", FACTS[0]["text"])
    assert find(search, "capitals")[-1].text.startswith(("Oslo", "Paris"))
    assert [passage.title for passage in find(search, "cafe")] == ["Café"]
    assert find(search, "zebra") == []


HOSTILE = ["", "   ", '"', 'a" OR "b', "NEAR(a b)", "text: *", "; DROP TABLE passages", "\ud800", "x" * 100_000, "not"]


@pytest.mark.parametrize("query", HOSTILE, ids=range(len(HOSTILE)))
def test_a_query_is_words_and_no_query_language(corpus, tmp_path, query):
    search = CorpusSearch(corpus, tmp_path / "index")
    find(search, query)
    assert find(search, "rainy")[0].title == "Bergen"


def test_at_most_five_passages_and_none_too_long(tmp_path):
    path = tmp_path / "c.jsonl"
    path.write_text("".join(json.dumps({"text": f"word {n} " + "x" * 5000}) + "\n" for n in range(9)))
    found = find(CorpusSearch(path, tmp_path), "word")
    assert len(found) == 5 and all(len(passage.text) == MAX_PASSAGE_CHARACTERS for passage in found)


def test_a_folder_of_texts_has_a_passage_a_paragraph(tmp_path):
    folder = tmp_path / "texts"
    (folder / "deep").mkdir(parents=True)
    (folder / "oslo.txt").write_text("Oslo is\na capital.\n\nIt is green.\n")
    (folder / "deep" / "bergen.txt").write_text("\n\nBergen is rainy.")
    search = CorpusSearch(folder, tmp_path)
    assert find(search, "capital") == [Passage("oslo", "Oslo is a capital.")]
    assert find(search, "rainy") == [Passage("bergen", "Bergen is rainy.")]


def test_the_index_is_built_once_for_each_state_of_the_corpus(corpus, tmp_path):
    index = tmp_path / "index"
    first = CorpusSearch(corpus, index)
    built = list(index.iterdir())
    assert CorpusSearch(corpus, index).name == first.name and list(index.iterdir()) == built
    corpus.write_text(json.dumps({"text": "Rome is old."}))
    os.utime(corpus, (1, 1))
    second = CorpusSearch(corpus, index)
    assert second.name != first.name and find(second, "Norway") == [] and len(find(second, "Rome")) == 1


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"{", "line 1: not a JSON object"),
        (b'{"text": "a"}\n[]', "line 2"),
        (b'{"text": 3}', "line 1"),
        (b'{"text": "a", "title": null}', "line 1"),
        (b'{"other": "a"}', "'text'"),
        (b'{"text": "\xff"}', "not UTF-8"),
    ],
)
def test_a_damaged_corpus_is_named_and_leaves_no_index(tmp_path, content, message):
    path, index = tmp_path / "facts.jsonl", tmp_path / "index"
    path.write_bytes(content)
    with pytest.raises(CorpusError, match="facts.jsonl") as error:
        CorpusSearch(path, index)
    assert message in str(error.value) and list(index.iterdir()) == []


@pytest.mark.parametrize("name", ["nowhere.jsonl", "empty"])
def test_no_corpus(tmp_path, name):
    (tmp_path / "empty").mkdir()
    with pytest.raises(CorpusError, match=name):
        CorpusSearch(tmp_path / name, tmp_path)


def test_an_http_search_reads_what_it_can_and_keeps_it(serve, tmp_path):
    results = [{"title": "T", "snippet": "s" * 9999}, {"title": 3}, "junk", {"snippet": "\ud800"}] + [{}] * 9
    server = serve(lambda body, number: serve.Reply(json.dumps({"organic": results}).encode()))

    async def twice():
        with AnswerCache(tmp_path / "answers.jsonl") as cache:
            async with LazyEndpoint(lambda: JsonClient(server.root)) as endpoint:
                search = HttpSearch(server.root, endpoint, cache)
                return await search.find("q" * 9999), await search.find("q" * 9999)

    first, again = asyncio.run(twice())
    assert first == again and len(server.posts) == 1 and len(server.bodies[0]["q"]) == 512
    assert len(first) == 5 and first[0] == Passage("T", "s" * MAX_PASSAGE_CHARACTERS)
    assert first[1] == Passage("", "") and first[2].text.encode()


def test_how_passages_are_shown():
    assert show([Passage("T", "a"), Passage("", "b")]) == "[1] T: a\n[2] b"
    assert show([]) == "No results."
