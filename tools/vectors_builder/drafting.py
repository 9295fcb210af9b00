"""What a vector is before it is judged."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from conformance.vectors import OWN_ORIGIN

VALID: Final = "valid"


@dataclass(frozen=True, slots=True)
class Draft:
    """One vector as its author means it.

    Attributes:
        stage: The stage that refuses it; `valid` for one that holds.
        fault_name: The fault in one word; the property that it shows, for one that holds.
        variant: The difference from others of its kind.
        input: The members that a verifier gets.
        why: Why it is worth having.
        requirements: Rows of the ledger.
        fault: The one fault in a sentence; None for one that holds.
        codes: Codes of the refusal; left out, the stage is the code. None for one that holds.
        values: What a verifier can work out from it, by name.
        pinned_members: Members of `expected` that only the profile decides: valid, stage, codes, values.
        pins: Clauses of the profile without which the verdict would not follow.
        doors: Endpoints that it can be sent to; the last is always `offline`.
        origin: Its author.
        group: The first part of its kind in place of the stage, for vectors in another group.
    """

    stage: str
    fault_name: str
    variant: str
    input: Mapping[str, Any]
    why: str
    requirements: tuple[str, ...]
    fault: str | None = None
    codes: tuple[str, ...] = ()
    values: Mapping[str, Any] = field(default_factory=dict)
    pinned_members: tuple[str, ...] = ()
    pins: tuple[str, ...] = ()
    doors: tuple[str, ...] = ("offline",)
    origin: str = OWN_ORIGIN
    group: str = ""

    @property
    def valid(self) -> bool:
        """Whether it is meant to hold."""
        return self.stage == VALID

    @property
    def kind(self) -> str:
        """Stage and fault."""
        return f"{self.group or self.stage}/{self.fault_name}"

    @property
    def name(self) -> str:
        """The id without its family's prefix."""
        return f"{self.kind}/{self.variant}"

    @property
    def expected_codes(self) -> tuple[str, ...]:
        """The codes of the refusal."""
        return () if self.valid else self.codes or (self.stage,)


def draft_holding(
    property_name: str,
    variant: str,
    vector_input: Mapping[str, Any],
    why: str,
    rows: tuple[str, ...],
    *,
    values: Mapping[str, Any],
    pins: tuple[str, ...] = (),
) -> Draft:
    """Return the draft of a vector that holds; what is worked out from it is the profile's.

    Args:
        property_name: The property that it shows.
        variant: The difference from others that show it.
        vector_input: The members that a verifier gets.
        why: Why it is worth having.
        rows: Rows of the ledger.
        values: What a verifier can work out from it.
        pins: Clauses of the profile by which alone it holds; none where the standards say so.
    """
    pinned_members = ("valid", "values") if pins else ("values",)
    return Draft(
        VALID, property_name, variant, vector_input, why, rows, values=values, pinned_members=pinned_members, pins=pins
    )


def draft_refusal(
    kind: str,
    variant: str,
    vector_input: Mapping[str, Any],
    fault: str,
    why: str,
    rows: tuple[str, ...],
    *,
    codes: tuple[str, ...] = (),
    pins: tuple[str, ...] = (),
) -> Draft:
    """Return the draft of a vector with one fault; its stage and its codes have their names from the profile.

    Args:
        kind: Stage and fault, as in `sig_invalid/salt`.
        variant: The difference from others of its kind.
        vector_input: The members that a verifier gets.
        fault: The fault, in a sentence.
        why: Why it is worth having.
        rows: Rows of the ledger.
        codes: Codes of the refusal; left out, the stage is the code.
        pins: Clauses of the profile by which alone it is refused; none where the standards refuse it.
    """
    stage, fault_name = kind.split("/")
    pinned_members = ("valid", "stage", "codes") if pins else ("stage", "codes")
    return Draft(
        stage, fault_name, variant, vector_input, why, rows, fault, codes, pinned_members=pinned_members, pins=pins
    )


def seed(family: str, name: str) -> bytes:
    """Return 32 bytes that are always the same for a family and a name: keys, salts and everything else drawn."""
    return hashlib.sha256(f"weldproof vectors of {family}, 1: {name}".encode()).digest()
