"""What the verifiers of a run are given: one receipt and one signed request, the same for ours and for every peer."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from typing import Any

import orjson

from reference.protocol import receipts
from reference.protocol.jws import sign_compact
from reference.protocol.keys import SigningKey, jwks
from reference.protocol.message_signatures import SignRequest, sign
from reference.protocol.service_word import ServiceWord

_ISSUED_AT = 1_790_000_000
_MINUTE = 60
_DAY = 86_400
_SEED = bytes(range(32))
_BODY_BYTES = 610
_COMPONENTS = ["@method", "@authority", "@path", "content-type", "content-digest"]


@dataclass(frozen=True, slots=True)
class Receipt:
    """A payable receipt with the key set it verifies under."""

    jws: str
    jwks: dict[str, Any]
    key: SigningKey

    @property
    def signing_input(self) -> bytes:
        """What the signature covers."""
        return self.jws.rpartition(".")[0].encode("ascii")


def receipt() -> Receipt:
    """Return a receipt."""
    key = SigningKey.from_seed(_SEED)
    payload = receipts.payable_receipt(
        word=ServiceWord("Weldproof"),
        provider_did="did:web:rail.example",
        issued_at_ms=_ISSUED_AT * 1000,
        service_id="receipt-verify",
        request_hash="sha256:" + "a" * 64,
        response_hash="sha256:" + "b" * 64,
        settled_payment_ref="sha256:" + "c" * 64,
        payment_reference_hash="sha256:" + "d" * 64,
        network="algorand:wGHE2Pwdvd7S12BL5FaOP20EGYesN73k",
        asset="31566704",
        pay_to="A" * 58,
        amount_microunits=10_000,
    )
    return Receipt(sign_compact(payload, key), jwks([key.public]), key)


def message(now: int, number: int = 0) -> dict[str, Any]:
    """Return a request with a body and five components, as verify takes it, signed not later than `now` (unix seconds).

    Each number gives another one of the same signer: body, digest, time, nonce and signature differ.
    """
    filler = str(number).zfill(_BODY_BYTES - len('{"note":""}'))
    created_at = now - number % _MINUTE
    signed_request = sign(
        SignRequest(
            method="POST",
            authority="agent.example",
            path="/a2a/v1",
            headers={"Content-Type": "application/json"},
            body=orjson.dumps({"note": filler}).decode(),
            covered_components=_COMPONENTS,
            expires=created_at + _DAY,
            nonce=hashlib.sha256(filler.encode()).hexdigest()[:22],
        ),
        seed=_SEED,
        now=created_at,
    )
    members = ("method", "authority", "path", "scheme", "headers", "body_b64", "public_key_hex")
    return {name: signed_request[name] for name in members}


def message_key() -> SigningKey:
    """Return the key that signs the request."""
    return SigningKey.from_seed(_SEED)


def verifier_material(job: str, now: int) -> dict[str, Any]:
    """Return what a verifier of another maker needs to do job `receipt` or `message` on the same material."""
    if job == "message":
        return message(now)
    sample = receipt()
    return {"jws": sample.jws, "jwks": sample.jwks}
