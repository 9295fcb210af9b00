"""A text table without rules, wrapped to the width of a terminal."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from itertools import zip_longest
from typing import Final

from conformance.text.terminal import Part, columns

# The contents of a cell: texts with their styles.
Cell = Sequence[tuple[str, str]]
_GAP: Final = 2
_NARROWEST: Final = 4
_HEADER: Final = "dim"


def table(
    header: Sequence[str], rows: Sequence[Sequence[Cell]], width: int, *, numbers: bool = False
) -> Iterator[Sequence[Part]]:
    """Yield the lines of a table, each as styled parts.

    Args:
        header: The columns' names.
        rows: One cell for each column.
        width: Columns of the terminal; in a wider table, the widest cells are wrapped at words.
        numbers: All columns but the first hold numbers: those are aligned right, and the first is not wrapped.
    """
    all_rows: list[Sequence[Cell]] = [[[(name, _HEADER)] for name in header], *rows]
    widths = [max(_cell_width(row[number]) for row in all_rows) for number in range(len(header))]
    # The first column of a table of numbers holds row names, and a broken name is harder to read than a broken heading.
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
    """Return cells with numbers, each in its style; a zero is a dimmed dot."""
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
    """Return the lines of a cell, broken between words, and within a word that is wider than the cell."""
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
        # A character takes up to two columns, so the number of characters that fit is found by trying.
        most = room
        while columns(word[:most]) > room and most > 1:
            most -= 1
        yield word[:most]
        word = word[most:]
    yield word
