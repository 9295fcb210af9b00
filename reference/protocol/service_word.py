"""The service word: the setting that names headers, prefixes and hash recipes (P-SW-01 to P-SW-03)."""

from __future__ import annotations

import re
from dataclasses import dataclass

_PATTERN = re.compile(r"[A-Za-z][A-Za-z0-9]{1,31}")


@dataclass(frozen=True, slots=True)
class ServiceWord:
    """`<Service>` as set, and what follows from it.

    Raises:
        ValueError: The word is not a letter followed by 1 to 31 letters or digits.
    """

    word: str = "Weldproof"

    def __post_init__(self) -> None:
        if _PATTERN.fullmatch(self.word) is None:
            raise ValueError("the service word is a letter followed by 1 to 31 letters or digits")

    @property
    def lower(self) -> str:
        """`<service>`: the word in ASCII lower case."""
        return self.word.lower()

    @property
    def receipt_kind(self) -> str:
        """Member `kind` of a payable receipt."""
        return f"{self.lower}/payable-svc-receipt/1"

    @property
    def payable_core(self) -> str:
        """Prefix of the rail's hash recipes."""
        return f"{self.lower}-payable-core"

    def memo(self, token: str) -> str:
        """Return the memo text that binds a transaction to a payment link (3.5)."""
        return f"{self.lower}:{token}"
