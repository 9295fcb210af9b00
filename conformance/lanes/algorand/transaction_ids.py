"""Transaction ids of Algorand: invented ones, and other spellings of one id."""

from __future__ import annotations

import base64
import os

_BASE32 = "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567"


def invented_id(random_bytes: bytes | None = None) -> str:
    """Return a well-formed transaction id that no chain knows."""
    raw = random_bytes or os.urandom(32)
    return base64.b32encode(raw).decode().rstrip("=")


def spellings(tx_id: str) -> list[str]:
    """Return the three other texts that decode to the same id: its last character has four spare bits."""
    last = _BASE32.index(tx_id[-1])
    return [tx_id[:-1] + _BASE32[(last & 0b10000) | spare] for spare in (1, 7, 15)]
