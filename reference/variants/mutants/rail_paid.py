"""Mutants of what a rail reads and answers once somebody paid: the proof, the receipt, the results (5.2, 5.6, 5.9)."""

from __future__ import annotations

import base64
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import orjson

from reference.lanes.solana.lane import SolanaLane
from reference.protocol import jws, proof, screening, weld
from reference.protocol.canonical_json import canonicalise
from reference.protocol.keys import SigningKey, base64url
from reference.protocol.observed import ABSENT, Transfer
from reference.protocol.proof import MinedProof
from reference.rail import signing
from reference.variants.mutants.mutant import Mutant
from reference.variants.seams import replace, replace_rule

_LONGEST_SIGNATURE = 88


def _read_as_we_write_it() -> None:
    """Take a proof's JSON in the one spelling that we would write."""

    def reading(members: Callable[..., Any]) -> Callable[..., Any]:
        def read(values: Sequence[str]) -> Any:
            found = members(values)
            if base64.b64decode(values[0]) != orjson.dumps(found):
                raise proof._invalid()  # noqa: SLF001 - a mutant reaches in
            return found

        return read

    replace(proof, "_members", reading)


def _longest_signatures() -> None:
    """Find only transactions whose ids are as long as most are."""

    def observing(observe: Callable[..., Any]) -> Callable[..., Any]:
        async def observed(self: SolanaLane, tx_id: str) -> Any:
            return await observe(self, tx_id) if len(tx_id) == _LONGEST_SIGNATURE else ABSENT

        return observed

    replace(SolanaLane, "observe", observing)


def _ordinary_payload() -> None:
    """Take an ordinary x402 payload for a proof: its token is the accepted entry's, and nothing binds the payment."""
    ordinary: set[str] = set()

    def decoding(decode: Callable[..., Any]) -> Callable[..., Any]:
        def decoded(values: Sequence[str]) -> Any:
            members: Any = proof._members(values)  # noqa: SLF001 - a mutant reaches in
            group = members.get("payload", {}).get("paymentGroup")
            if not group or "accepted" not in members:
                return decode(values)
            token = members["accepted"]["extra"]["payment_reference"]
            ordinary.add(token)
            return MinedProof(group[0], token, None)

        return decoded

    def bound(transfer: Transfer, claim: weld.Claim) -> bool:
        return claim.token.text in ordinary or weld.note_is_token(transfer, claim)

    replace(proof, "decode", decoding)
    replace_rule(weld, weld.note_is_token, bound)


def _signed_by(name: str) -> Callable[[], None]:
    """Return what names another algorithm in the header of every receipt."""

    def sign(payload: Mapping[str, Any], key: SigningKey) -> str:
        header = base64url(canonicalise({"alg": name, "kid": key.public.kid, "typ": "JWT"}))
        signed = f"{header}.{base64url(canonicalise(payload))}"
        return f"{signed}.{base64url(key.sign(signed.encode('ascii')))}"

    return lambda: replace(signing, "sign_compact", lambda _: sign)


def _read_leniently(read: Callable[[str], bytes]) -> Callable[[], None]:
    """Return what decodes the segments of a receipt to be verified in another way."""
    return lambda: replace(jws, "from_base64url", lambda _: read)


def _any_spare_bits(text: str) -> bytes:
    return base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))


def _verdict_beside() -> None:
    """Sign who was screened and when, and tell the verdict beside it."""

    def making(made: Callable[..., dict[str, Any]]) -> Callable[..., dict[str, Any]]:
        def receipt(**given: Any) -> dict[str, Any]:
            return {name: value for name, value in made(**given).items() if name != "screen_result"}

        return receipt

    replace(screening, "compliance_receipt", making)


MUTANTS = (
    Mutant("proof-as-we-write-it", "a proof is JSON in any spelling (P-XP-01)", _read_as_we_write_it),
    Mutant(
        "solana-longest-signatures", "a transaction id is 64 bytes, however long its text (5.6)", _longest_signatures
    ),
    Mutant("ordinary-payload", "an ordinary x402 payload redeems nothing (P-XP-03)", _ordinary_payload),
    Mutant("receipt-signed-by-another-name", "the header's alg is EdDSA (2.2)", _signed_by("ed25519")),
    Mutant("verifier-spare-bits", "a segment has one spelling (P-CV-06)", _read_leniently(_any_spare_bits)),
    Mutant("verdict-beside-the-receipt", "the compliance receipt carries the verdict (2.3)", _verdict_beside),
)
