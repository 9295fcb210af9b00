"""What the drafts of every lane share: challenges, times, and the form of a draft."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from tools.vectors_builder.challenges.drafting import REQUEST, TTL, UNIX, Offer
from tools.vectors_builder.drafting import Draft, seed

FAMILY: Final = "welds"
PRICE: Final = 10_000
WORD: Final = "Weldproof"
MINED_AT: Final = UNIX + 42
ORDER_PIN: Final = "profile 5.5"
# A verifier that believes its node need not compare the node's report with the transaction.
TOLD_PIN: Final = "decision 0031: what the chain could not hold is refused, whatever a node tells of it"
CODES: Final = ("stage", "codes")
ALL_MEMBERS: Final = ("valid", "stage", "codes")


def draw(name: str) -> bytes:
    """Return 32 bytes that are always the same for a name: keys, block hashes."""
    return seed(FAMILY, name)


def challenge(terms: Mapping[str, str], draw_name: str = "challenge", /, **members: Any) -> dict[str, Any]:
    """Return a challenge with a token that was truly issued for the terms (`caip2`, `asset`, `amount`, `pay_to`).

    Another text to draw from gives another challenge for the same request.
    """
    offer = Offer(draw_name, lane=terms, request=REQUEST, service_word=WORD, secret=draw("secret of the rail"))
    return {
        "token": offer.token(),
        **terms,
        "issued_at": UNIX,
        "ttl_seconds": TTL,
        "service_word": WORD,
        **members,
    }


def draft_refusal(
    stage: str,
    fault_name: str,
    variant: str,
    evidence: Mapping[str, Any],
    fault: str,
    why: str,
    *rows: str,
    code: str,
    pinned_members: tuple[str, ...] = CODES,
    pins: tuple[str, ...] = (),
) -> Draft:
    """Return the draft of a payment that is refused; stages and codes have their names from the profile alone.

    Pins count where `valid` is pinned; that the rules hold in this order is the profile's, too.
    """
    return Draft(
        stage=stage,
        fault_name=f"{evidence['lane']}-{fault_name}",
        variant=variant,
        input=evidence,
        why=why,
        requirements=rows,
        fault=fault,
        codes=(code,),
        pinned_members=pinned_members,
        pins=tuple(dict.fromkeys((*pins, ORDER_PIN))) if "valid" in pinned_members else (),
    )


def holds(
    fault_name: str,
    variant: str,
    evidence: Mapping[str, Any],
    why: str,
    *rows: str,
    values: Mapping[str, Any],
    pins: tuple[str, ...] = (),
) -> Draft:
    """Return the draft of a payment that pays; with pins, other readings of the interface may refuse it.

    Its values on Base are hex, which other implementations may spell differently.
    """
    is_evm = evidence["lane"] == "base"
    return Draft(
        stage="valid",
        fault_name=f"{evidence['lane']}-{fault_name}",
        variant=variant,
        input=evidence,
        why=why,
        requirements=rows,
        values=values,
        pinned_members=(*(("valid",) if pins else ()), *(("values",) if is_evm else ())),
        pins=pins,
    )
