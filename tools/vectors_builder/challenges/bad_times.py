"""True tokens for the right request at the wrong time."""

from __future__ import annotations

from collections.abc import Iterator

from tools.vectors_builder.challenges.drafting import ALGORAND, ALL_MEMBERS, BASE, PINS, SOLANA, TTL, UNIX, Offer
from tools.vectors_builder.drafting import Draft

_LATE = "a quote that never ends is paid when the price has changed"
_EARLY = "an issue time ahead would stretch the lifetime"


def drafts() -> Iterator[Draft]:
    """Yield them."""
    yield _draft_refusal(
        "late", "one-second", Offer("late a", now=UNIX + TTL + 1), "a second after its lifetime", _LATE
    )
    yield _draft_refusal(
        "late", "a-day", Offer("late b", now=UNIX + 86_400, lane=SOLANA), "a day after its issue", _LATE
    )
    year = Offer("late c", now=UNIX + 31_536_000, lane=ALGORAND)
    yield _draft_refusal("late", "a-year", year, "a year after its issue", _LATE)
    short = Offer("short a", ttl=60, now=UNIX + 61)
    why = "the lifetime is the rail's setting"
    yield _draft_refusal("short-lifetime", "one-minute", short, "a second after a lifetime of a minute", why)
    no_lifetime = Offer("short b", ttl=0, now=UNIX + 1, lane=SOLANA)
    yield _draft_refusal("short-lifetime", "none", no_lifetime, "a second after issue, without any lifetime", why)
    early = Offer("early a", now=UNIX - 61)
    yield _draft_refusal("early", "sixty-one-seconds", early, "issued 61 seconds ahead of the verifier's clock", _EARLY)
    day = Offer("early b", now=UNIX - 86_400, lane=ALGORAND)
    yield _draft_refusal("early", "a-day", day, "issued a day ahead of the verifier's clock", _EARLY)
    digits = Offer("early c", issued_at="10000000000", now=UNIX, lane=BASE)
    yield _draft_refusal(
        "early", "eleven-digits", digits, "issued in the year 2286, as a careless reader of digits sees", _EARLY
    )


def _draft_refusal(fault_name: str, variant: str, offer: Offer, fault: str, why: str) -> Draft:
    return Draft(
        stage="time",
        fault_name=fault_name,
        variant=variant,
        input=offer.input(),
        why=why,
        requirements=("RAIL-402-20", "RAIL-WELD-06"),
        fault=f"the token is offered {fault}" if fault_name != "early" else f"the token is {fault}",
        codes=("challenge_expired",),
        values=offer.values(),
        pinned_members=ALL_MEMBERS,
        pins=PINS,
    )
