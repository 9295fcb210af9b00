"""What a vector is before it is judged."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

OURS: Final = "weldproof"
VALID: Final = "valid"


@dataclass(frozen=True, slots=True)
class Draft:
    """One vector as its author means it.

    Attributes:
        stage: Where it is refused; `valid` for one that holds.
        fault_name: The fault in one word; what is shown, for one that holds.
        variant: What tells it from others of its kind.
        input: The members that a verifier is given.
        why: Why it is worth having.
        requirements: Rows of the ledger.
        fault: The one fault in a sentence; None for one that holds.
        codes: Codes of the refusal; left out, the stage is the code. None for one that holds.
        values: What a verifier can work out from it, by name.
        pinned: Members of `expected` that only the profile decides: valid, stage, codes, values.
        pins: Clauses of the profile without which the verdict would not follow.
        doors: Where it can be sent; the last is always `offline`.
        origin: Who made it.
        group: What stands in its kind where the stage would, for vectors that are grouped otherwise.
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
    pinned: tuple[str, ...] = ()
    pins: tuple[str, ...] = ()
    doors: tuple[str, ...] = ("offline",)
    origin: str = OURS
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


def seed(family: str, name: str) -> bytes:
    """Return 32 bytes that are always the same for a family and a name: keys, salts and everything else drawn."""
    return hashlib.sha256(f"weldproof vectors of {family}, 1: {name}".encode()).digest()
