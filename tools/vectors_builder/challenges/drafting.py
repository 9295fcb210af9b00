"""What the drafts start from: three lanes, one request, one issuer, and a token that holds."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Final

from conformance.oracles import challenge_tokens as tokens
from tools.vectors_builder.drafting import Draft, seed

FAMILY: Final = "challenges"
PINS: Final = ("profile 5.4",)
ALL_MEMBERS: Final = ("valid", "stage", "codes", "values")
UNKNOWN: Final = ("unknown_challenge",)
UNIX: Final = 1_767_225_600
TTL: Final = 1_800
SERVICE: Final = "receipt-verify"
REQUEST: Final[Mapping[str, Any]] = {
    "method": "POST",
    "path": "/pay/v1/verify/receipt",
    "query": "",
    "body": {"jws": "a.b.c"},
}
ALGORAND: Final[dict[str, str]] = {
    "caip2": "algorand:wGHE2Pwdvd7S12BL5FaOP20EGYesN73k",
    "asset": "31566704",
    "amount": "10000",
    "pay_to": "AEAQCAIBAEAQCAIBAEAQCAIBAEAQCAIBAEAQCAIBAEAQCAIBAEA5RCDXMI",
}
BASE: Final[dict[str, str]] = {
    "caip2": "eip155:8453",
    "asset": "0x833589fCD6eDb6E08f4c7C32D4f71b54bdA02913",
    "amount": "10000",
    "pay_to": "0x1111111111111111111111111111111111111111",
}
SOLANA: Final[dict[str, str]] = {
    "caip2": "solana:5eykt4UsFv8P8NJdTREpY1vzqKqZKvdp",
    "asset": "EPjFWdd5AufqSSqeM2qN1xzybapC8G4wEGGkZwyTDt1v",
    "amount": "10000",
    "pay_to": "4vJ9JU1bJJE96FWSJKvHsmmFADCg4gpZQff4P3bkLKi",
}


@dataclass(frozen=True, slots=True)
class Offer:
    """A token as it was issued, and how it is offered back.

    Attributes:
        name: What secret and nonce are drawn for.
        lane: What the token was issued for.
        lanes: What the verifier accepts.
        issued_at: Unix seconds, as the token has them.
        request: The request it was issued for and is offered with.
    """

    name: str
    lane: Mapping[str, str] = field(default_factory=lambda: BASE)
    lanes: tuple[Mapping[str, str], ...] = (ALGORAND, BASE, SOLANA)
    issued_at: str = str(UNIX)
    request: Mapping[str, Any] | None = None
    service_id: str = SERVICE
    service_word: str = "Weldproof"
    now: int = UNIX + 60
    ttl: int = TTL
    secret: bytes | None = None
    nonce: str | None = None

    def with_members(self, **members: Any) -> Offer:
        """Return it with members changed."""
        return replace(self, **members)

    @property
    def issuer(self) -> tokens.Issuer:
        """Who issues the token and checks it."""
        return tokens.Issuer(self.secret or seed(FAMILY, f"secret {self.name}"), self.service_word)

    @property
    def nonce_text(self) -> str:
        """The token's nonce."""
        return seed(FAMILY, f"nonce {self.name}")[:8].hex() if self.nonce is None else self.nonce

    @property
    def request_members(self) -> Mapping[str, Any]:
        """The request."""
        return REQUEST if self.request is None else self.request

    @property
    def request_hash(self) -> str:
        """The request's hash reference."""
        return tokens.request_hash(self.request_members, self.service_id)

    @property
    def first(self) -> str:
        """Half A of the token that holds."""
        return self.issuer.first_half(self.issued_at, self.nonce_text, self.lane)

    @property
    def second(self) -> str:
        """Half B of the token that holds."""
        return self.issuer.second_half(self.first, self.service_id, self.request_hash)

    def token(self, first: str | None = None, second: str | None = None) -> str:
        """Return the token, or one with another half; half B follows a changed half A where it is not given."""
        head = self.first if first is None else first
        tail = self.issuer.second_half(head, self.service_id, self.request_hash) if second is None else second
        return f"{self.issued_at}:{self.nonce_text}:{head}{tail}"

    def input(self, token: str | None = None, **members: Any) -> dict[str, Any]:
        """Return what a verifier is given: the token that holds, or another one; None takes a member away."""
        vector_input = {
            "token": self.token() if token is None else token,
            "secret_hex": self.issuer.secret.hex(),
            "service_word": self.service_word,
            "lanes": [dict(lane) for lane in self.lanes],
            "service_id": self.service_id,
            "request": dict(self.request_members),
            "now": self.now,
            "ttl_seconds": self.ttl,
            **members,
        }
        return {name: member for name, member in vector_input.items() if member is not None}

    def values(self, request_hash: str | None = None) -> dict[str, Any]:
        """Return the values that a verifier can report of the token that holds."""
        text = self.token()
        values = {
            "lane": self.lane["caip2"],
            "request_hash": request_hash or self.request_hash,
            "payment_reference_hash": tokens.payment_reference_hash(text),
        }
        match self.lane["caip2"].partition(":")[0]:
            case "eip155":
                values["eip3009_nonce"] = tokens.eip3009_nonce(text)
            case "solana":
                values["solana_reference"] = tokens.solana_reference(text, self.service_word)
        return values


def holds(fault_name: str, variant: str, offer: Offer, why: str, *rows: str, **more: Any) -> Draft:
    """Return the draft of a token that holds."""
    return Draft(
        stage="valid",
        fault_name=fault_name,
        variant=variant,
        input=more.pop("given", None) or offer.input(),
        why=why,
        requirements=rows or ("RAIL-402-10",),
        values=offer.values(),
        pinned_members=("valid", "values"),
        pins=PINS,
        **more,
    )
