"""Nothing that a command started outlives it, however the command ends: a process beside it sees to that.

What a command starts carries its mark in the environment, which every child hands on, into sessions of its own too. The
process beside it runs this file as a script, and needs the standard library alone. It reads the names of temporary
folders, a line each, and when there is no more to read the command is gone, or asks for the end: then it kills whatever
still carries the mark and removes the folders that are left. Where no /proc tells environments it removes folders only.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import sys
import time
from collections.abc import Iterator
from typing import Final

MARK: Final = "WELDPROOF_RUN"
_KILL_SECONDS = 20.0
_POLL_SECONDS = 0.01
_PROCESSES = "/proc"


def find_marked(mark: str) -> Iterator[int]:
    """Yield the processes that carry a mark; none where the system does not tell."""
    variable = f"{MARK}={mark}".encode()
    with contextlib.suppress(OSError):
        for name in os.listdir(_PROCESSES):  # noqa: PTH208 - light
            if name.isdecimal() and int(name) != os.getpid() and variable in _environment(name):
                yield int(name)


def kill_marked(mark: str) -> bool:
    """Kill every process that carries a mark, and return whether there was one."""
    processes = list(find_marked(mark))
    for process in processes:
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.kill(process, signal.SIGKILL)
    return bool(processes)


def clear_up(mark: str, folders: list[str]) -> None:
    """Kill until nobody carries a mark any more, and remove what is left of folders."""
    ends = time.monotonic() + _KILL_SECONDS
    while kill_marked(mark) and time.monotonic() < ends:
        time.sleep(_POLL_SECONDS)
    for folder in folders:
        shutil.rmtree(folder, ignore_errors=True)


def _environment(process: str) -> list[bytes]:
    # Empty for one that has ended and waits for its parent to look.
    with contextlib.suppress(OSError), open(f"{_PROCESSES}/{process}/environ", "rb") as file:  # noqa: PTH123 - light
        return file.read().split(b"\0")
    return []


def _main() -> None:
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)
    folders = [line.rstrip("\n") for line in sys.stdin]
    clear_up(sys.argv[1], folders)


if __name__ == "__main__":
    _main()
