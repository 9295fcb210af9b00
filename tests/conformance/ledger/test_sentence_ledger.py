"""Each sentence of the specification has an entry that fits it, the rows, the mutants and the tests."""

from __future__ import annotations

from pathlib import Path

import pytest

from conformance.ledger import load
from conformance.ledger.sentence_ledger import (
    CHAPTERS,
    chapter_of,
    digest,
    entries,
    judged_by,
    load_mapped,
    read_entries,
    sentences,
    sentences_of,
    unmapped_chapters,
)
from conformance.ledger.specification import citations
from conformance.selftest.kill_lists import load_kill_lists

ROOT = Path(__file__).parents[3]
CLAUSE = "P-CV-05"
WHOLE = f"""\
["{CLAUSE}"]
text = "{digest(CLAUSE)}"
a = {{ gap = "integers of answers" }}
b = ["RAIL-402-09"]
c = "explains"
"""


def faults(text: str) -> str:
    """Return the faults of a file with one clause of the first chapter, without those of its other sentences."""
    content = read_entries({"1-conventions.toml": text})
    return "\n".join(fault for fault in content.faults if CLAUSE in fault or "P-unknown" in fault)


def test_every_sentence_of_a_mapped_chapter_has_an_entry() -> None:
    """Or `entries` raises, and names it. A chapter without a file is named as not mapped."""
    of_mapped = {one.id for one in sentences().values() if chapter_of(one) not in unmapped_chapters()}
    assert set(entries()) == of_mapped
    assert {chapter_of(sentences()[name]) for name in entries()} | set(unmapped_chapters()) == set(CHAPTERS)


def test_entries_that_fit_have_no_fault() -> None:
    """One letter, several letters as a range, and each kind of value."""
    assert faults(WHOLE) == ""
    content = read_entries({"1-conventions.toml": WHOLE})
    assert content.entries[f"{CLAUSE}b"].rows == ("RAIL-402-09",)
    assert content.entries[f"{CLAUSE}c"].explains


@pytest.mark.parametrize(
    ("old", "new", "fault"),
    [
        ('c = "explains"\n', "", f"{CLAUSE}c has no entry"),
        ('c = "explains"', 'c = "explains"\nz = "explains"', f"{CLAUSE} has no sentence z"),
        ('c = "explains"', '"b-c" = "explains"', f"{CLAUSE}b has two entries"),
        (digest(CLAUSE), "00000000", f"the text of {CLAUSE} has changed"),
        (f'["{CLAUSE}"]', '["P-unknown"]', "P-unknown is no section or clause"),
        ("RAIL-402-09", "RAIL-402-99", "RAIL-402-99 is no row"),
        ('"explains"', '"explained"', "neither rows"),
        ("gap =", "hole =", "hole is unknown"),
        ('{ gap = "integers of answers" }', '{ rows = ["X-JSON-01"] }', "a table has a gap or a reason"),
    ],
)
def test_an_entry_that_does_not_fit_is_named(old: str, new: str, fault: str) -> None:
    """With the file, the clause and the letter."""
    assert old in WHOLE
    assert fault in faults(WHOLE.replace(old, new, 1))


def test_the_tests_that_are_named_exist() -> None:
    """A reason may rest on tests of the reference, and so may a clause."""
    named_tests = {test for entry in entries().values() for test in entry.tests}
    named_tests |= {test for tests in load_mapped().tests.values() for test in tests}
    assert sorted(test for test in named_tests if not (ROOT / test).exists()) == []


def test_a_row_is_found_by_its_sentences() -> None:
    """In reading order."""
    assert f"{CLAUSE}b" in judged_by("RAIL-402-09")
    assert judged_by("RAIL-402-09") == tuple(name for name in sentences() if name in judged_by("RAIL-402-09"))


def test_a_mutant_of_a_clause_is_caught_by_a_row_of_its_sentences() -> None:
    """A mutant that breaks a rule of a clause shows that the row judges one of the clause's sentences."""
    missing_rows = set()
    for kill in load_kill_lists():
        for place in citations(kill.rule):
            rows = {row for one in sentences_of(place) if one.id in entries() for row in entries()[one.id].rows}
            if sentences_of(place) and kill.caught_by not in rows:
                missing_rows.add(f"{place}: no sentence names {kill.caught_by}, which catches {kill.mutant}")
    assert sorted(missing_rows) == []


def test_a_row_that_decides_by_the_claim_judges_the_sentence_that_says_so() -> None:
    """That sentence is a MUST, and the row is a lower one elsewhere."""
    claimed_rows = [row for row in load() if row.claimed_by is not None]
    assert claimed_rows
    for row in claimed_rows:
        assert row.level != "MUST", row.id
        assert row.as_claimed().decides, row.id
        assert sentences()[row.claimed_by or ""].level == "MUST", row.id
        assert row.claimed_by in judged_by(row.id), row.id
