"""A section or a clause of the specification, as an entry of data."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

FOLDER: Final = "docs/spec"


@dataclass(frozen=True, slots=True)
class Clause:
    """A section or a clause of the specification.

    Attributes:
        id: `3.4` of a section, `3` of a chapter, `P-CV-08` of a clause, `C-03` of a contradiction.
        title: Of a section; None of a clause.
        section: Number of the section it stands in, its own for a section; None outside of the numbered ones.
        page: Name of its file, below docs/spec.
        anchor: Of its heading.
        sentence: Its first sentence, as plain text with code in backticks; None of a section that opens without text.
        basis: What a clause rests on: the interface, a standard, what is deployed, or this suite's default.
    """

    id: str
    title: str | None
    section: str | None
    page: str
    anchor: str
    sentence: str | None
    basis: str | None

    @property
    def says(self) -> str:
        """What is printed of it: its sentence, after the title of a section."""
        return ": ".join(filter(None, (self.title, self.sentence)))

    @property
    def where(self) -> str:
        """The place of its text, from the project's folder."""
        return f"{FOLDER}/{self.page}#{self.anchor}"

    def as_json(self) -> dict[str, str | None]:
        """Return what machines are given of it."""
        saying = {"id": self.id, "title": self.title, "sentence": self.sentence}
        return {**saying, "basis": self.basis, "where": self.where}
