"""Clause and sentence of the specification, as data."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

FOLDER: Final = "docs/spec"


@dataclass(frozen=True, slots=True)
class Clause:
    """A section or a clause of the specification.

    Attributes:
        id: `3.4` of a section, `3` of a chapter, `P-CV-08` of a clause, `C-03` of a contradiction.
        title: Title of a section; None for a clause.
        section: Number of the section that contains it, or of the section itself; None outside of numbered sections.
        page: Name of its file, below docs/spec.
        anchor: Anchor of its heading.
        sentence: Its first sentence, as plain text with code in backticks; None for a section that begins without text.
        basis: Basis of a clause: the interface, a standard, deployed software, or this suite's default.
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
        """The text to print: its sentence, after the title if it is a section."""
        return ": ".join(filter(None, (self.title, self.sentence)))

    @property
    def where(self) -> str:
        """The place of its text, from the project's folder."""
        return f"{FOLDER}/{self.page}#{self.anchor}"

    def as_json(self) -> dict[str, str | None]:
        """Return its members for machine-readable output."""
        return {
            "id": self.id,
            "title": self.title,
            "sentence": self.sentence,
            "basis": self.basis,
            "where": self.where,
        }


@dataclass(frozen=True, slots=True)
class Sentence:
    """A sentence of the specification, a row of one of its tables, or an item of one of its lists.

    Attributes:
        id: `P-CV-08b` or `3.4c`: the id of its clause or section, and a letter in reading order.
        place: The id of its clause or section.
        page: Name of its file, below docs/spec.
        words: The sentence as plain text with code in backticks.
        level: The strongest RFC 2119 word in it; MUST if it has none, because plain present tense says what a service
            does.
        basis: What it rests on; None if its section does not say that.
    """

    id: str
    place: str
    page: str
    words: str
    level: str
    basis: str | None
