"""What a command has left behind."""

from __future__ import annotations

import contextlib
from pathlib import Path


def find_processes_using(folder: Path) -> list[str]:
    """Return the commands of the processes whose temporary files are in `folder`."""
    processes_found = []
    for process in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            if f"TMPDIR={folder}\0".encode() in (process / "environ").read_bytes():
                processes_found.append((process / "cmdline").read_bytes().decode().replace("\0", " "))
    return processes_found
