"""The page of proof is what the data make."""

from __future__ import annotations

from conformance.cli.explain.content import explanation
from conformance.ledger import load
from conformance.selftest.kill_lists import load_kill_lists
from tools.proof import PAGE, made

_LISTS = ("Deciding requirements that catch no named mutant", "Requirements that nothing on the wire shows")


def test_the_committed_page_is_that_which_is_made() -> None:
    """`python -m tools.proof` writes it."""
    assert PAGE.read_text("utf-8") == made()


def test_it_names_every_requirement_and_counts_every_mutant() -> None:
    """A row each, and nothing is left out of the totals."""
    text = made()
    assert [row.id for row in load() if f"\n| [{row.id}](" not in text] == []
    assert f"{len(load_kill_lists())} named mutants" in text


def test_what_no_check_can_see_is_not_counted_as_unseen() -> None:
    """A row with a written reason why nothing shows it stands apart from the rows that catch no mutant."""
    unseen, apart = (next(line for line in made().splitlines() if line.startswith(start)) for start in _LISTS)
    documented = [row.id for row in load() if row.documented and not explanation(row).checks]
    assert documented
    assert [row for row in documented if f"[{row}]" in unseen] == []
    assert [row for row in documented if f"[{row}]" not in apart] == []
