"""Catalogue of all checks as data, for commands that describe checks and do not run them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, dataclass
from functools import cache
from typing import Any, Final

from conformance.engine.check_declaration_reading import CHECKS, read_declarations
from conformance.engine.exclusive import Exclusive
from conformance.engine.quick_policy import Quick
from conformance.ledger.derived_files import Derived

# Derived from the source, not from the imported checks: `list` and `explain` would take a second longer, and would
# need the libraries of every chain. The file is written again when one of these sources changes.
CATALOGUE: Final = Derived(
    "conformance/engine/catalogue.json",
    (
        f"{CHECKS}/*.py",
        "conformance/engine/check_declaration_reading.py",
        "conformance/engine/exclusive.py",
        "conformance/engine/quick_policy.py",
    ),
    read_declarations,
)


@dataclass(frozen=True, slots=True)
class CheckDescription:
    """The description of a check.

    Attributes:
        id: Its name.
        rows: Requirement ids it decides.
        surface: Surface it talks to.
        lane: The lane it needs, `each`, or None.
        exclusive: What it disturbs, as `Check.exclusive`.
        sentence: What it sends and expects.
        fix: What an implementer does about a breach.
        quick: How `run --quick` tries it.
        file: The file of its function, from the project's folder.
    """

    id: str
    rows: tuple[str, ...]
    surface: str
    lane: str | None
    exclusive: Exclusive
    sentence: str
    fix: str
    quick: Quick
    file: str

    def as_json(self) -> dict[str, Any]:
        """Return it as a JSON object."""
        return asdict(self)


@cache
def load_catalogue() -> tuple[CheckDescription, ...]:
    """Return every check of the suite, by name."""
    converters: dict[str, Callable[[Any], Any]] = {
        "rows": tuple,
        "exclusive": Exclusive,
        "quick": lambda quick: Quick(**quick),
    }
    values = CATALOGUE.load()
    return tuple(
        CheckDescription(**{**entry, **{name: form(entry[name]) for name, form in converters.items()}})
        for entry in values
    )
