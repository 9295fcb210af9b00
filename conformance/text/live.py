"""Progress lines at the bottom of a terminal, redrawn several times a second by a thread."""

from __future__ import annotations

import contextlib
import io
import sys
import threading
import time
from collections.abc import Callable, Sequence
from typing import Final, TextIO

from conformance.text.terminal import Terminal

_FRAMES: Final = "⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏"
_SECONDS_A_FRAME: Final = 0.08
# Columns that the moving sign takes before the first line.
SIGN: Final = 2


class Live:
    """Progress lines with a moving sign before the first; nothing if the terminal cannot redraw lines.

    Text printed on the terminal meanwhile appears above them. If drawing fails, it ends, and `fault` contains the
    reason.

    Args:
        terminal: The terminal that shows the lines.
        lines: Returns the lines for a width in columns; a thread calls it.
        times_a_second: How often the lines are drawn.
    """

    def __init__(
        self, terminal: Terminal, lines: Callable[[int], Sequence[str]], *, times_a_second: float = 4.0
    ) -> None:
        self._terminal, self._lines, self._pause = terminal, lines, 1 / times_a_second
        self._stop_event = threading.Event()
        self._thread: threading.Thread | None = None
        self._redirections = contextlib.ExitStack()
        self.fault: Exception | None = None

    def start(self) -> None:
        """Start the thread that draws the lines."""
        if not self._terminal.redraws:
            return
        # Other code prints to sys.stdout and sys.stderr. Their lines must appear above the moving ones, and not
        # in the middle of them.
        for stream, redirect in ((sys.stdout, contextlib.redirect_stdout), (sys.stderr, contextlib.redirect_stderr)):
            if stream.isatty():
                self._redirections.enter_context(redirect(_Above(self._terminal, stream)))
        # As a daemon thread, a display that blocks on a terminal does not keep the process alive.
        self._thread = threading.Thread(target=self._redraw_until_stopped, daemon=True)
        self._thread.start()

    def refresh(self) -> None:
        """Draw the current lines; do nothing if the terminal is closed."""
        first, *next_lines = self._lines(max(1, self._terminal.width - SIGN))
        sign = _FRAMES[int(time.monotonic() / _SECONDS_A_FRAME) % len(_FRAMES)]
        with contextlib.suppress(BrokenPipeError):
            self._terminal.draw([f"{sign} {first}", *next_lines])

    def stop(self) -> None:
        """Stop the thread and remove the lines.

        Raises:
            BrokenPipeError: The terminal is closed.
        """
        if self._thread is None:
            return
        self._stop_event.set()
        self._thread.join()
        self._thread = None
        # Restore the streams first: drawing may fail, and the process must not keep the redirected ones.
        self._redirections.close()
        self._terminal.draw(())

    def _redraw_until_stopped(self) -> None:
        try:
            while not self._stop_event.is_set():
                self.refresh()
                self._stop_event.wait(self._pause)
        except Exception as fault:  # noqa: BLE001 - the thread that shows a run reports it to the one that runs it
            self.fault = fault


class _Above(io.TextIOBase):
    """A replacement for a stream that prints complete lines above the progress lines."""

    def __init__(self, terminal: Terminal, stream: TextIO) -> None:
        self._terminal, self._stream, self._unfinished_line = terminal, stream, ""

    @property
    def encoding(self) -> str:  # type: ignore[override]
        return self._stream.encoding

    def writable(self) -> bool:
        return True

    def isatty(self) -> bool:
        return True

    def fileno(self) -> int:
        return self._stream.fileno()

    def write(self, text: str) -> int:
        *lines, self._unfinished_line = (self._unfinished_line + text).split("\n")
        for line in lines:
            self._terminal.print_as_it_is(line)
        return len(text)

    def flush(self) -> None:
        """Keep an unfinished line: only complete lines are printed."""

    def close(self) -> None:
        """Leave the replaced stream open."""
