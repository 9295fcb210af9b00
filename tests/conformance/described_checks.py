"""What the checks say of themselves once they are imported: the oracle of the catalogue, which imports none."""

from __future__ import annotations

from collections.abc import Iterable

from conformance.engine.catalogue import CheckDescription
from conformance.engine.check import Check


def described(checks: Iterable[Check]) -> tuple[CheckDescription, ...]:
    """Return checks as the catalogue should have them."""
    return tuple(
        CheckDescription(
            one.id, one.rows, one.surface, one.lane, one.exclusive, one.sentence, one.fix, one.quick, _file(one)
        )
        for one in checks
    )


def _file(one: Check) -> str:
    return f"{one.function.__module__.replace('.', '/')}.py"
