"""Example breaches of rows: what a named mutant of the reference sent, recorded as data.

`make record` writes `recorded/examples.json`. Names replace secrets and live values. Ports and times have one fixed
form. A row that no recording breaks has no example.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from importlib.resources import files
from types import MappingProxyType
from typing import Final

import orjson

FILE: Final = "recorded/examples.json"


@dataclass(frozen=True, slots=True)
class Example:
    """A recorded breach.

    Attributes:
        row: The requirement that it breaks.
        mutant: The variant of the reference that broke it.
        check: The check that saw it.
        verdict: What the check said: `fail` or `warn`.
        expected: What should be, in words.
        found: What was, or None.
        exchange: The request and the response, or a delivery and its answer, each with its heading.
        where: The parameters of the case: lane, operation, axis and so on.
    """

    row: str
    mutant: str
    check: str
    verdict: str
    expected: str
    found: str | None
    exchange: tuple[tuple[str, str], ...]
    where: Mapping[str, str] = field(default_factory=dict)

    @property
    def case(self) -> str:
        """The case in words: `operation /pay/v1/x, payment of half the price`; empty if the check has one case."""
        return ", ".join(f"{name} {value}" for name, value in self.where.items())


@cache
def examples() -> Mapping[str, Example]:
    """Return the example breach of each row that has one, by the row's id."""
    values = orjson.loads(files("conformance").joinpath(FILE).read_bytes())
    breaches = (
        Example(**{**one, "exchange": tuple((str(name), str(text)) for name, text in one["exchange"])})
        for one in values
    )
    return MappingProxyType({one.row: one for one in breaches})
