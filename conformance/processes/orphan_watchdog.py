"""Watchdog against orphans: no process that a command started outlives it, however the command ends."""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import sys
import time
from collections.abc import Iterator
from typing import Final

# Theory: every process that a command starts has the command's mark in its environment. Children inherit it, in new
# sessions as well, so it finds processes that have left their process group. This file runs as a script in a separate
# process, with the standard library alone. It reads the names of temporary folders from its standard input, one on
# each line. The end of the input means that the command closed it, or died in any way: then every marked process is
# killed, and the folders are removed. Without /proc, only the folders are removed.
MARK: Final = "WELDPROOF_RUN"
_KILL_SECONDS = 20.0
_POLL_SECONDS = 0.01
_PROCESSES = "/proc"


def find_marked(mark: str) -> Iterator[int]:
    """Yield the processes with a mark in their environment; none on systems without /proc."""
    variable = f"{MARK}={mark}".encode()
    with contextlib.suppress(OSError):
        for name in os.listdir(_PROCESSES):  # noqa: PTH208 - light
            if name.isdecimal() and int(name) != os.getpid() and variable in _environment(name):
                yield int(name)


def kill_marked(mark: str) -> bool:
    """Kill every process with a mark, and return whether there was one."""
    processes = list(find_marked(mark))
    for process in processes:
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.kill(process, signal.SIGKILL)
    return bool(processes)


def clear_up(mark: str, folders: list[str]) -> None:
    """Kill until no process has the mark, and remove the remaining folders."""
    ends = time.monotonic() + _KILL_SECONDS
    # Repeated, since a process may start another one between the search and its death.
    while kill_marked(mark) and time.monotonic() < ends:
        time.sleep(_POLL_SECONDS)
    for folder in folders:
        shutil.rmtree(folder, ignore_errors=True)


def _environment(process: str) -> list[bytes]:
    # Empty for a process that has ended and was not waited for.
    with contextlib.suppress(OSError), open(f"{_PROCESSES}/{process}/environ", "rb") as file:  # noqa: PTH123 - light
        return file.read().split(b"\0")
    return []


def _main() -> None:
    # The watchdog must survive the signals that end the command: it works after the command's end.
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)
    folders = [line.rstrip("\n") for line in sys.stdin]
    clear_up(sys.argv[1], folders)


if __name__ == "__main__":
    _main()
