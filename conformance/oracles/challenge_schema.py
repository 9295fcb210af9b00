"""The 402 body: x402 version 2 as the interface narrows it, by a published schema.

What version 2 demands stays demanded, with one exception: where it says `amount` the interface says
`maxAmountRequired`, so `amount` may be left out, and equals `maxAmountRequired` where it stands (conflict C-03).
"""

from __future__ import annotations

import json
import re
from functools import cache
from importlib.resources import files
from typing import Any

from conformance.oracles.json_schema import Schema

# 39 digits hold every 128-bit amount, more than any supply of USDC.
_ATOMIC = re.compile(r"0|[1-9][0-9]{0,38}")


@cache
def _schema() -> Schema:
    return Schema(json.loads(files(__package__).joinpath("challenge.schema.json").read_text("utf-8")))


def faults_of_challenge(document: Any) -> list[str]:
    """Return what is wrong with a 402 body, one line a fault; none when it keeps the schema."""
    faults = [f"{'/'.join(map(str, place)) or 'body'}: {fault}" for place, fault in _schema().faults(document)]
    accepts = document.get("accepts") if isinstance(document, dict) else None
    return faults + [
        f"accepts/{number}/amount: differs from maxAmountRequired"
        for number, entry in enumerate(accepts if isinstance(accepts, list) else [])
        if isinstance(entry, dict) and "amount" in entry and not _says_one_price(entry)
    ]


def _says_one_price(entry: dict[str, Any]) -> bool:
    return str(entry["amount"]) == str(entry.get("maxAmountRequired"))


def atomic_amount(value: Any) -> int | None:
    """Return an amount in atomic units: decimal digits in a string, no sign, exponent or leading zero; else None."""
    return int(value) if isinstance(value, str) and _ATOMIC.fullmatch(value) else None


def proof_of_another_family(network: object, token: object) -> dict[str, Any]:
    """Return a proof for a token in the form of another family of chains, which is refused before a chain is asked.

    Args:
        network: CAIP-2 id or key of the network that the token is of.
        token: The challenge token.
    """
    if str(network).startswith("eip155:"):
        return {"tx_id": "A" * 52, "payment_reference": token}
    address, last = "0x" + "11" * 20, "4102444800"
    authorization = {"from": address, "to": address, "value": "10000", "validAfter": "0", "validBefore": last}
    authorization["nonce"] = "0x" + "22" * 32
    return {"authorization": authorization, "signature": "0x" + "33" * 65, "challenge_token": token}
