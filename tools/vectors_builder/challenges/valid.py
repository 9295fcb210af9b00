"""Tokens that hold, the profile's worked example first."""

from __future__ import annotations

from collections.abc import Iterator

from tools.vectors_builder.challenges.drafting import ALGORAND, BASE, REQUEST, SOLANA, TTL, UNIX, Offer, holds
from tools.vectors_builder.drafting import Draft

_EXAMPLE = "weldproof, worked example"


def drafts() -> Iterator[Draft]:
    """Yield them."""
    yield from _example()
    yield from _lanes()
    yield from _times()
    yield from _requests()
    yield from _words()


def _example() -> Iterator[Draft]:
    why = "secret, nonce and time are round numbers, so that every step can be redone by hand"
    example = Offer("example", secret=bytes(range(32)), nonce="0011223344556677")
    yield holds("example", "base", example, why, "RAIL-402-10", "RAIL-WELD-03", origin=_EXAMPLE)
    solana = example.with_members(lane=SOLANA)
    yield holds("example", "solana", solana, why, "RAIL-402-10", "RAIL-WELD-04", "RAIL-LANE-05", origin=_EXAMPLE)
    algorand = example.with_members(lane=ALGORAND)
    yield holds("example", "algorand", algorand, why, "RAIL-402-10", "RAIL-WELD-01", origin=_EXAMPLE)


def _lanes() -> Iterator[Draft]:
    why = "half A alone says which lane a token was issued for"
    testing = (
        ALGORAND | {"caip2": "algorand:SGO1GKSzyE7IEPItTxCByw9x8FmnrCDe", "asset": "10458941"},
        BASE | {"caip2": "eip155:84532", "asset": "0x036CbD53842c5426634e7929541eC2318f3dCF7e"},
        SOLANA
        | {
            "caip2": "solana:EtWTRABZaYq6iMfeYKouRu166VU2xqa1",
            "asset": "4zMMC9srt5Ri5X14GAgXhaHii3GnPAEERYPJgZJDncDU",
        },
    )
    for name, lane in zip(("algorand", "base", "solana"), testing, strict=True):
        offer = Offer(f"test network {name}", lane=lane, lanes=(*Offer("").lanes, *testing))
        yield holds("test-network", name, offer, why, "RAIL-402-10", "RAIL-402-05")
    why = "a token issued before the price changed is checked against the price of its time"
    old = BASE | {"amount": "9000"}
    offer = Offer("old price", lane=old, lanes=(BASE, old))
    yield holds("generation", "old-price", offer, why, "RAIL-402-08")
    moved_lane = BASE | {"pay_to": "0x2222222222222222222222222222222222222222"}
    offer = Offer("old payee", lane=moved_lane, lanes=(ALGORAND, BASE, moved_lane, SOLANA))
    yield holds("generation", "old-payee", offer, "the same with a payee that has moved", "RAIL-402-06")
    large = SOLANA | {"amount": "18446744073709551615"}
    offer = Offer("large", lane=large, lanes=(large,))
    yield holds("amount", "largest-of-64-bits", offer, "amounts are texts, not binary fractions", "RAIL-402-09")


def _times() -> Iterator[Draft]:
    rows = ("RAIL-402-20", "RAIL-WELD-06")
    times = {
        "at-issue": (UNIX, "a token lives from the second of its issue"),
        "last-second": (UNIX + TTL, "the last second of the lifetime belongs to it"),
        "issued-sixty-ahead": (UNIX - 60, "another clock may be a minute ahead"),
    }
    for variant, (now, why) in times.items():
        yield holds("time", variant, Offer(f"time {variant}", now=now), why, *rows)
    late = Offer("eleven digits", issued_at="10000000000", now=10_000_000_001)
    yield holds("digits", "eleven", late, "issue times have an eleventh digit from the year 2286", *rows)
    short = Offer("short", ttl=1, now=UNIX + 1)
    yield holds("lifetime", "one-second", short, "the lifetime is the rail's setting", *rows)


def _requests() -> Iterator[Draft]:
    query = Offer("query", request={**REQUEST, "query": "b=2&a=%20&a="})
    yield holds("request", "query", query, "the query goes in raw, in its own order", "RAIL-WELD-10")
    body = {"z": 1.0, "a": [1e3, 0.1, None, True], "\u20ac": "\u00e9\U0001f600"}
    rich = Offer("rich body", request={**REQUEST, "body": body})
    why = "the body goes in canonically: members sorted, numbers as RFC 8785 writes them, text as it is"
    yield holds("request", "canonical-body", rich, why, "RAIL-WELD-09")
    empty = Offer("empty body", request={**REQUEST, "body": {}})
    yield holds("request", "empty-body", empty, "an empty object is a body, too", "RAIL-WELD-09")
    offer = Offer("hashed")
    vector_input = offer.input(request=None, request_hash=offer.request_hash)
    why = "who has the hash from the challenge needs no request"
    yield holds("request-hash", "given", offer, why, "RAIL-WELD-09", given=vector_input)


def _words() -> Iterator[Draft]:
    for variant, word in (("other", "Acme"), ("upper-case", "WELDPROOF"), ("with-digit", "Pay2")):
        offer = Offer(f"word {variant}", lane=SOLANA, service_word=word)
        why = "the service word stands in every label in lower case"
        yield holds("service-word", variant, offer, why, "RAIL-402-10", "RAIL-LANE-05")
