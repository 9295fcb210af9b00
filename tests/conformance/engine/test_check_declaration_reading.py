"""Checks are read from their source: constants, names, tuples and imports, and nothing that must be computed."""

from __future__ import annotations

from pathlib import Path

import pytest

from conformance.engine.check_declaration_reading import UnreadableArgument, read_declarations

_HEAD = """\
from conformance.checks.other import FIX as _FIX
from conformance.engine.exclusive import Exclusive
from conformance.engine.quick_policy import OWN_PROCESSES, sample
_A, _B = "X-A-01", "X-A-02"
_BOTH = (_A, _B)
"""
_BODY = '''
async def a_check(case):
    """What it sends.

    What it expects.
    """
'''


def read(tmp_path: Path, decorator: str) -> list[dict[str, object]]:
    """Return the checks of a project with one check."""
    folder = tmp_path / "conformance/checks/rail"
    folder.mkdir(parents=True)
    (folder.parent / "other.py").write_text('FIX: str = "Do " "this."\n', "utf-8")
    (folder / "one.py").write_text(f"{_HEAD}{decorator}{_BODY}", "utf-8")
    return read_declarations(tmp_path)


def test_names_tuples_and_imports_have_their_values(tmp_path: Path) -> None:
    """Rows of an unpacked tuple, a text of another module, and what a quick look does."""
    (description,) = read(
        tmp_path, '@check(*_BOTH, "X-A-03", surface="rail", lane="each", fix=_FIX, quick=sample("calls"))'
    )
    assert description == {
        "id": "a_check",
        "rows": ("X-A-01", "X-A-02", "X-A-03"),
        "surface": "rail",
        "lane": "each",
        "exclusive": "nothing",
        "sentence": "What it sends.\n\nWhat it expects.",
        "fix": "Do this.",
        "quick": {"way": "sample", "words": "calls"},
        "file": "conformance/checks/rail/one.py",
    }


def test_a_check_that_says_nothing_of_quick_looks_follows_its_company(tmp_path: Path) -> None:
    """As `check` itself decides."""
    (description,) = read(tmp_path, '@check(_A, surface="rail", exclusive=Exclusive.LIMITS, fix=_FIX)')
    assert description["quick"] == {"way": "left out", "words": "sends more calls than a limit lets through"}


@pytest.mark.parametrize("rows", ['*(f"X-A-{n}" for n in (1, 2))', "_UNKNOWN", "_BOTH[0]"])
def test_what_must_be_computed_is_refused(tmp_path: Path, rows: str) -> None:
    """The error names the file and the expression."""
    with pytest.raises(UnreadableArgument, match=r"rail/one\.py.*not a constant"):
        read(tmp_path, f'@check({rows}, surface="rail", fix=_FIX)')
