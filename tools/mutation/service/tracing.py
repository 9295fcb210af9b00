"""Which lines of the reference a process runs, written to a file as they are first run.

`PID.lines` takes a line `FILE:LINE` each. At the signal `ASK_SIGNAL` the process renames it to `PID.N.told`, N from 0,
and begins a new list. A process that ends, in whatever way, leaves its last list.
"""

from __future__ import annotations

import os
import signal
import sys
import threading
from pathlib import Path
from types import FrameType
from typing import Any

# Asks for what was run since the last time.
ASK_SIGNAL = signal.SIGUSR1
_FOLDER = f"{os.sep}reference{os.sep}"
# Places that are no part of the reference's own rules.
_NOT = tuple(f"{_FOLDER}{name}{os.sep}" for name in ("bench", "variants"))


def trace(folder: str) -> None:
    """Note the lines of the reference that are run from now on, in every thread, in a file of a folder."""
    recorder = _Recording(Path(folder))
    signal.signal(ASK_SIGNAL, recorder.tell)
    threading.settrace(recorder.enter)
    sys.settrace(recorder.enter)


class _Recording:
    def __init__(self, folder: Path) -> None:
        self._path = folder / f"{os.getpid()}.lines"
        self._told = 0
        self._seen: set[tuple[str, int]] = set()
        self._file = self._open()

    def _open(self) -> int:
        return os.open(self._path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644)

    def enter(self, frame: FrameType, _: str, __: Any) -> Any:
        path = frame.f_code.co_filename
        return self.line if _FOLDER in path and not any(part in path for part in _NOT) else None

    def line(self, frame: FrameType, event: str, _: Any) -> Any:
        if event == "line":
            place = (frame.f_code.co_filename, frame.f_lineno)
            if place not in self._seen:
                self._seen.add(place)
                os.write(self._file, f"{place[0]}:{place[1]}\n".encode())
        return self.line

    def tell(self, _: int, __: FrameType | None) -> None:
        answer_file = self._path.with_name(f"{os.getpid()}.{self._told}.told")
        self._told += 1
        self._path.rename(answer_file)
        # Another thread may be about to write: its file number stays good, and goes to the new file.
        fresh = self._open()
        os.dup2(fresh, self._file)
        os.close(fresh)
        self._seen = set()
