"""The judge of challenge tokens (profile 5.4, and 5.7 steps 5, 10 and 11)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from conformance.oracles import challenge_tokens as tokens
from conformance.vectors.judges import Verdict

SYNTAX: Final = "syntax"
ORIGIN: Final = "origin"
REQUEST: Final = "request"
TIME: Final = "time"
UNKNOWN: Final = "unknown_challenge"


def judge(given: Mapping[str, Any]) -> Verdict:
    """Return the verdict on a token for the present request, offered at `now`.

    It tells what receipts would say of request and token, the lane that the token was issued for, and on that lane the
    nonce or the reference account that a payment must carry.
    """
    text = given["token"]
    token = tokens.Token.read(text)
    if token is None:
        return Verdict.refused(SYNTAX, UNKNOWN)
    issuer = tokens.Issuer(bytes.fromhex(given["secret_hex"]), given["service_word"])
    lanes = (lane for lane in given["lanes"] if issuer.first_half(token.unix, token.nonce, lane) == token.first)
    lane = next(lanes, None)
    if lane is None:
        return Verdict.refused(ORIGIN, UNKNOWN)
    hashed = given.get("request_hash") or tokens.request_hash(given["request"], given["service_id"])
    values = {
        "lane": lane["caip2"],
        "request_hash": hashed,
        "payment_reference_hash": tokens.payment_reference_hash(text),
        **_carried(text, lane["caip2"], given["service_word"]),
    }
    if issuer.second_half(token.first, given["service_id"], hashed) != token.second:
        return Verdict.refused(REQUEST, "request_mismatch", **values)
    now, latest = given["now"], token.issued_at + given["ttl_seconds"]
    if token.issued_at > now + tokens.FUTURE_SKEW_SECONDS or now > latest:
        return Verdict.refused(TIME, "challenge_expired", **values)
    return Verdict.holds(**values)


def _carried(token: str, caip2: str, service_word: str) -> dict[str, str]:
    """Return what a payment must carry on a lane; on Algorand that is the token itself."""
    match caip2.partition(":")[0]:
        case "eip155":
            return {"eip3009_nonce": tokens.eip3009_nonce(token)}
        case "solana":
            return {"solana_reference": tokens.solana_reference(token, service_word)}
    return {}
