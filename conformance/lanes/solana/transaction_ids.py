"""Texts that are, or look like, ids of transactions on Solana."""

from __future__ import annotations

import os

import base58


def invented_id(random_bytes: bytes | None = None) -> str:
    """Return a well-formed transaction id that no chain knows."""
    return base58.b58encode(random_bytes or os.urandom(64)).decode()


def spellings(tx_id: str) -> list[str]:
    """Return other texts that a lax reader takes for the same id.

    Base58 has one text for 64 bytes; what is left is a leading 1, which is a zero byte more, and white space, which
    common decoders cut off.
    """
    return ["1" + tx_id, " " + tx_id, tx_id + " ", tx_id + "\n"]
