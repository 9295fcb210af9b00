"""Mutants as data: `[[mutant]]` with the members of its kind, and `[[mutant.edits]]` with `file`, `find` and `put`.

Everything outside a service process and the suite reads the format here.
"""

from __future__ import annotations

import tomllib
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from reference.variants.edits import Edit, EditFault

__all__ = ["Edit", "EditFault", "EditedMutant", "load_mutants"]

M = TypeVar("M", bound="EditedMutant")


@dataclass(frozen=True, slots=True, kw_only=True)
class EditedMutant:
    """A mutant that is a list of textual edits; each kind adds its members.

    Attributes:
        id: Its name, which only one mutant of its kind has.
        edits: What it changes, one edit after the other.
    """

    id: str
    edits: tuple[Edit, ...]

    @property
    def place(self) -> str:
        """The first file that it changes."""
        return self.edits[0].file

    def edited_texts(self, root: Path) -> dict[str, str]:
        """Return the text of each file that it changes, with its edits.

        Args:
            root: The folder that the files are relative to.

        Raises:
            EditFault: A file is missing, a text to replace does not occur exactly once, or nothing would change.
        """
        texts: dict[str, str] = {}
        for edit in self.edits:
            if not (root / edit.file).is_file():
                raise EditFault(f"{self.id}: {edit.file} is missing")
            try:
                texts[edit.file] = edit.apply(texts.get(edit.file) or (root / edit.file).read_text("utf-8"))
            except EditFault as fault:
                raise EditFault(f"{self.id}: {fault}") from fault
        return texts


def load_mutants(kind: type[M], paths: Iterable[Path]) -> tuple[M, ...]:
    """Return the mutants of some files, each file in its order.

    Args:
        kind: Class whose attributes are the members of an entry.
        paths: The files.

    Raises:
        ValueError: An entry lacks a member, has an unknown one, has no edits, or has the id of another.
    """
    mutants: dict[str, M] = {}
    for path in paths:
        for entry in tomllib.loads(path.read_text("utf-8"))["mutant"]:
            members: dict[str, Any] = {
                name: tuple(value) if isinstance(value, list) else value for name, value in entry.items()
            }
            try:
                members["edits"] = tuple(Edit(**edit) for edit in entry["edits"])
                mutant = kind(**members)
            except (KeyError, TypeError, ValueError) as fault:
                raise ValueError(f"{path}: {entry.get('id')}: {fault}") from fault
            if mutant.id in mutants or not mutant.edits:
                raise ValueError(f"{path}: {mutant.id}: the id occurs twice, or the entry has no edits")
            mutants[mutant.id] = mutant
    return tuple(mutants.values())
