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


def judge(question: Mapping[str, Any]) -> Verdict:
    """Return the verdict on a token for the present request, offered at `now`.

    Its values are the hashes of receipts for request and token, the lane of the token, and the nonce or the reference
    account that a payment on that lane must carry.
    """
    text = question["token"]
    # The stages are judged in the order of 5.7 (steps 5, 10 and 11): origin, request, time.
    token = tokens.Token.read(text)
    if token is None:
        return Verdict.refuse(SYNTAX, UNKNOWN)
    issuer = tokens.Issuer(bytes.fromhex(question["secret_hex"]), question["service_word"])
    lanes = (lane for lane in question["lanes"] if issuer.first_half(token.unix, token.nonce, lane) == token.first)
    lane = next(lanes, None)
    if lane is None:
        return Verdict.refuse(ORIGIN, UNKNOWN)
    digest = question.get("request_hash") or tokens.request_hash(question["request"], question["service_id"])
    values = {
        "lane": lane["caip2"],
        "request_hash": digest,
        "payment_reference_hash": tokens.payment_reference_hash(text),
        **_read_token(text, lane["caip2"], question["service_word"]),
    }
    if issuer.second_half(token.first, question["service_id"], digest) != token.second:
        return Verdict.refuse(REQUEST, "request_mismatch", **values)
    now, latest = question["now"], token.issued_at + question["ttl_seconds"]
    if token.issued_at > now + tokens.FUTURE_SKEW_SECONDS or now > latest:
        return Verdict.refuse(TIME, "challenge_expired", **values)
    return Verdict.holds(**values)


def _read_token(token: str, caip2: str, service_word: str) -> dict[str, str]:
    """Return the values that a payment on a lane must carry; on Algorand that is the token itself."""
    match caip2.partition(":")[0]:
        case "eip155":
            return {"eip3009_nonce": tokens.eip3009_nonce(token)}
        case "solana":
            return {"solana_reference": tokens.solana_reference(token, service_word)}
    return {}
