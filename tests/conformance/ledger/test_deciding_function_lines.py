"""From a requirement to the line that decides it, in two steps, on both sides."""

from __future__ import annotations

from pathlib import Path

import pytest

from conformance.engine.catalogue import load_catalogue
from conformance.ledger import load
from conformance.ledger.deciding_function_lines import find_line, rules_of

ROOT = Path(__file__).parents[3]


def test_every_rule_leads_to_a_line_that_names_it() -> None:
    """The file is there, and the name stands in the line."""
    for row in load():
        for rule in rules_of(row.id):
            file, _, name = rule.partition(":")
            line = find_line(file, name)
            assert line is not None, rule
            assert name.rpartition(".")[2] in (ROOT / file).read_text("utf-8").splitlines()[line - 1], rule


def test_every_check_leads_to_its_function() -> None:
    """Each row that is judged has a check, whose function stands in the file that it names."""
    for check in load_catalogue():
        line = find_line(check.file, check.id)
        assert line is not None, check.id
        assert f"async def {check.id}(" in (ROOT / check.file).read_text("utf-8").splitlines()[line - 1]


def test_many_deciding_rows_have_a_rule() -> None:
    """The others have no function that most of their mutants replace."""
    deciding_rows = [row.id for row in load() if row.decides and row.documented is None]
    assert sum(bool(rules_of(row)) for row in deciding_rows) >= 150


def test_a_function_that_one_of_several_mutants_replaces_decides_no_row() -> None:
    """A mutant of RAIL-402-01 makes key validation crash, but key validation does not decide the 402."""
    assert not [rule for rule in rules_of("RAIL-402-01") if "keys.py" in rule]
    assert rules_of("RAIL-WELD-02") == ("reference/protocol/weld.py:note_is_token",)


@pytest.mark.parametrize(
    ("file", "name"),
    [
        ("conformance/gone.py", "f"),
        ("conformance/ledger/deciding_function_lines.py", "gone"),
        ("conformance/ledger/deciding_function_lines.py", "RULES.x"),
    ],
)
def test_what_is_not_there_has_no_line(file: str, name: str) -> None:
    """A file that is not installed, a name that is not defined, and one below a constant."""
    assert find_line(file, name) is None
