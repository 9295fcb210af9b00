"""Ledger of sentences: what judges each sentence of the specification, or why nothing does.

The sentences are derived from the pages of `docs/spec`. A file of `sentences` has, for each section and clause of a
chapter, a digest of its text and an entry for each sentence. The entry is one of:

* a list of rows: a server that breaks this sentence alone fails one of them, if it claims the specification;
* `"explains"`: the sentence says nothing that a service does;
* a table with `gap`, what no row would notice; with `reason`, why no request and no chain shows it; or with both.
  `rows` are those that judge a part of it, and `tests` hold the part that the reason is about.

`tests` of a section or clause are tests of the reference that hold more of it than rows can show.
"""

from __future__ import annotations

import hashlib
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import cache
from importlib.resources import files
from types import MappingProxyType
from typing import Any, Final

from conformance.ledger import load
from conformance.ledger.clause import FOLDER, Sentence
from conformance.ledger.derived_files import Derived
from conformance.ledger.specification_parser import read_sentences

SENTENCES: Final = Derived(
    "conformance/ledger/specification_sentences.json",
    (f"{FOLDER}/*.md", "conformance/ledger/clause.py", "conformance/ledger/specification_parser.py"),
    lambda root: [asdict(sentence) for sentence in read_sentences(root / FOLDER)],
)
_ENTRIES: Final = "ledger/sentences"
_EXPLAINS: Final = "explains"
_MEMBERS: Final = frozenset({"rows", "gap", "reason", "tests"})
# Members of a section or clause that are no sentences. Letters of sentences have at most two characters.
_TEXT, _TESTS = "text", "tests"
# Chapter 9 lists settings of the reference, so it says nothing about other servers.
CHAPTERS: Final = (*"12345678", "10")


@dataclass(frozen=True, slots=True)
class Entry:
    """What judges one sentence.

    Attributes:
        rows: Ids of the rows that a server fails which breaks the sentence alone.
        gap: What of it no row would notice; None if nothing.
        reason: Why no request and no chain shows it, or the rest of it; None if rows and gap are about all of it.
        tests: Files and folders of tests that hold what the reason is about.
        explains: Whether it says nothing that a service does.
    """

    rows: tuple[str, ...] = ()
    gap: str | None = None
    reason: str | None = None
    tests: tuple[str, ...] = ()
    explains: bool = False


class EntryFaults(ValueError):
    """Entries that do not fit the specification or the ledger of rows; its text has a line for each fault."""


@cache
def sentences() -> Mapping[str, Sentence]:
    """Return every sentence of the chapters by id, in reading order."""
    every = (Sentence(**one) for one in SENTENCES.load())
    return MappingProxyType({one.id: one for one in every if chapter_of(one) in CHAPTERS})


def chapter_of(sentence: Sentence) -> str:
    """Return the number of the chapter that contains a sentence."""
    return sentence.page.partition("-")[0]


@cache
def _collect_ids() -> Mapping[str, tuple[str, ...]]:
    ids: dict[str, list[str]] = {}
    for sentence in sentences().values():
        ids.setdefault(sentence.place, []).append(sentence.id)
    return {place: tuple(names) for place, names in ids.items()}


def sentences_of(place: str) -> tuple[Sentence, ...]:
    """Return the sentences of a section or clause by its id; empty if it has none or does not exist."""
    return tuple(sentences()[name] for name in _collect_ids().get(place, ()))


def digest(place: str) -> str:
    """Return the digest of the text of a section or clause: 8 hex digits, another one if any sentence changes."""
    words = "\n".join(sentence.words for sentence in sentences_of(place))
    return hashlib.sha256(words.encode()).hexdigest()[:8]


@dataclass(frozen=True, slots=True)
class Mapped:
    """The files of all chapters.

    Attributes:
        entries: The entry of each sentence by id.
        tests: Tests of the reference by section or clause.
        faults: A line for each entry that does not fit the specification or the ledger of rows.
    """

    entries: Mapping[str, Entry]
    tests: Mapping[str, tuple[str, ...]]
    faults: tuple[str, ...]


@cache
def load_mapped() -> Mapped:
    """Return the content of the files of the chapters.

    Raises:
        EntryFaults: A sentence of such a chapter has no entry, an entry has no sentence, or the text has changed.
    """
    texts = {file.name: file.read_text("utf-8") for file in files("conformance").joinpath(_ENTRIES).iterdir()}
    content = read_entries({name: text for name, text in texts.items() if name.endswith(".toml")})
    if content.faults:
        raise EntryFaults("\n".join(content.faults))
    return content


