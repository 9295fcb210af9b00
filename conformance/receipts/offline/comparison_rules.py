"""Rules for the claims of each kind of receipt (2.3): whether a claim may differ between two receipts."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Final

from conformance.oracles.receipt_kinds import MEMBERS, Kind, kind_of

Path = tuple[str, ...]


class Bound(StrEnum):
    """The fact that determines a claim: if two receipts share the fact, they share the claim."""

    FORM = "how the receipt is written"
    WORD = "the service word"
    CALL = "the call"
    REQUEST = "the bytes of the request"
    RESPONSE = "the response"
    PAYMENT = "the payment"
    PARTY = "who issued it or was paid"
    TIME = "when it was issued"
    POLICY = "what its issuer chose"
    OPEN = "nothing the profile knows"


@dataclass(frozen=True, slots=True)
class Rule:
    """One claim.

    Attributes:
        bound: The fact that determines it.
        differs: What a difference means, as a sentence.
        is_hash: Whether it is a hash reference, `sha256:` and 64 hex digits.
    """

    bound: Bound
    differs: str
    is_hash: bool = False


_ISSUERS: Final = "Each receipt names the one who signed it."
_TIMES: Final = "Each receipt contains its own time."
_CANON: Final = "A verifier recomputes the payload's bytes by this word: for another word it needs another rule."
_FLAGS: Final = "Which jurisdictions an issuer applies is its own choice."
_REFERENCE: Final = "Two payments have two references."

# One table for each kind, in the order in which the specification lists the claims (2.3). The comparison prints them in
# this order, and a test holds that each claim of a kind has a rule.
RULES: Final[Mapping[Kind, Mapping[Path, Rule]]] = {
    "payable": {
        ("kind",): Rule(Bound.WORD, "The word before the slash is each implementation's own."),
        ("canon_version",): Rule(Bound.FORM, _CANON),
        ("service_id",): Rule(Bound.CALL, "The same call is sold under two names."),
        ("request_hash",): Rule(
            Bound.REQUEST,
            "The same request has two hashes: who recomputes it by one recipe refuses the other's receipt. Where the "
            "recipes are two, state both.",
            is_hash=True,
        ),
        ("response_hash",): Rule(
            Bound.RESPONSE,
            "Two answers have two hashes: results hold times, names and ids.",
            is_hash=True,
        ),
        ("settled_payment_ref",): Rule(Bound.PAYMENT, _REFERENCE, is_hash=True),
        ("payment_reference_hash",): Rule(Bound.PAYMENT, "Two challenges have two tokens.", is_hash=True),
        ("network",): Rule(Bound.CALL, "The same lane is named as two networks."),
        ("asset",): Rule(Bound.CALL, "The same call is reported as paid in two assets."),
        ("amount_microunits",): Rule(Bound.CALL, "The same call is reported at two prices."),
        ("pay_to",): Rule(Bound.PARTY, "Each target is paid at its own address."),
        ("iss",): Rule(Bound.PARTY, _ISSUERS),
        ("provider_did",): Rule(Bound.PARTY, _ISSUERS),
        ("iat",): Rule(Bound.TIME, _TIMES),
        ("issued_at_ms",): Rule(Bound.TIME, _TIMES),
    },
    "compliance": {
        ("canon_version",): Rule(Bound.FORM, _CANON),
        ("payer_ref",): Rule(Bound.CALL, "The same address on the same network has two references.", is_hash=True),
        ("screen_result",): Rule(Bound.CALL, "The same address is screened to two verdicts."),
        ("jurisdiction_flags",): Rule(Bound.POLICY, _FLAGS),
        ("payment_hash",): Rule(Bound.PAYMENT, _REFERENCE, is_hash=True),
        ("screen_provider_did",): Rule(Bound.PARTY, _ISSUERS),
        ("screen_timestamp_ms",): Rule(Bound.TIME, _TIMES),
    },
    "settlement_attestation": {
        ("canon_version",): Rule(Bound.FORM, _CANON),
        ("settlement_result",): Rule(Bound.CALL, "The same kind of payment ended in two ways."),
        ("settlement_chain",): Rule(Bound.CALL, "The same lane is named as two chains."),
        ("settlement_amount",): Rule(Bound.CALL, "The same call is reported at two prices."),
        ("settlement_amount", "amount_minor"): Rule(Bound.CALL, "The same call is reported at two prices."),
        ("settlement_amount", "asset_id"): Rule(Bound.CALL, "The same call is reported as paid in two assets."),
        ("settled_payment_ref",): Rule(Bound.PAYMENT, _REFERENCE, is_hash=True),
        ("jurisdiction_flags",): Rule(Bound.POLICY, _FLAGS),
        ("settlement_provider_did",): Rule(Bound.PARTY, _ISSUERS),
        ("settlement_timestamp_ms",): Rule(Bound.TIME, _TIMES),
    },
}
TITLES: Final[Mapping[Kind, str]] = {
    "payable": "payable receipt",
    "compliance": "compliance receipt",
    "settlement_attestation": "settlement attestation",
}
UNKNOWN: Final = Rule(Bound.OPEN, "The profile knows no such claim, so no verifier reads it.")

# Recipes of the request's hash that cover the path of the call, and those that cover the service's name.
OVER_PATH: Final = frozenset({"jcs-envelope", "jcs-envelope-plain", "line-jcs-body", "line-raw-body"})
OVER_SERVICE: Final = frozenset({"jcs-envelope"})


def likely_kind(claims: Mapping[str, Any]) -> Kind:
    """Return the kind of a payload by P-RV-02; also payable if only the text of `kind` differs."""
    if "payable" in str(claims.get("kind", "")) or {"request_hash", "response_hash"} <= claims.keys():
        return "payable"
    return kind_of(claims)


def is_required(path: Path, kind: Kind) -> bool:
    """Return whether a verifier rejects a receipt of this kind without the claim (2.4 step 8)."""
    return path in RULES[kind] and path[0] in MEMBERS[kind]
