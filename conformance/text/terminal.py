"""Lines for people, in colour where a terminal shows it, and lines that stay below the others meanwhile.

Colour only on a terminal, and never under NO_COLOR; FORCE_COLOR asks for it elsewhere, too. What is printed is made
visible as `conformance.text.untrusted` does: no text moves the cursor, or is a command of a build service.
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

from conformance.text.untrusted import visible

# A text, or a text and its style: colours and other names of click's, such as "bold red" or "white on red".
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
    """What lines are printed on: a terminal, or a file or a pipe in its place. Threads may share it.

    Args:
        stream: Where to; standard output by default.
        width: Its columns; by default what the terminal says of itself, or 80.
        terminal: Whether it is a terminal; by default what the stream says of itself.
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
        """How many columns it has at this moment."""
        if self._width is not None:
            return self._width
        with contextlib.suppress(OSError, ValueError):
            return int(os.environ.get("COLUMNS", "")) or _WIDTH
        with contextlib.suppress(OSError, ValueError):
            return os.get_terminal_size(self._stream.fileno()).columns or _WIDTH
        return _WIDTH

    def print(self, *parts: Part) -> None:
        """Print a line, or several where there are line feeds in it; it is not wrapped.

        Raises:
            BrokenPipeError: Nobody reads it any more; whatever else is printed then goes nowhere.
        """
        styled_parts = ((part, "") if isinstance(part, str) else part for part in parts)
        texts = (self._in_style(visible(text), style) if style else visible(text) for text, style in styled_parts)
        self.print_as_it_is("".join(texts))

    def print_as_it_is(self, text: str) -> None:
        """Print a line that is safe to show, such as one in colour already.

        Raises:
            BrokenPipeError: As of `print`.
        """
        with self._lock:
            self._write("".join((self._clear_sequence(), text, "\n", "\n".join(self._below))))

    def draw(self, lines: Sequence[str]) -> None:
        """Show lines below all that is printed, in place of those that were shown there; without any, nothing.

        Each has to fit into the width. For a terminal that `redraws`, only.

        Raises:
            BrokenPipeError: As of `print`.
        """
        with self._lock:
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
