"""Clean-up of a command's processes and folders: the command's side of the orphan watchdog."""

from __future__ import annotations

import contextlib
import os
import secrets
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from conformance.processes import orphan_watchdog

_END_SECONDS = 30.0


class ProcessWatch:
    """A watch that marks every process started from now on, and ends it with the command."""

    current: ProcessWatch | None = None

    def __init__(self) -> None:
        self.mark = secrets.token_hex(8)
        # Isolated and without site packages, the watchdog starts in a hundredth of a second.
        self._process = subprocess.Popen(  # noqa: S603 - our own file
            [sys.executable, "-I", "-S", orphan_watchdog.__file__, self.mark],
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            text=True,
            # In its own session, so that a Ctrl-C in the terminal does not end the watchdog before the others.
            start_new_session=True,
            env={name: value for name, value in os.environ.items() if name != orphan_watchdog.MARK},
        )
        self._before = os.environ.get(orphan_watchdog.MARK)
        os.environ[orphan_watchdog.MARK] = self.mark
        self._outer, ProcessWatch.current = ProcessWatch.current, self

    def remember(self, folder: str) -> None:
        """Remove a folder at the end of the command."""
        if self._process.stdin is not None:
            with contextlib.suppress(BrokenPipeError, ValueError):
                self._process.stdin.write(f"{folder}\n")
                self._process.stdin.flush()

    def pass_to_successor(self) -> None:
        """Let the watchdog watch the program that replaces this process; the watch is then not closed here."""
        if self._process.stdin is not None:
            os.set_inheritable(self._process.stdin.fileno(), True)

    def kill(self) -> None:
        """Kill every marked process."""
        orphan_watchdog.kill_marked(self.mark)

    def close(self) -> None:
        """End every remaining process, and wait for it."""
        if self._process.stdin is not None and not self._process.stdin.closed:
            with contextlib.suppress(BrokenPipeError):
                self._process.stdin.close()
            with contextlib.suppress(subprocess.TimeoutExpired):
                self._process.wait(_END_SECONDS)
            ProcessWatch.current = self._outer
            os.environ.pop(orphan_watchdog.MARK, None)
            if self._before is not None:
                os.environ[orphan_watchdog.MARK] = self._before


def mark_environment() -> Mapping[str, str]:
    """Return the variable that marks a process with a separate environment; empty outside of a command."""
    return {} if ProcessWatch.current is None else {orphan_watchdog.MARK: ProcessWatch.current.mark}


@contextmanager
def temporary_folder(prefix: str = "weldproof-") -> Iterator[Path]:
    """Yield a new folder and remove it with its contents, at the latest at the end of the command."""
    # A program that was killed a moment ago may still write there: the watchdog removes what cannot be removed now.
    with tempfile.TemporaryDirectory(prefix=prefix, ignore_cleanup_errors=True) as folder:
        if ProcessWatch.current is not None:
            ProcessWatch.current.remember(folder)
        yield Path(folder)
