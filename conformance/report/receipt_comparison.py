"""Two receipts side by side in the form that reports show: of a run's two targets, or of two files."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

SAME: Final = "same"
EXPECTED: Final = "expected"
MATTERS: Final = "matters"
# Words and CSS class of a grade; the colours are those of verdicts.
GRADES: Final[Mapping[str, tuple[str, str]]] = {
    SAME: ("same", "v-pass"),
    EXPECTED: ("expected", "v-documented"),
    MATTERS: ("matters", "v-warn"),
}


@dataclass(frozen=True, slots=True)
class ComparedClaim:
    """One claim of both receipts.

    Attributes:
        part: `receipt`, `header` or `payload`.
        name: Its name, dotted if it is nested.
        left: The left value as JSON text, None if the claim is absent.
        right: The right value in the same form.
        grade: `same`, `expected` (it differs as it must or may) or `matters`.
        why: The reason for the grade, as a sentence.
    """

    part: str
    name: str
    left: str | None
    right: str | None
    grade: str
    why: str


@dataclass(frozen=True, slots=True)
class Side:
    """One receipt and its source.

    Attributes:
        name: The target's name, or the file's.
        source: The address that was called; empty for a file.
        place: Where the receipt was found, or None.
        exchange: Number of the exchange that answered with it, or None.
        verified: Whether it verifies with the keys that its target publishes; None if that was not tried.
        fault: Why it does not verify, or could not be obtained.
        receipt: The compact JWS, with live values replaced.
    """

    name: str
    source: str = ""
    place: str | None = None
    exchange: int | None = None
    verified: bool | None = None
    fault: str | None = None
    receipt: str | None = None


@dataclass(frozen=True, slots=True)
class SideBySide:
    """Two receipts of the same call, claim by claim.

    Attributes:
        call: The call, or the kind of receipt, in words.
        lane: The lane of the payment; None for a free call.
        left: The left receipt.
        right: The right receipt.
        missing: Why no comparison is possible, or None.
        grade: The worst grade of a claim; None without a comparison.
        claims: The receipts as such, their headers, then their payloads in the profile's order.
    """

    call: str
    lane: str | None
    left: Side
    right: Side
    missing: str | None
    grade: str | None
    claims: tuple[ComparedClaim, ...]

    @property
    def mattering_claims(self) -> tuple[ComparedClaim, ...]:
        """The claims whose difference matters."""
        return tuple(one for one in self.claims if one.grade == MATTERS)

    @property
    def mattering_names(self) -> tuple[str, ...]:
        """The names of those claims."""
        return tuple(one.name for one in self.mattering_claims)

    @property
    def unverified_sides(self) -> tuple[Side, ...]:
        """The sides whose receipt does not verify with their own target's keys."""
        return tuple(side for side in (self.left, self.right) if side.verified is False)

    @property
    def verdict(self) -> str:
        """The result in a few words."""
        if self.missing is not None:
            words = "not compared"
        elif self.mattering_claims:
            words = f"{len(self.mattering_claims)} matter{'s' if len(self.mattering_claims) == 1 else ''}"
        else:
            words = "equal" if self.grade == SAME else "differs as expected"
        return f"{words}, NOT VERIFIED" if self.unverified_sides else words

    @property
    def colour(self) -> str:
        """The class of its colour in pages."""
        if self.unverified_sides:
            return "v-fail"
        return "v-inconclusive" if self.grade is None else GRADES[self.grade][1]


def side_by_side(event: Mapping[str, Any]) -> SideBySide:
    """Return a comparison out of its event in the log."""
    lane, missing_reason, grade = (
        None if event[name] is None else str(event[name]) for name in ("lane", "missing", "grade")
    )
    left_side, right_side = (Side(**event[name]) for name in ("left", "right"))
    claims = tuple(ComparedClaim(**one) for one in event["claims"])
    return SideBySide(str(event["call"]), lane, left_side, right_side, missing_reason, grade, claims)
