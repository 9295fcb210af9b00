"""What the checks say of themselves once they are imported: the oracle of the catalogue, which imports none."""

from __future__ import annotations

from collections.abc import Iterable

from conformance.engine.catalogue import CheckDescription
from conformance.engine.check import Check


def describe_checks(checks: Iterable[Check]) -> tuple[CheckDescription, ...]:
    """Return checks as the catalogue should have them."""
    return tuple(
        CheckDescription(
            check.id,
            check.rows,
            check.surface,
            check.lane,
            check.exclusive,
            check.sentence,
            check.fix,
            check.quick,
            _file(check),
        )
        for check in checks
    )


def _file(check: Check) -> str:
    return f"{check.function.__module__.replace('.', '/')}.py"
