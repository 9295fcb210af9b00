"""Terminal output: styled lines, and lines that stay at the bottom.

Styles are used on a terminal only, unless FORCE_COLOR is set. NO_COLOR removes the colours. Every text passes through
`conformance.text.target_text_escaping`: none moves the cursor or is a command of a build service.
"""

from __future__ import annotations

import contextlib
import os
import sys
import threading
import unicodedata
from collections.abc import Sequence
from functools import cache
from typing import Any, Final, TextIO

import click

from conformance.text.target_text_escaping import visible

# A text, or a text and its style in click's names, such as "bold red" or "white on red".
Part = str | tuple[str, str]
_WIDTH: Final = 80
_CLEAR_LINE, _UP, _HIDE_CURSOR, _SHOW_CURSOR = "\r\x1b[2K", "\x1b[1A", "\x1b[?25l", "\x1b[?25h"
_PLAIN: Final = frozenset({"dumb", "unknown"})


def columns(text: str) -> int:
    """Return how many columns of a terminal a text takes."""
    if text.isascii():
        return len(text)
    return sum(0 if unicodedata.combining(one) else 1 + (unicodedata.east_asian_width(one) in "WF") for one in text)


class Terminal:
    """The output of a command: a terminal, a file or a pipe. Threads may share it.

    Args:
        stream: The stream; standard output by default.
        width: Its columns; by default those that the terminal reports, or 80.
        terminal: Whether it is a terminal; by default what the stream reports.
    """

    def __init__(self, stream: TextIO | None = None, *, width: int | None = None, terminal: bool | None = None) -> None:
        self._stream = sys.stdout if stream is None else stream
        self._width = width
        self.is_terminal = self._stream.isatty() if terminal is None else terminal
        plain = os.environ.get("TERM", "").lower() in _PLAIN
        self._uses_styles = (self.is_terminal or bool(os.environ.get("FORCE_COLOR"))) and not plain
        self._uses_colours = not os.environ.get("NO_COLOR")
        self.redraws = self.is_terminal and not plain
        self._below: tuple[str, ...] = ()
        self._lock = threading.RLock()
        self._is_closed = False

    @property
    def width(self) -> int:
        """Its current number of columns."""
        if self._width is not None:
            return self._width
        with contextlib.suppress(OSError, ValueError):
            # COLUMNS comes first, as in other programs: a user sets it, and a test can.
            return int(os.environ.get("COLUMNS", "")) or _WIDTH
        with contextlib.suppress(OSError, ValueError):
            return os.get_terminal_size(self._stream.fileno()).columns or _WIDTH
        return _WIDTH

    def print(self, *parts: Part) -> None:
        """Print a line, or several if it contains line feeds; it is not wrapped.

        Raises:
            BrokenPipeError: The reader has closed the stream; later output is discarded.
        """
        styled_parts = ((part, "") if isinstance(part, str) else part for part in parts)
        texts = (self._in_style(visible(text), style) if style else visible(text) for text, style in styled_parts)
        self.print_as_it_is("".join(texts))

    def print_as_it_is(self, text: str) -> None:
        """Print a line that is already safe to show, such as a styled one.

        Raises:
            BrokenPipeError: As of `print`.
        """
        with self._lock:
            self._write("".join((self._clear_sequence(), text, "\n", "\n".join(self._below))))

    def draw(self, lines: Sequence[str]) -> None:
        """Show lines at the bottom, in place of the previous ones; an empty sequence removes them.

        Each line must fit into the width. Only for a terminal that `redraws`.

        Raises:
            BrokenPipeError: As of `print`.
        """
        with self._lock:
            # The cursor is hidden while lines are at the bottom, since it would jump with every redraw.
            cursor = "" if bool(lines) is bool(self._below) else _HIDE_CURSOR if lines else _SHOW_CURSOR
            text = cursor + self._clear_sequence() + "\n".join(lines)
            self._below = tuple(lines)
            self._write(text)

    def _clear_sequence(self) -> str:
        return _CLEAR_LINE + (_UP + _CLEAR_LINE) * (len(self._below) - 1) if self._below else ""

    def _in_style(self, text: str, style: str) -> str:
        words = _words(style)
        if not self._uses_colours:
            words = {name: value for name, value in words.items() if name not in {"fg", "bg"}}
        return click.style(text, **words) if words and self._uses_styles else text

    def _write(self, text: str) -> None:
        if self._is_closed:
            return
        try:
            try:
                self._stream.write(text)
            except UnicodeEncodeError as narrow:
                # The stream's encoding, such as ASCII, lacks a character of the text.
                self._stream.write(text.encode(narrow.encoding, "replace").decode(narrow.encoding))
            self._stream.flush()
        except BrokenPipeError:
            self._is_closed = True
            raise


@cache
def _words(style: str) -> dict[str, Any]:
    foreground, _, background = style.partition(" on ")
    words: dict[str, Any] = {"bg": background} if background else {}
    for word in foreground.split():
        words |= {word: True} if word in {"bold", "dim"} else {"fg": word}
    return words
