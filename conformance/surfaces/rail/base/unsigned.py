"""Unsigned proof in the form of Base, which no lane may accept."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any


def unsigned_proof(sender: str, entry: Mapping[str, Any], token: str, nonce: bytes) -> dict[str, Any]:
    """Return an authorization with the terms of an `accepts` entry of any lane, under an invalid signature."""
    authorization = {
        "from": sender,
        "to": str(entry["payTo"]),
        "value": str(entry["maxAmountRequired"]),
        "validAfter": "0",
        # Valid for a long time, so that only the signature is a reason to refuse it.
        "validBefore": "99999999999",
        "nonce": "0x" + nonce.hex(),
    }
    return {"authorization": authorization, "signature": "0x" + "11" * 65, "challenge_token": token}
