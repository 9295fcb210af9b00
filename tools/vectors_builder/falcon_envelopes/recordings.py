"""Recordings of random keys, signatures and proofs: they differ at each run, and vectors must not."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Final, TypeAlias

from tools.vectors_builder.family import BuildFault

Entry: TypeAlias = Mapping[str, str]
_MEMBER: Final = "entries"


class Recorded:
    """Entries by name in a JSON file; nothing is drawn but while recording.

    Attributes:
        recording: Whether a missing entry is drawn when it is requested.
    """

    def __init__(self, path: Path, note: str) -> None:
        """Read a file; one that is missing has no entries.

        Args:
            path: The file.
            note: What a reader of the file should know.
        """
        self.recording = False
        self._path, self._note = path, note
        self._entries: dict[str, Entry] = json.loads(path.read_text("ascii"))[_MEMBER] if path.exists() else {}
        self._asked: set[str] = set()

    def of(self, name: str, draw: Callable[[], Entry]) -> Entry:
        """Return an entry.

        Raises:
            BuildFault: No entry has that name.
        """
        self._asked.add(name)
        if name not in self._entries:
            if not self.recording:
                raise BuildFault(f"{self._path.name} has no {name}: run the family's `record` and commit what it wrote")
            self._entries[name] = draw()
        return self._entries[name]

    def unused_names(self) -> set[str]:
        """Return the names of entries that no caller has asked for."""
        return self._entries.keys() - self._asked

    def save(self) -> None:
        """Write what was asked for; the rest goes."""
        used_entries = {name: self._entries[name] for name in sorted(self._asked)}
        document: dict[str, Any] = {"note": self._note, _MEMBER: used_entries}
        self._path.parent.mkdir(parents=True, exist_ok=True)
        self._path.write_text(json.dumps(document, ensure_ascii=True, indent=1) + "\n", "ascii")
