"""The published specification by clause: what it says, and where that stands; and which clauses a text cites.

`ledger/clauses.json` is made from the pages of `docs/spec` by `python -m tools.clauses`; a test holds that it is what
they say. `ledger/places.json` says on which sections and clauses the rows of the ledger rest, and
`ledger/quotes.json` which of their sentences states a row, where that is not the first.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cache
from importlib.resources import files
from types import MappingProxyType
from typing import Final

import orjson

FOLDER: Final = "docs/spec"
PAGES: Final = "docs/requirements"
FILE: Final = "ledger/clauses.json"
PLACES: Final = "ledger/places.json"
QUOTES: Final = "ledger/quotes.json"

_SECTION: Final = r"[1-9]\.[1-9]\d?"
_MORE: Final = rf"(?:(?:,| and| to) {_SECTION})*(?![\d.]*\d)"
_CITED: Final = re.compile(
    r"(?<![\w-])(P-[A-Z]{2}-\d{2}|C-\d{2})(?!\d)"  # P-CV-08, C-03
    rf"|\b(?:profile|specification) (?:section )?((?:{_SECTION}|[1-9]){_MORE})"  # specification 3.4 and 3.10
    rf"|(?<=[\w,;:`'\"] )\(({_SECTION}{_MORE})(?=\)|, [A-Za-z]| steps? )",  # (3.4), (2.4 step 7), (7.1, P-CP-02)
    re.IGNORECASE,
)
_ONE: Final = re.compile(rf"\w-.+|{_SECTION}|[1-9]")


@dataclass(frozen=True, slots=True)
class Clause:
    """A section or a clause of the specification.

    Attributes:
        id: `3.4` of a section, `3` of a chapter, `P-CV-08` of a clause, `C-03` of a contradiction.
        title: Of a section; None of a clause.
        section: Number of the section it stands in, its own for a section; None outside of the numbered ones.
        page: Name of its file, below docs/spec.
        anchor: Of its heading.
        sentence: Its first sentence, as plain text with code in backticks; None of a section that opens without text.
        basis: What a clause rests on: the interface, a standard, what is deployed, or this suite's default.
    """

    id: str
    title: str | None
    section: str | None
    page: str
    anchor: str
    sentence: str | None
    basis: str | None

    @property
    def says(self) -> str:
        """What is printed of it: its sentence, after the title of a section."""
        return ": ".join(filter(None, (self.title, self.sentence)))

    @property
    def where(self) -> str:
        """The place of its text, from the project's folder."""
        return f"{FOLDER}/{self.page}#{self.anchor}"

    def as_json(self) -> dict[str, str | None]:
        """Return what machines are given of it."""
        saying = {"id": self.id, "title": self.title, "sentence": self.sentence}
        return {**saying, "basis": self.basis, "where": self.where}


@cache
def clauses() -> Mapping[str, Clause]:
    """Return every section and clause of the specification, by id."""
    values = orjson.loads(files("conformance").joinpath(FILE).read_bytes())
    return MappingProxyType({one["id"]: Clause(**one) for one in values})


def citations(text: str) -> tuple[str, ...]:
    """Return the ids of the clauses and sections that a text cites, each once, whether they exist or not."""
    named = (next(filter(None, found.groups())).upper() for found in _CITED.finditer(text))
    return tuple(dict.fromkeys(one for group in named for one in _ONE.findall(group)))


def cited(text: str) -> tuple[Clause, ...]:
    """Return the clauses and sections that a text cites."""
    return tuple(clauses()[name] for name in citations(text) if name in clauses())


@cache
def _places() -> Mapping[str, tuple[str, ...]]:
    values = orjson.loads(files("conformance").joinpath(PLACES).read_bytes())
    return MappingProxyType({row: tuple(named) for row, named in values.items()})


def places(row: str) -> tuple[str, ...]:
    """Return the ids of the sections and clauses on which a row of the ledger rests.

    The longest entry that the row's id begins with, whole words only, says so.
    """
    words = row.split("-")
    beginnings = ("-".join(words[:count]) for count in range(len(words), 0, -1))
    return next((_places()[one] for one in beginnings if one in _places()), ())


def page_of(row: str) -> str:
    """Return where the page of a row of the ledger stands, from the project's folder."""
    return f"{PAGES}/{row}.md"


@cache
def quotes() -> Mapping[tuple[str, str], str]:
    """Return the sentence that states a row of the ledger, by the row's id and that of the section or clause."""
    values = orjson.loads(files("conformance").joinpath(QUOTES).read_bytes())
    return MappingProxyType({(row, one["place"]): one["sentence"] for one in values for row in one["rows"]})


def rests_on(row: str) -> tuple[Clause, ...]:
    """Return the sections and clauses on which a row of the ledger rests, each with the sentence that states the row.

    That is the first of a section or clause where no other is quoted.
    """
    found = (clauses()[name] for name in places(row) if name in clauses())
    return tuple(replace(one, sentence=quotes().get((row, one.id), one.sentence)) for one in found)
