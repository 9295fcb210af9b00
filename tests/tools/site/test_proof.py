"""The page of proof by requirement, and what docs/proof.md says without figures."""

from __future__ import annotations

from conformance.cli.explain.content import explain
from conformance.ledger import load
from conformance.selftest.kill_lists import load_kill_lists
from tools.site.proof import build_page

_LISTS = ("Deciding requirements that catch no named mutant", "Requirements that nothing on the wire shows")


def test_each_deciding_requirement_catches_a_named_mutant() -> None:
    """The page docs/proof.md says so; a requirement that nothing on the wire shows has a written reason."""
    unseen, _ = (next(line for line in build_page().splitlines() if line.startswith(start)) for start in _LISTS)
    assert unseen == f"{_LISTS[0]}: none."


def test_it_names_every_requirement_and_counts_every_mutant() -> None:
    """A row each, and nothing is left out of the totals."""
    text = build_page()
    assert [row.id for row in load() if f"\n| [{row.id}](" not in text] == []
    assert f"{len(load_kill_lists())} named mutants" in text


def test_what_no_check_can_see_is_not_counted_as_unseen() -> None:
    """A row with a written reason why nothing shows it stands apart from the rows that catch no mutant."""
    unseen, apart = (next(line for line in build_page().splitlines() if line.startswith(start)) for start in _LISTS)
    documented_rows = [row.id for row in load() if row.documented and not explain(row).checks]
    assert documented_rows
    assert [row for row in documented_rows if f"[{row}]" in unseen] == []
    assert [row for row in documented_rows if f"[{row}]" not in apart] == []
