"""Addresses on Solana: base58, and accounts derived for an owner and a mint."""

from __future__ import annotations

import hashlib
from typing import Final

import base58

TOKEN_PROGRAM: Final = "TokenkegQfeZyiNwAJbNbGKPFXCWuBvf9Ss623VQ5DA"  # noqa: S105 - a program's public id
ASSOCIATED_PROGRAM: Final = "ATokenGPvbdGVxr1b2hvZbsiqW5xWH25efTNsLJA8knL"
_PRIME: Final = 2**255 - 19
_D: Final = -121665 * pow(121666, -1, _PRIME) % _PRIME


def associated_account(owner: str, mint: str, program: str = TOKEN_PROGRAM) -> str:
    """Return the associated token account of an owner for a mint, of the SPL Token program unless another is named."""
    seeds = b"".join(base58.b58decode(one) for one in (owner, program, mint))
    end = base58.b58decode(ASSOCIATED_PROGRAM) + b"ProgramDerivedAddress"
    # The first bump whose address is off the curve: no private key can exist for it.
    for bump in range(255, -1, -1):
        address = hashlib.sha256(seeds + bytes([bump]) + end).digest()
        if not is_on_curve(address):
            return text_of(address)
    raise ValueError("no address derived for them is off the curve")


def is_on_curve(raw: bytes) -> bool:
    """Return whether 32 bytes are a point of edwards25519, so that a private key for them may exist."""
    y = int.from_bytes(raw, "little") % 2**255
    x_squared = (y * y - 1) * pow(_D * y * y + 1, -1, _PRIME) % _PRIME
    return pow(x_squared, (_PRIME - 1) // 2, _PRIME) in {0, 1}


def text_of(raw: bytes) -> str:
    """Return bytes in base58."""
    return str(base58.b58encode(raw).decode("ascii"))
