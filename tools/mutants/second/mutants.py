"""The mutants of a server of `examples/second`, and the recorded verdicts of the requirements about each."""

from __future__ import annotations

import json
import shutil
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final, NamedTuple

from tools.mutants.mutant_definitions import EditedMutant, load_mutants

# What the interface says: forbidden by a MUST, by a SHOULD, left open, or no different behaviour.
JUDGEMENTS: Final = ("must", "should", "allowed", "equivalent")


@dataclass(frozen=True, slots=True, kw_only=True)
class SecondMutant(EditedMutant):
    """One mutant of a server.

    Attributes:
        clause: The clause that it breaks, with its rule in a few words.
        judged: One of `JUDGEMENTS`.
        asked: The requirements that are run, by prefixes of their ids.
        named: The requirement whose sentence names the mistake, or None.
        why: A remark, if no requirement fails or if it breaks no rule.
    """

    clause: str
    judged: str
    asked: tuple[str, ...]
    named: str | None = None
    why: str = ""

    def __post_init__(self) -> None:
        if self.judged not in JUDGEMENTS:
            raise ValueError(f"{self.judged!r} is not in {JUDGEMENTS}")

    def copy_into(self, folder: Path, source: Path) -> Path:
        """Copy the source of the server into a new folder, with the edits, and return the folder.

        Raises:
            EditFault: An edit does not fit.
        """
        shutil.copytree(source, folder, ignore=shutil.ignore_patterns("data"))
        for file, text in self.edited_texts(source).items():
            (folder / file).write_text(text, "utf-8")
        return folder


class Verdicts(NamedTuple):
    """The requirements that do not pass with a mutant."""

    fails: tuple[str, ...]
    warns: tuple[str, ...]
    undecided_rows: tuple[str, ...]

    @classmethod
    def of(cls, rows: Sequence[str]) -> Verdicts:
        """Return what recorded rows say by their marks."""
        fails = tuple(row for row in rows if row[-1] not in "?~")
        warns, undecided = (tuple(row[:-1] for row in rows if row[-1] == mark) for mark in "?~")
        return cls(fails, warns, undecided)

    @property
    def outcome(self) -> str:
        """The strongest verdict of any row."""
        return "fails" if self.fails else "warns" if self.warns else "undecided" if self.undecided_rows else "missed"


def load(source: Path) -> tuple[SecondMutant, ...]:
    """Return the mutants of a server's `mutants.toml`, in its order.

    Raises:
        ValueError: An entry is malformed, or two have the same id.
    """
    return load_mutants(SecondMutant, [source / "mutants.toml"])


def load_recorded(source: Path) -> dict[str, list[str]]:
    """Return the verdicts about each mutant in `found.json`: `ROW` fails, `ROW?` warns, `ROW~` is undecided."""
    path = source / "found.json"
    rows_by_mutant: dict[str, list[str]] = json.loads(path.read_text("utf-8")) if path.exists() else {}
    return rows_by_mutant


def record(source: Path, name: str, rows: Sequence[str]) -> None:
    """Write the verdicts about one mutant into `found.json`, in the order of `mutants.toml`."""
    rows_by_mutant = {**load_recorded(source), name: list(rows)}
    sorted_rows = {one.id: rows_by_mutant[one.id] for one in load(source) if one.id in rows_by_mutant}
    lines = ",\n".join(f"  {json.dumps(key)}: {json.dumps(value)}" for key, value in sorted_rows.items())
    (source / "found.json").write_text("{\n" + lines + "\n}\n", "utf-8")
