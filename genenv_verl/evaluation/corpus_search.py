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
"""Search in a corpus on this machine: BM25 by SQLite's full-text index, which Python brings along."""

from __future__ import annotations

import hashlib
import json
import os
import re
import sqlite3
from collections.abc import Iterator
from pathlib import Path

from genenv_verl.evaluation.search import MAX_PASSAGE_CHARACTERS, MAX_QUERY_CHARACTERS, TOP, Passage, Search
from genenv_verl.tasks.json_reader import replace_lone_surrogates

_WORD = re.compile(r"\w+")
_MAX_WORDS = 32


class CorpusError(ValueError):
    """The corpus is missing or damaged; the message names file and line."""


class CorpusSearch(Search):
    """BM25 over a corpus: a file of JSON lines with ``text`` (or ``contents``) and, if there is one, ``title``; or a
    folder of ``.txt`` files, one passage a paragraph, titled by the file.

    Args:
        corpus: File or folder.
        index_folder: Where the index is kept; it is built once for each state of the corpus.

    Raises:
        CorpusError: The corpus cannot be read.
    """

    def __init__(self, corpus: Path, index_folder: Path):
        state = _state(corpus)
        self.name = f"corpus {corpus.name} {state}"
        index = index_folder / f"search_{state}.sqlite"
        if not index.exists():
            _build(corpus, index)
        self._database = sqlite3.connect(index)

    async def find(self, query: str) -> list[Passage]:
        # quoted words only: everything else would be FTS5's query language
        words = dict.fromkeys(_WORD.findall(query[:MAX_QUERY_CHARACTERS].lower()))
        match = " OR ".join(f'"{word}"' for word in list(words)[:_MAX_WORDS])
        if not match:
            return []
        rows = self._database.execute(
            "SELECT title, text FROM passages WHERE passages MATCH ? ORDER BY bm25(passages), rowid LIMIT ?",
            (match, TOP),
        )
        return [Passage(title, text[:MAX_PASSAGE_CHARACTERS]) for title, text in rows]


def _files(corpus: Path) -> list[Path]:
    files = sorted(corpus.glob("**/*.txt")) if corpus.is_dir() else [corpus]
    if not files or not all(file.is_file() for file in files):
        raise CorpusError(f"{corpus}: a search corpus is a file of JSON lines or a folder of .txt files; there is none")
    return files


def _state(corpus: Path) -> str:
    digest = hashlib.sha256()
    for file in _files(corpus):
        status = file.stat()
        digest.update(f"{file.relative_to(corpus.parent)} {status.st_size} {status.st_mtime_ns}\n".encode())
    return digest.hexdigest()[:16]


def _build(corpus: Path, index: Path) -> None:
    index.parent.mkdir(parents=True, exist_ok=True)
    unfinished = index.with_suffix(f".{os.getpid()}.unfinished")
    database = sqlite3.connect(unfinished)
    try:
        database.execute("CREATE VIRTUAL TABLE passages USING fts5(title, text, tokenize='porter unicode61')")
        with database:
            database.executemany("INSERT INTO passages VALUES (?, ?)", _passages(corpus))
        database.close()
        unfinished.replace(index)
    finally:
        database.close()
        unfinished.unlink(missing_ok=True)


def _passages(corpus: Path) -> Iterator[tuple[str, str]]:
    for file in _files(corpus):
        try:
            with file.open(encoding="utf-8") as lines:
                yield from _json_passages(file, lines) if file == corpus else _paragraphs(file.stem, lines)
        except UnicodeDecodeError as error:
            raise CorpusError(f"{file}: the corpus is not UTF-8: {error}") from None


def _json_passages(file: Path, lines: Iterator[str]) -> Iterator[tuple[str, str]]:
    for number, line in enumerate(lines, start=1):
        if not line.strip():
            continue
        try:
            record = json.loads(line)
            text = record.get("text", record.get("contents"))
            title = record.get("title", "")
        except (ValueError, AttributeError, RecursionError):
            text = title = None
        if not isinstance(text, str) or not isinstance(title, str):
            raise CorpusError(f"{file}, line {number}: not a JSON object with a string 'text' (or 'contents')")
        yield replace_lone_surrogates(title), replace_lone_surrogates(text)


def _paragraphs(title: str, lines: Iterator[str]) -> Iterator[tuple[str, str]]:
    paragraph: list[str] = []
    for line in [*lines, ""]:
        if line.strip():
            paragraph.append(line.strip())
        elif paragraph:
            yield title, " ".join(paragraph)
            paragraph = []