def entries() -> Mapping[str, Entry]:
    """Return the entry of each sentence by id, of the chapters that have a file.

    Raises:
        EntryFaults: As `load_mapped`.
    """
    return load_mapped().entries


def read_entries(texts: Mapping[str, str]) -> Mapped:
    """Return the entries in the files of chapters, text by file name, with their faults."""
    found: dict[str, Entry] = {}
    tests: dict[str, tuple[str, ...]] = {}
    faults: list[str] = []
    for file, text in sorted(texts.items()):
        for place, members in tomllib.loads(text).items():
            if not sentences_of(place):
                faults.append(f"{file}: {place} is no section or clause with sentences")
                continue
            # A changed sentence may need other rows. The digest forces its author to read the entries again.
            if members.get(_TEXT) != (now := digest(place)):
                faults.append(f'{file}: the text of {place} has changed: read it again, then write text = "{now}"')
            tests[place] = tuple(members.get(_TESTS, ()))
            for key in members.keys() - {_TEXT, _TESTS}:
                names, value = _expand(place, key), members[key]
                if not names:
                    faults.append(f"{file}: {place} has no sentence {key}")
                faults += [f"{file}: {name} has two entries" for name in names if name in found]
                faults += [f"{file}: {place} {key}: {fault}" for fault in _list_faults(value)]
                # Entries with faults are kept, too. Otherwise each fault would also be reported as a sentence without
                # an entry.
                found |= dict.fromkeys(names, _make_entry(value))
        missing = [
            one.id for one in sentences().values() if chapter_of(one) == file.partition("-")[0] and one.id not in found
        ]
        faults += [f"{file}: {name} has no entry" for name in missing]
    return Mapped(MappingProxyType(found), MappingProxyType(tests), tuple(sorted(faults)))


def _expand(place: str, key: str) -> tuple[str, ...]:
    """Return the ids that a key such as `c` or `c-f` names in a place; empty if it names none."""
    first, _, last = key.partition("-")
    ids = _collect_ids()[place]
    # A range is looked up by place and not by letter, because the letters go on with two characters after `z`.
    ends = (f"{place}{first}", f"{place}{last or first}")
    if not {*ends} <= {*ids}:
        return ()
    return ids[ids.index(ends[0]) : ids.index(ends[1]) + 1]


def _list_faults(value: Any) -> Iterator[str]:
    if value == _EXPLAINS:
        return
    rows = value if isinstance(value, list) else value.get("rows", []) if isinstance(value, Mapping) else None
    if rows is None:
        yield f'{value!r} is neither rows nor "{_EXPLAINS}" nor a table'
        return
    yield from (f"{row} is no row" for row in rows if row not in load())
    if isinstance(value, Mapping):
        yield from (f"{name} is unknown" for name in value if name not in _MEMBERS)
        if not value.get("gap") and not value.get("reason"):
            yield "a table has a gap or a reason"


def _make_entry(value: Any) -> Entry:
    if isinstance(value, list):
        return Entry(rows=tuple(value))
    if not isinstance(value, Mapping):
        return Entry(explains=True)
    rows, tests = (tuple(value.get(name, ())) for name in ("rows", "tests"))
    return Entry(rows, value.get("gap"), value.get("reason"), tests)


def tests_of(place: str) -> tuple[str, ...]:
    """Return the tests of the reference that hold a section or clause: files and folders."""
    return load_mapped().tests.get(place, ())


@cache
def _collect_judged() -> Mapping[str, tuple[str, ...]]:
    judged: dict[str, list[str]] = {}
    # In reading order, which the entries of a file need not have.
    for name in sentences():
        for row in entries()[name].rows if name in entries() else ():
            judged.setdefault(row, []).append(name)
    return {row: tuple(names) for row, names in judged.items()}


def judged_by(row: str) -> tuple[str, ...]:
    """Return the ids of the sentences that a row judges, in reading order."""
    return _collect_judged().get(row, ())


def unmapped_chapters() -> Sequence[str]:
    """Return the numbers of the chapters that have no file yet."""
    mapped = {chapter_of(sentences()[name]) for name in entries()}
    return [number for number in CHAPTERS if number not in mapped]
