"""The checks as data, for commands that describe them and run none.

To import the checks takes a second and the libraries of every chain. `catalogue.json` is derived from their source.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, dataclass
from functools import cache
from typing import Any, Final

from conformance.engine.check_declarations import CHECKS, read_declarations
from conformance.engine.exclusive import Exclusive
from conformance.engine.quick_policy import Quick
from conformance.ledger.derived import Derived

CATALOGUE: Final = Derived(
    "conformance/engine/catalogue.json",
    (
        f"{CHECKS}/*.py",
        "conformance/engine/check_declarations.py",
        "conformance/engine/exclusive.py",
        "conformance/engine/quick_policy.py",
    ),
    read_declarations,
)


@dataclass(frozen=True, slots=True)
class CheckDescription:
    """A check as it describes itself.

    Attributes:
        id: Its name.
        rows: Requirement ids it decides.
        surface: Surface it talks to.
        lane: The lane it needs, `each`, or None.
        exclusive: In what company it runs, as `Check.exclusive`.
        sentence: What it sends and expects.
        fix: What an implementer does about a breach.
        quick: What `run --quick` makes of it.
        file: Where its function stands, from the project's folder.
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
