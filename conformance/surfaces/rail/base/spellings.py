"""Other spellings of one proof on Base."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from conformance.lanes.base.authorization import Authorization
from conformance.outcome import OpenPoint

Spelling = Callable[[Authorization], Mapping[str, Any]]


# Spellings that 5.5 and P-NW-04 allow: numbers are decimal strings or integers. Addresses and nonces are hexadecimal
# and compared by their bytes. Both are this suite's defaults, so a refusal is only a warning.
DUE: Mapping[str, OpenPoint] = {
    "v as 0 or 1": OpenPoint("that a v of 0 or 1 is read as 27 or 28 is this suite's default", "5.5"),
    "numbers as JSON integers": OpenPoint("that numbers may be integers is this suite's default", "5.5"),
    "addresses in lower case": OpenPoint(
        "that addresses are compared by their bytes is this suite's default", "P-NW-04"
    ),
    "the nonce in upper case": OpenPoint("that hexadecimal is read by its value is this suite's default", "5.5"),
    "the signature in upper case": OpenPoint("that hexadecimal is read by its value is this suite's default", "5.5"),
}


def spellings(caip2: str) -> dict[str, Spelling]:
    """Return other spellings of the same proof, by their descriptions."""

    def terms(authorization: Authorization, **changes: Any) -> dict[str, Any]:
        proof = authorization.proof()
        return {**proof, "authorization": {**proof["authorization"], **changes}}

    return {
        "v as 0 or 1": lambda given: given.with_recovery(given.signature[64] - 27).proof(),
        "numbers as JSON integers": lambda given: terms(
            given, value=given.value, validAfter=given.valid_after, validBefore=given.valid_before
        ),
        "addresses in lower case": lambda given: terms(given, **{"from": given.sender.lower(), "to": given.to.lower()}),
        "the nonce in upper case": lambda given: terms(given, nonce="0x" + given.nonce.hex().upper()),
        "the signature in upper case": lambda given: {
            **given.proof(),
            "signature": "0x" + given.signature.hex().upper(),
        },
        "the network named beside": lambda given: {**given.proof(), "network": caip2},
    }
