"""Derived files: data computed from other files of the project within a second, and not in version control.

A checkout writes such a file next to the code that reads it, if it is missing or its sources have changed. A wheel
contains none of the sources, so its build writes the files (`setup.py`). This module and everything that computes such
data need only the standard library, because a build has nothing else.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

# The folder of the project in a checkout, and site-packages if the suite is installed.
ROOT: Final = Path(__file__).parents[2]


@dataclass(frozen=True, slots=True)
class Derived:
    """A file of derived data.

    Attributes:
        file: Its path from the project's folder.
        sources: What it is made from: files, or a folder and the suffix of its files (`docs/spec/*.md`).
        make: Returns the entries from the project's folder, as JSON values.
    """

    file: str
    sources: tuple[str, ...]
    make: Callable[[Path], Sequence[Any]]

    def load(self, root: Path = ROOT) -> Any:
        """Return the entries, computed again if a source has changed since the file was written.

        Raises:
            FileNotFoundError: This is no checkout, and the file is missing.
        """
        path = root / self.file
        if not _is_checkout(root):
            return json.loads(path.read_bytes())["entries"]
        digest = self._digest(root)
        # A file that is missing, cut off or of an older format is not an error: it is written again.
        with contextlib.suppress(OSError, ValueError, TypeError, KeyError):
            stored_value = json.loads(path.read_bytes())
            if stored_value["made_from"] == digest:
                return stored_value["entries"]
        content = _encode({"made_from": digest, "entries": self.make(root)})
        # A checkout may be read-only. Then each process computes the entries again.
        with contextlib.suppress(OSError):
            write(path, content)
        return json.loads(content)["entries"]

    def package_bytes(self, root: Path = ROOT) -> bytes:
        """Return the file for a wheel, the same bytes from the same sources."""
        return _encode({"entries": self.make(root)})

    def _digest(self, root: Path) -> str:
        """Return a digest that changes if a source is added, removed or written."""
        digest = hashlib.sha256()
        # Time and size suffice. Reading every source at each start of a command would cost more than it
        # saves.
        for path, state in sorted(_states(root, self.sources)):
            digest.update(f"{path}\0{state.st_mtime_ns}\0{state.st_size}\n".encode())
        return digest.hexdigest()


def write(path: Path, content: bytes) -> None:
    """Write a file at once: a process that reads it meanwhile sees the old content or the new one."""
    # Two processes may write at the same time. Each has its temporary file, and `replace` is atomic.
    partial = path.with_name(f"{path.name}.{os.getpid()}")
    partial.write_bytes(content)
    partial.replace(path)


def _encode(value: Any) -> bytes:
    return json.dumps(value, separators=(",", ":")).encode()


def _is_checkout(root: Path) -> bool:
    return (root / "pyproject.toml").is_file()


def _states(root: Path, sources: Iterable[str]) -> Iterator[tuple[str, os.stat_result]]:
    for source in sources:
        folder, star, suffix = source.partition("*")
        if star:
            yield from _below(root / folder, suffix)
        else:
            yield source, (root / source).stat()


def _below(folder: Path | str, suffix: str) -> Iterator[tuple[str, os.stat_result]]:
    """Yield the files of a folder and of its subfolders."""
    # Every start of a command walks these folders. A walk of pathlib takes five times as long.
    with os.scandir(folder) as entries:
        for entry in entries:
            if entry.name.endswith(suffix):
                yield entry.path, entry.stat()
            elif entry.is_dir() and not entry.name.startswith((".", "_")):
                yield from _below(entry.path, suffix)
