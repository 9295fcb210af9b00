"""A table without lines, as wide as it needs to be and no wider than it may be."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from itertools import zip_longest
from typing import Final

from conformance.text.terminal import Part, columns

# What stands in a cell: texts with their styles.
Cell = Sequence[tuple[str, str]]
_GAP: Final = 2
_NARROWEST: Final = 4
_HEADER: Final = "dim"


def table(
    header: Sequence[str], rows: Sequence[Sequence[Cell]], width: int, *, numbers: bool = False
) -> Iterator[Sequence[Part]]:
    """Yield the lines of a table, each as its parts.

    Args:
        header: The columns' names.
        rows: A cell a column.
        width: Columns of the terminal; where a table needs more, the widest cells are wrapped at words.
        numbers: All columns but the first hold numbers: they stand to the right, and the first is not wrapped.
    """
    all_rows: list[Sequence[Cell]] = [[[(name, _HEADER)] for name in header], *rows]
    widths = [max(_cell_width(row[number]) for row in all_rows) for number in range(len(header))]
    # A name that is broken tells less than a column's.
    shrinkable = range(1 if numbers else 0, len(widths))
    while sum(widths) + _GAP * (len(widths) - 1) > width:
        widest = max(shrinkable, key=widths.__getitem__, default=0)
        if widths[widest] <= _NARROWEST:
            break
        widths[widest] -= 1
    for row in all_rows:
        wrapped_cells = [_wrap(cell, room) for cell, room in zip(row, widths, strict=True)]
        for cells in zip_longest(*wrapped_cells, fillvalue=()):
            yield _line(cells, widths, numbers=numbers)


def number_cells(styles: Iterable[str], counts: Iterable[int]) -> list[Cell]:
    """Return the cells of a table that hold numbers, each in its style; where there are none, a dot."""
    return [[(str(count), style) if count else ("·", "dim")] for style, count in zip(styles, counts, strict=True)]


def _cell_width(line: Cell) -> int:
    return sum(columns(text) for text, _ in line)


def _line(cells: Sequence[Cell], widths: Sequence[int], *, numbers: bool) -> Sequence[Part]:
    line: list[Part] = []
    space = 0
    for number, (cell, room) in enumerate(zip(cells, widths, strict=True)):
        free_columns = room - _cell_width(cell)
        before, after = (free_columns, 0) if numbers and number else (0, free_columns)
        if cell:
            line += [" " * (space + before), *cell]
            space = 0
        space += after + _GAP + (0 if cell else before)
    return line


def _wrap(cell: Cell, room: int) -> list[list[tuple[str, str]]]:
    """Return the lines of a cell: broken at words, and within a word that has no room on a line of its own."""
    lines, used = [list[tuple[str, str]]()], 0
    for text, style in cell:
        for word in re.findall(r"\s*\S+|\s+", text):
            if used and used + columns(word) > room:
                lines, used = [*lines, []], 0
                word = word.lstrip()  # noqa: PLW2901 - a line does not begin with the space before its first word
            for piece in _pieces(word, room):
                if used + columns(piece) > room:
                    lines, used = [*lines, []], 0
                lines[-1].append((piece, style))
                used += columns(piece)
    return lines


def _pieces(word: str, room: int) -> Iterator[str]:
    while columns(word) > room:
        most = room
        while columns(word[:most]) > room and most > 1:
            most -= 1
        yield word[:most]
        word = word[most:]
    yield word
