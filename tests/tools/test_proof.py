"""The page of proof is what the data make."""

from __future__ import annotations

from conformance.ledger import load
from conformance.selftest.kill_lists import load_kill_lists
from tools.proof import PAGE, made


def test_the_committed_page_is_that_which_is_made() -> None:
    """`python -m tools.proof` writes it."""
    assert PAGE.read_text("utf-8") == made()


def test_it_names_every_requirement_and_counts_every_mutant() -> None:
    """A row each, and nothing is left out of the totals."""
    text = made()
    assert [row.id for row in load() if f"\n| [{row.id}](" not in text] == []
    assert f"{len(load_kill_lists())} named mutants" in text
