"""The data of a mutant."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from reference.variants.edits import Edit


@dataclass(frozen=True, slots=True)
class Mutant:
    """One deliberately broken variant.

    Attributes:
        id: Its name on the command line.
        rule: The rule it drops, as a sentence with its clause.
        apply: Puts it into the running process, before the process imports the service.
        surface: The service it goes into; others of the same stack stay clean.
        edits: The edits of a mutant that is data; none if it is Python.
    """

    id: str
    rule: str
    apply: Callable[[], None]
    surface: str = "rail"
    edits: tuple[Edit, ...] = ()
