"""What a breach is: texts of a server's source, what stands there instead, and what the interface says of it."""

from __future__ import annotations

import json
import shutil
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

# What the interface says of a breach: forbidden by a MUST, by a SHOULD, left open by it, or no other behaviour at all.
JUDGED: Final = ("must", "should", "allowed", "equivalent")


@dataclass(frozen=True, slots=True)
class Edit:
    """A text that stands once in a file of the source, and what takes its place."""

    file: str
    find: str
    put: str


@dataclass(frozen=True, slots=True)
class Breach:
    """One fault to put in.

    Attributes:
        id: Its name.
        clause: The clause that it breaks, with its rule in a few words.
        judged: One of `JUDGED`.
        asked: The rows that are asked, by the beginning of their ids.
        edits: What is changed.
        named: The row whose sentence names the fault, None where no row's does.
        why: What is said of it where no row fails, or why it is no breach.
    """

    id: str
    clause: str
    judged: str
    asked: tuple[str, ...]
    edits: tuple[Edit, ...]
    named: str | None
    why: str

    def put_into(self, folder: Path) -> None:
        """Change a copy of the sources.

        Raises:
            ValueError: A text to change does not stand exactly once in its file.
        """
        for edit in self.edits:
            path = folder / edit.file
            text = path.read_text("utf-8")
            if text.count(edit.find) != 1:
                raise ValueError(f"{self.id}: {edit.file} has {text.count(edit.find)} times {edit.find!r}")
            path.write_text(text.replace(edit.find, edit.put), "utf-8")


def breaches(source: Path) -> list[Breach]:
    """Return the breaches of a server's `breaches.toml`, in its order.

    Raises:
        ValueError: Two have one name, or one is judged in a word that is not known.
    """
    found = [_breach(table) for table in tomllib.loads((source / "breaches.toml").read_text("utf-8"))["breach"]]
    unknown = [one.id for one in found if one.judged not in JUDGED]
    if unknown or len({one.id for one in found}) != len(found):
        raise ValueError(f"breaches.toml: a name twice, or judged in another word than {JUDGED}: {unknown}")
    return found


def _breach(table: Mapping[str, Any]) -> Breach:
    return Breach(
        table["id"],
        table["clause"],
        table["judged"],
        tuple(table["asked"]),
        tuple(Edit(**edit) for edit in table["edits"]),
        table.get("named"),
        table.get("why", ""),
    )


def broken(breach: Breach, source: Path, folder: Path) -> Path:
    """Copy a source into `folder` with a breach in it, and return where it is.

    Raises:
        ValueError: A text to change does not stand exactly once in its file.
    """
    shutil.copytree(source, folder, ignore=shutil.ignore_patterns("data"))
    breach.put_into(folder)
    return folder


def kept(source: Path) -> dict[str, list[str]]:
    """Return what rows said of each breach, as `found.json` has it: `ROW` fails, `ROW?` warns, `ROW~` is undecided."""
    path = source / "found.json"
    found: dict[str, list[str]] = json.loads(path.read_text("utf-8")) if path.exists() else {}
    return found


def keep(source: Path, name: str, rows: Sequence[str]) -> None:
    """Write down what rows said of one breach."""
    found = {**kept(source), name: list(rows)}
    listed = {one.id: found[one.id] for one in breaches(source) if one.id in found}
    lines = ",\n".join(f"  {json.dumps(key)}: {json.dumps(value)}" for key, value in listed.items())
    (source / "found.json").write_text("{\n" + lines + "\n}\n", "utf-8")
