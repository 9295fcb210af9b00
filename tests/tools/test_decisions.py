"""Decision records are of one form, name each other on both sides, and are all in the table."""

from __future__ import annotations

import re
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from tools.decisions import FOLDER, UNUSED_NUMBERS, WrongRecord, index, records

FIRST = "0001-first.md"
SECOND = "0002-second.md"


@pytest.fixture
def two(tmp_path: Path) -> Path:
    """Return a folder with two records, the second of which amends the first."""
    first = f"# 0001: First\n\n* Date: 2026-01-01\n* Status: amended by [0002]({SECOND})\n\nWhy.\n"
    second = f"# 0002: Second\n\n* Date: 2026-01-02\n* Status: accepted\n* Amends: [0001]({FIRST})\n\nWhy.\n"
    (tmp_path / FIRST).write_text(first, "ascii")
    (tmp_path / SECOND).write_text(second, "ascii")
    return tmp_path


def test_the_records_of_this_project_have_the_right_form() -> None:
    """Each has a line of the table."""
    table = index(records())
    assert [path.name for path in FOLDER.glob("0*.md") if f"({path.name})" not in table] == []


def test_the_index_names_what_was_never_used() -> None:
    """A number that no record has is in the table, too."""
    assert "0040" in UNUSED_NUMBERS
    assert re.findall(r"^\| (\d{4}) \|", index(records()), re.MULTILINE) == list(UNUSED_NUMBERS)


def test_every_link_of_a_record_leads_somewhere() -> None:
    """A link to a file, in a record or in the index, names one that is there."""
    for path in FOLDER.glob("*.md"):
        links = re.findall(r"\]\(([^)#:]+)(?:#[^)]*)?\)", path.read_text("utf-8"))
        assert [one for one in links if not (FOLDER / one).exists()] == [], path.name


def test_both_sides_of_a_relation_are_read(two: Path) -> None:
    """What amends and what is amended name each other, by the word of the line."""
    first, second = records(two)
    assert (first.later, second.earlier) == ({"0002": "Amends"}, {"0001": "Amends"})
    assert f"| [0001]({FIRST}) | First | 2026-01-01 | amended by [0002]({SECOND}) |" in index([first, second])


def _change(name: str, old: str, new: str) -> Callable[[Path], object]:
    return lambda folder: (folder / name).write_text((folder / name).read_text("ascii").replace(old, new), "ascii")


@pytest.mark.parametrize(
    ("change", "why"),
    [
        (_change(FIRST, "# 0001:", "# 0001"), "begins with"),
        (_change(FIRST, "# 0001:", "# 0003:"), "begins with"),
        (_change(FIRST, "* Date: 2026-01-01\n", ""), "Date, Status"),
        (_change(FIRST, "2026-01-01", "1 January"), "YYYY-MM-DD"),
        (_change(SECOND, "accepted", "decided"), "Status is accepted"),
        (_change(SECOND, "* Amends", "* Concerns"), "Amends or Supersedes"),
        (_change(FIRST, SECOND, "0002-other.md"), "leads nowhere"),
        (_change(SECOND, f"[0001]({FIRST})", "0001"), "named by links"),
        (_change(SECOND, f"* Amends: [0001]({FIRST})\n", ""), "both records say so"),
        (_change(SECOND, "Amends", "Supersedes"), "both records say so"),
        (lambda folder: shutil.copy(folder / FIRST, folder / "0001-again.md"), "one record has it"),
        (lambda folder: shutil.copy(folder / FIRST, folder / "first.md"), "NNNN-title"),
    ],
)
def test_a_record_of_another_form_is_refused(two: Path, change: Callable[[Path], object], why: str) -> None:
    """Each thing that can be wrong is named, with the record that has it."""
    change(two)
    with pytest.raises(WrongRecord, match=why):
        records(two)


def test_a_gap_in_the_numbers_is_refused(two: Path) -> None:
    """A missing number is listed as unused, or its record was lost."""
    second = (two / SECOND).read_text("ascii").replace("# 0002: Second", "# 0003: Third")
    (two / SECOND).unlink()
    (two / "0003-third.md").write_text(second, "ascii")
    _change(FIRST, f"[0002]({SECOND})", "[0003](0003-third.md)")(two)
    with pytest.raises(WrongRecord, match="0002: one record has it"):
        records(two)
