"""The published specification by clause: its sentences, their places, and the clauses that a text cites.

`clauses.json` is derived from the pages of `docs/spec`. `places.json` lists the sections and clauses on which the rows
of the ledger rest. `quotes.json` contains the sentence that states a row, if that is not the first of its clause.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import asdict, replace
from functools import cache
from importlib.resources import files
from types import MappingProxyType
from typing import Final

from conformance.ledger import id_prefixes
from conformance.ledger.clause import FOLDER, Clause
from conformance.ledger.derived_files import Derived
from conformance.ledger.specification_parser import read_clauses

# Derived from the pages when one of the named files has changed, and packed into the wheel, which has no pages.
CLAUSES: Final = Derived(
    "conformance/ledger/clauses.json",
    (f"{FOLDER}/*.md", "conformance/ledger/clause.py", "conformance/ledger/specification_parser.py"),
    lambda root: [asdict(clause) for clause in read_clauses(root / FOLDER)],
)
PLACES: Final = "ledger/places.json"
QUOTES: Final = "ledger/quotes.json"

_SECTION: Final = r"(?:10|[1-9])\.[1-9]\d?"
_MORE: Final = rf"(?:(?:,| and| to) {_SECTION})*(?![\d.]*\d)"
# Texts contain numbers that name no section, such as amounts and sections of an RFC. So a number is a
# citation only after the word "specification" or "profile", or in parentheses of this form.
_CITATION: Final = re.compile(
    r"(?<![\w-])(P-[A-Z]{2}-\d{2}|C-\d{2})(?!\d)"  # P-CV-08, C-03
    rf"|\b(?:profile|specification) (?:section )?((?:{_SECTION}|10|[1-9]){_MORE})"  # specification 3.4 and 3.10
    rf"|(?<=[\w,;:`'\"] )\(({_SECTION}{_MORE})(?=\)|, [A-Za-z]| steps? )",  # (3.4), (2.4 step 7), (7.1, P-CP-02)
    re.IGNORECASE,
)
_SINGLE_ID: Final = re.compile(rf"\w-.+|{_SECTION}|10|[1-9]")


@cache
def clauses() -> Mapping[str, Clause]:
    """Return every section and clause of the specification, by id."""
    return MappingProxyType({one["id"]: Clause(**one) for one in CLAUSES.load()})


def citations(text: str) -> tuple[str, ...]:
    """Return the ids of the clauses and sections that a text cites, each once, whether they exist or not."""
    groups = (next(filter(None, found.groups())).upper() for found in _CITATION.finditer(text))
    return tuple(dict.fromkeys(one for group in groups for one in _SINGLE_ID.findall(group)))


def cited_clauses(text: str) -> tuple[Clause, ...]:
    """Return the clauses and sections that a text cites."""
    return tuple(clauses()[name] for name in citations(text) if name in clauses())


@cache
def _places() -> Mapping[str, tuple[str, ...]]:
    values = json.loads(files("conformance").joinpath(PLACES).read_bytes())
    return MappingProxyType({row: tuple(named) for row, named in values.items()})


def places(row: str) -> tuple[str, ...]:
    """Return the ids of the sections and clauses on which a row of the ledger rests.

    The longest entry with which the row's id begins, in whole words, decides.
    """
    return next((_places()[prefix] for prefix in id_prefixes(row) if prefix in _places()), ())


@cache
def quotes() -> Mapping[tuple[str, str], str]:
    """Return the sentence that states a row of the ledger, by the row's id and that of the section or clause."""
    values = json.loads(files("conformance").joinpath(QUOTES).read_bytes())
    return MappingProxyType({(row, one["place"]): one["sentence"] for one in values for row in one["rows"]})


def rests_on(row: str) -> tuple[Clause, ...]:
    """Return the sections and clauses on which a row of the ledger rests, each with the sentence that states the row.

    That is the first sentence of a section or clause, unless `quotes.json` names another one.
    """
    clauses_of_row = (clauses()[name] for name in places(row) if name in clauses())
    return tuple(replace(one, sentence=quotes().get((row, one.id), one.sentence)) for one in clauses_of_row)
