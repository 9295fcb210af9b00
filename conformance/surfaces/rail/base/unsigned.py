"""A proof in the shape of Base that nobody signed, such as another lane's rail must not take."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any


def unsigned_proof(sender: str, entry: Mapping[str, Any], token: str, nonce: bytes) -> dict[str, Any]:
    """Return an authorization of what an `accepts` entry of any lane asks for, under a signature that is noise."""
    authorization = {
        "from": sender,
        "to": str(entry["payTo"]),
        "value": str(entry["maxAmountRequired"]),
        "validAfter": "0",
        "validBefore": "99999999999",
        "nonce": "0x" + nonce.hex(),
    }
    return {"authorization": authorization, "signature": "0x" + "11" * 65, "challenge_token": token}
