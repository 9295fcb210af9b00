"""The requirements as data: one row per testable statement of the interface.

`requirements.json` holds the rows; each has a stable id, the sentence, its section of the interface, a level, a basis
and what a test of it needs. A row whose fact no request can show carries `documented`, the written reason.

The ledger has versions. A version adds rows to the previous one and changes none. `since` is the version that added a
row.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cache
from importlib.resources import files
from typing import Final, Literal

Level = Literal["MUST", "SHOULD", "MAY"]
Basis = Literal["stated", "implied", "claimed"]
# A run or a badge may name an older version, so that its result can be compared with an earlier one.
VERSIONS: Final = (1, 2, 3)
NEWEST: Final = VERSIONS[-1]


@dataclass(frozen=True, slots=True)
class Requirement:
    """One row of the ledger.

    Attributes:
        id: Stable id such as `RAIL-WELD-02`.
        sentence: The testable statement.
        section: The section of the interface from which it comes.
        level: RFC 2119 word.
        basis: `stated` if the sentence is in the interface, `implied` if it follows from the interface, `claimed` if it
            is only in the specification and binds a target that claims the row's option. Each decides.
        needs: Codes of what a test must have (V B K T T2 A I C W S P R D).
        surface: Surface that must be claimed for the row to apply.
        surfaces: Further surfaces that must be claimed for the row to apply.
        lane: Lane that must be claimed for the row to apply, if any. Any lane of its family suffices, unless the row is
            about the offer of this lane.
        option: Option that must be claimed for the row to apply, if any.
        documented: Why nothing on the wire shows the fact, if so.
        since: The version of the ledger that added the row.
        claimed_by: Id of the sentence of the specification by which the row decides for a target that claims the
            specification, although its level elsewhere is lower; None if its level is the same for every target.
    """

    id: str
    sentence: str
    section: str
    level: Level
    basis: Basis
    needs: tuple[str, ...]
    surface: str
    surfaces: tuple[str, ...] = ()
    lane: str | None = None
    option: str | None = None
    documented: str | None = None
    since: int = 1
    claimed_by: str | None = None

    def as_claimed(self) -> Requirement:
        """Return the row as it binds a target that claims the specification."""
        return self if self.claimed_by is None else replace(self, level="MUST", basis="claimed")

    @property
    def decides(self) -> bool:
        """Whether a breach of the row fails the run: the row is a MUST, on any basis."""
        return self.level == "MUST"


class Ledger:
    """All requirements, in the order of the interface."""

    def __init__(self, rows: Iterable[Requirement]) -> None:
        self._rows: Mapping[str, Requirement] = {row.id: row for row in rows}

    def __iter__(self) -> Iterator[Requirement]:
        return iter(self._rows.values())

    def __len__(self) -> int:
        return len(self._rows)

    def __contains__(self, row_id: object) -> bool:
        return row_id in self._rows

    def __getitem__(self, row_id: str) -> Requirement:
        return self._rows[row_id]

    def at_version(self, version: int) -> Ledger:
        """Return the ledger as it was in one of `VERSIONS`."""
        return Ledger(row for row in self if row.since <= version)

    def select(self, prefixes: Iterable[str]) -> tuple[Requirement, ...]:
        """Return the rows whose id starts with one of `prefixes`, or all rows if there are no prefixes.

        A prefix may end inside a word (`RAIL-W`), but not inside a number: `RAIL-WELD-1` is not `RAIL-WELD-10`.

        Raises:
            LookupError: A prefix matches no row; its text is the prefix.
        """
        # An id that was typed by hand or cut at a word, such as `rail-402-`, means the same rows.
        starts = [prefix.strip().upper().rstrip("-") for prefix in prefixes]
        for prefix in starts:
            if not prefix or not any(has_prefix(row.id, prefix) for row in self):
                raise LookupError(prefix)
        return tuple(row for row in self if not starts or any(has_prefix(row.id, prefix) for prefix in starts))


def has_prefix(row: str, prefix: str) -> bool:
    """Return whether an id starts with a prefix that does not end inside a number."""
    # A mistyped number must not select other rows: their verdicts would read as the verdict of the row that was meant.
    return row.startswith(prefix) and not (prefix[-1:].isdigit() and row[len(prefix) :][:1].isdigit())


def id_prefixes(row: str) -> Iterator[str]:
    """Yield a row's id and its beginnings in whole words, the longest first: `RAIL-KEY-05`, `RAIL-KEY`, `RAIL`."""
    words = row.split("-")
    return ("-".join(words[:count]) for count in range(len(words), 0, -1))


@cache
def load() -> Ledger:
    """Return the ledger that ships with the suite, in its newest version."""
    rows = json.loads(files(__name__).joinpath("requirements.json").read_text("utf-8"))
    return Ledger(
        # JSON has no tuples. A frozen row needs them, so that it can be a member of sets.
        Requirement(**{**row, "needs": tuple(row["needs"]), "surfaces": tuple(row.get("surfaces", ()))})
        for row in rows
    )
