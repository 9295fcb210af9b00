"""The functions that decide a row follow from the edits of its mutants, also while the reference is being changed."""

from __future__ import annotations

from pathlib import Path

import pytest

from conformance.ledger.reference_functions import list_deciding_functions

_RULES = """\
import hmac

LIMIT = 3


class Weld:
    def is_bound(self, note: str) -> bool:
        return note == self.token


def carries(note: str) -> str:
    return note.strip()
"""


def project(tmp_path: Path, *edits: tuple[str, str], source: str = _RULES) -> Path:
    """Return the folder of a project with a mutant for each row and text; an empty text is a mutant in Python."""
    (tmp_path / "reference").mkdir()
    (tmp_path / "reference/rules.py").write_text(source, "utf-8")
    (tmp_path / "mutants").mkdir()
    entries = []
    for number, (row, text) in enumerate(edits):
        edit = f"[[mutant.edits]]\nfile = 'reference/rules.py'\nfind = '{text}'\nput = 'x'\n" if text else ""
        entries.append(f"[[mutant]]\nid = 'm{number}'\ncaught_by = '{row}'\n{edit}")
    (tmp_path / "mutants/rail.toml").write_text("\n".join(entries), "utf-8")
    return tmp_path


@pytest.mark.parametrize(
    ("text", "name"),
    [("note == self.token", "Weld.is_bound"), ("LIMIT = 3", "LIMIT"), ("note.strip()", "carries")],
)
def test_the_place_of_an_edit_decides_its_row(tmp_path: Path, text: str, name: str) -> None:
    """A method, a constant and a function."""
    assert list_deciding_functions(project(tmp_path, ("A-1", text))) == [
        {"row": "A-1", "rules": [f"reference/rules.py:{name}"]}
    ]


def test_an_import_decides_nothing(tmp_path: Path) -> None:
    """An edit adds to it what another edit uses. A mutant in Python has no edit."""
    assert list_deciding_functions(project(tmp_path, ("A-1", "import hmac"), ("A-2", ""))) == []


def test_most_mutants_of_a_row_must_agree(tmp_path: Path) -> None:
    """Two of three do; a row whose two mutants edit different functions has none."""
    bound_edit, carried_edit = "note == self.token", "note.strip()"
    edits = (
        ("A-1", carried_edit),
        ("A-1", bound_edit),
        ("A-1", bound_edit),
        ("A-2", bound_edit),
        ("A-2", carried_edit),
    )
    assert list_deciding_functions(project(tmp_path, *edits)) == [
        {"row": "A-1", "rules": ["reference/rules.py:Weld.is_bound"]}
    ]


@pytest.mark.parametrize("source", ["def broken(:\n", "", "LIMIT = 4\n"])
def test_a_reference_that_is_being_changed_is_no_fault(tmp_path: Path, source: str) -> None:
    """No Python, an empty file, and another text: the row has no function until the edit fits again."""
    assert list_deciding_functions(project(tmp_path, ("A-1", "LIMIT = 3"), source=source)) == []
