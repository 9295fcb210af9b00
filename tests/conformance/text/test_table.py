"""Tables without lines."""

from __future__ import annotations

from collections.abc import Sequence

from conformance.text.table import Cell, number_cells, table
from conformance.text.terminal import columns

ROWS: Sequence[Sequence[Cell]] = (
    [[("a name", "")], *number_cells(["green", "red"], [12, 0])],
    [[("日本", "bold")], *number_cells(["green", "red"], [3, 456])],
)


def lines(
    rows: Sequence[Sequence[Cell]],
    width: int,
    *,
    numbers: bool = False,
    header: Sequence[str] = ("group", "pass", "fail"),
) -> list[str]:
    """Return the lines of a table, without their styles."""
    table_lines = table(header, rows, width, numbers=numbers)
    return ["".join(part if isinstance(part, str) else part[0] for part in line) for line in table_lines]


def test_numbers_stand_to_the_right() -> None:
    """Each column is as wide as its widest cell in columns of the terminal; nothing trails."""
    assert lines(ROWS, 80, numbers=True) == [
        "group   pass  fail",
        "a name    12     ·",
        "日本       3   456",
    ]


def test_words_stand_to_the_left() -> None:
    """Without numbers all do."""
    assert lines(ROWS, 80) == ["group   pass  fail", "a name  12    ·", "日本    3     456"]


def test_every_cell_keeps_its_style() -> None:
    """A header is dim, a number in its colour, and no number a dim dot."""
    first, second, _ = table(("group", "pass", "fail"), ROWS, 80)
    assert [part for part in first if not isinstance(part, str)] == [("group", "dim"), ("pass", "dim"), ("fail", "dim")]
    assert [part for part in second if not isinstance(part, str)][-2:] == [("12", "green"), ("·", "dim")]


def test_what_has_no_room_is_wrapped() -> None:
    """The widest cells are broken at words, and within a word that is longer than its column; the rest stays."""
    rows: Sequence[Sequence[Cell]] = (
        [[("one", "")], [("several words, ", "red"), ("abcdefghijklmnopq", "")], [("last", "")]],
    )
    table_lines = lines(rows, 24)
    assert table_lines == [
        "group  pass         fail",
        "one    several      last",
        "       words, ",
        "       abcdefghijk",
        "       lmnopq",
    ]
    assert all(columns(line) <= 24 for line in table_lines)


def test_beside_numbers_names_stay_whole() -> None:
    """Where there is no room, the columns' names are broken, and not what the rows are found by."""
    rows: Sequence[Sequence[Cell]] = ([[("RAIL-WELD", "")], *number_cells(["", ""], [1, 2])],)
    assert lines(rows, 33, numbers=True, header=("group", "not applicable", "documented")) == [
        "group             not  documented",
        "           applicable",
        "RAIL-WELD           1           2",
    ]


def test_nothing_is_narrower_than_can_be_read() -> None:
    """Where there is no room at all the terminal wraps the lines itself."""
    assert lines(ROWS, 1)[:2] == ["grou  pass  fail", "p"]
