"""The specification by clause: citations are found in texts, and every clause that anything cites exists."""

from __future__ import annotations

from pathlib import Path

import pytest

from conformance.ledger import load
from conformance.ledger.clause import FOLDER
from conformance.ledger.specification import citations, cited_clauses, clauses, places, quotes, rests_on
from conformance.ledger.specification_parser import sentences

ROOT = Path(__file__).parents[3]
FOLDERS = (
    "conformance",
    "reference",
    "sim",
    "localnet",
    "mutants",
    "openapi",
    "programs",
    "examples",
    "docs",
    "tests",
    "tools",
)
KINDS = {".py", ".json", ".toml", ".md", ".yaml", ".html", ".j2", ".js"}
# Cites what does not exist, to show that this is found.
THESE_FILES = {Path(__file__), ROOT / "tests/conformance/ledger/test_specification_parser.py"}


def texts() -> dict[str, str]:
    """Return every text of the project that may cite, by its path."""
    paths_found = (path for folder in FOLDERS for path in (ROOT / folder).rglob("*") if path.suffix in KINDS)
    kept_paths = (path for path in paths_found if path not in THESE_FILES and "__pycache__" not in path.parts)
    return {str(path.relative_to(ROOT)): path.read_text("utf-8") for path in kept_paths}


def test_every_citation_names_a_clause_that_exists() -> None:
    """No code, row, vector, document or OpenAPI text cites a clause or a section that the pages do not have."""
    wrong = {f"{path}: {name}" for path, text in texts().items() for name in citations(text) if name not in clauses()}
    assert not wrong


def test_every_row_rests_on_clauses_that_exist() -> None:
    """Each row of the ledger has its places in the specification."""
    assert not [row.id for row in load() if not places(row.id)]
    named_places = {name for row in load() for name in places(row.id)}
    assert not [name for name in named_places if name not in clauses()]


def test_every_quoted_sentence_stands_where_its_row_rests() -> None:
    """Letter by letter, in a section or clause of the row; after a rewording the quotation must be updated."""
    sentences_by_place = sentences({page.name: page.read_text("utf-8") for page in (ROOT / FOLDER).glob("*.md")})
    assert not [(row, place) for row, place in quotes() if place not in places(row)]
    assert not [(row, place, told) for (row, place), told in quotes().items() if told not in sentences_by_place[place]]
    assert not [key for key, told in quotes().items() if told == clauses()[key[1]].sentence]


def test_a_row_quotes_the_sentence_that_states_it() -> None:
    """The section of the rail's documents begins with another one."""
    (documents,) = rests_on("RAIL-DISC-08")
    assert documents.sentence is not None
    assert documents.sentence.startswith("`/openapi.json` MUST be a valid OpenAPI document")
    assert clauses()["5.10"].sentence != documents.sentence


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("ids in one spelling (P-NW-04, profile 3.10).", ("P-NW-04", "3.10")),
        ("by the steps of specification 2.4 step 8b", ("2.4",)),
        ("Settings of the agent (profile section 9)", ("9",)),
        ("gets it back (5.8)", ("5.8",)),
        ("takes the first key (2.4 step 3)", ("2.4",)),
        ("keys and documents (profile 2, 5.3, 5.10)", ("2", "5.3", "5.10")),
        ("envelopes of specification 8.2 to 8.4, made twice (3.9, P-GW-01)", ("8.2", "8.4", "3.9", "P-GW-01")),
        ("amounts in (2.5, 1.250001), of (8.41, 1.005) or (3.5, 4.0)", ()),
        ("narrowed (see conflict C-03), but RFC-01, C-1", ("C-03",)),
        ("CP-AUTH-06, sleep(1.5), version 2.4, P-NW-040, profile 1.0", ()),
    ],
)
def test_citations_are_found(text: str, names: tuple[str, ...]) -> None:
    """Clauses, numbered sections after the word, and plain numbers in brackets; nothing else."""
    assert citations(text) == names


def test_a_clause_says_what_and_where() -> None:
    """What a text cites has its sentence and its place; what does not exist is left out."""
    (clause,) = cited_clauses("P-KY-02, P-KY-99")
    assert clause.where == "docs/spec/2-receipts.md#p-ky-02"
    assert clause.says.startswith("The `kid` of an Ed25519 key is the first 32 hexadecimal digits")
    assert clause.basis == "deployed"
    (section,) = cited_clauses("profile 2.4")
    assert section.says.startswith("Receipt verification: A receipt is verified in nine steps")
    assert section.where == "docs/spec/2-receipts.md#24-receipt-verification"
