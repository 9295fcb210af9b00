"""What a mutant is."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Mutant:
    """One deliberately broken variant.

    Attributes:
        id: Its name on the command line.
        rule: The rule it drops, as a sentence with its clause.
        apply: Puts it into the running process.
        surface: The service it goes into; others of the same stack stay clean.
    """

    id: str
    rule: str
    apply: Callable[[], None]
    surface: str = "rail"
