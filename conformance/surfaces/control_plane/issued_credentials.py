"""Credentials that the suite issues: passports and ZK receipts in the family's envelope, each with its own key."""

from __future__ import annotations

import asyncio
import base64
import json
import random
import time
import uuid
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from conformance.engine.check import Case
from conformance.oracles import falcon_making
from conformance.oracles.ed25519_keys import encode_base64url
from conformance.oracles.hash_recipes import jcs_bytes
from conformance.oracles.range_proof.curve import L
from conformance.oracles.range_proof.making import POINT_FORGERIES, Forgery, commitment_text, proof_of, secret
from conformance.oracles.range_proof.system import LAYOUT, NAME
from conformance.surfaces.control_plane.played_hub import kid_of
from conformance.vocabulary.networks import EXAMPLE

_LIFETIME_SECONDS = 3600
# Milliunits: one score above the threshold and one below it.
_THRESHOLD, _HIGH, _LOW = 700, 912, 3


@dataclass(frozen=True, slots=True)
class IssuedCredential:
    """A credential and its issuer.

    Attributes:
        did: The issuer.
        key: The issuer's public key in base64, which signed only this credential.
        text: The credential: base64url of its envelope (P-AD-06).
        payload: Its payload.
    """

    did: str
    key: str
    text: str
    payload: Mapping[str, Any] = field(repr=False)


def issue_passport(case: Case, label: str, further: Mapping[str, Any] | None = None) -> IssuedCredential:
    """Return a new passport of a new issuer, named in the log, with further members if given."""
    number, did, now = _fresh(case, label)
    payload = {
        "passport_id": f"passport-{number}",
        "agent_did": f"did:web:agent-{number}.example",
        "issuer_did": did,
        "scopes": ["pay"],
        "spend_limit_microusd": 1_000_000,
        "spend_window": "daily",
        # A minute in the past, so that a verifier with a slow clock does not refuse it.
        "issued_at": _text(now - 60),
        "expires_at": _text(now + _LIFETIME_SECONDS),
        **(further or {}),
    }
    return _name_credential(case, label, _sign_credential(did, payload, case.rng.random()))


def issue_token(case: Case, label: str, did: str, further: Mapping[str, Any] | None = None) -> IssuedCredential:
    """Return a new federation token of a new key of a DID, named in the log, with other members if given (8.3)."""
    number, _, now = _fresh(case, label)
    payload = {
        "type": "federation_token",
        "version": "1",
        "issuer_did": did,
        "subject_dids": [f"did:web:agent-{number}.example"],
        "audience": None,
        "credential_hashes": [f"sha256:{'0' * 64}"],
        "issued_at": _text(now - 60),
        "expires_at": _text(now + _LIFETIME_SECONDS),
        "jti": str(uuid.UUID(int=case.rng.getrandbits(128), version=4)),
        **(further or {}),
    }
    return _name_credential(case, label, _sign_credential(did, payload, case.rng.random()))


async def issue_receipt(case: Case, label: str, forgery: Forgery | None = None) -> IssuedCredential:
    """Return a new ZK receipt of a new issuer, named in the log.

    Args:
        case: The case of the check.
        label: Its name in the log.
        forgery: The check that a verifier must omit to accept it; None for an honest receipt.
    """
    number, did, now = _fresh(case, label)
    payload = {
        "type": "zkp_receipt",
        "version": "1",
        "payment_id": f"payment-{number}",
        "chain": EXAMPLE.key,
        "amount_microusd": 50_000,
        "recipient": "7777777777777777777777777777777777777777777777777774MSJUVU",
        "tx_id": "A" * 52,
        "settled_at": _text(now - 120),
        "atb_cert_version": "2",
        "bench_issuer": did,
        "threshold_milliunits": _THRESHOLD,
        "proof_system": NAME,
        "issued_at": _text(now - 60),
        "expires_at": _text(now + _LIFETIME_SECONDS),
    }
    seeds = case.rng.random(), case.rng.random()
    # A proof takes long, and a thread keeps the other checks running. The seeds are drawn before,
    # so that the order of threads does not matter.
    return _name_credential(case, label, await asyncio.to_thread(_prove_receipt, did, payload, forgery, *seeds))


def _prove_receipt(
    did: str, payload: Mapping[str, Any], forgery: Forgery | None, proof_seed: float, signature_seed: float
) -> IssuedCredential:
    """Return a receipt with its proof; the two seeds determine all its random values."""
    rng = random.Random(proof_seed)  # noqa: S311 - the suite's choice
    opening = secret(_HIGH if forgery is None or forgery in POINT_FORGERIES else _LOW, rng, forgery)
    full_payload = {**payload, "commitment_b64": commitment_text(opening)}
    proof = proof_of(full_payload, opening, rng, forgery)
    return _sign_credential(did, full_payload | {"proof_b64": _base64(proof)}, signature_seed)


async def spoil_receipt(case: Case, honest: IssuedCredential) -> dict[str, IssuedCredential]:
    """Return invalid variations of an honest receipt, each by a separate issuer, by the words for its fault."""
    payload = dict(honest.payload)
    proof = base64.b64decode(payload["proof_b64"])
    # Each item of a proof has 32 bytes. The scalar `a` is one of the last two.
    at = 32 * LAYOUT.index("a")
    # A scalar plus the group's order satisfies the same equations. A verifier must demand the
    # canonical encoding, or one proof would have several spellings.
    enlarged_scalar = (int.from_bytes(proof[at : at + 32], "little") + L).to_bytes(32, "little")
    changes: dict[str, dict[str, Any]] = {
        "the proof of another payment": {"payment_id": f"{payload['payment_id']}-again"},
        "a scalar with the group's order added": {
            "proof_b64": _base64(proof[:at] + enlarged_scalar + proof[at + 32 :])
        },
        "a byte after the proof": {"proof_b64": _base64(proof + b"\0")},
    }
    receipts = {}
    for number, (words, members) in enumerate(changes.items(), 1):
        label = f"spoiled_{number}"
        receipts[words] = await sign_receipt_again(case, label, payload | members)
    return receipts | {
        "an honest proof that its issuer has not signed": await sign_receipt_again(case, "unsigned", payload, 1)
    }


async def sign_receipt_again(
    case: Case, label: str, payload: Mapping[str, Any], turned_bits: int = 0
) -> IssuedCredential:
    """Return a receipt with a payload and the signature of a new key; `turned_bits` of its salt spoil that."""
    _, did, _ = _fresh(case, label)
    return _name_credential(
        case, label, await asyncio.to_thread(_sign_credential, did, payload, case.rng.random(), turned_bits)
    )


def _fresh(case: Case, label: str) -> tuple[str, str, int]:
    """Return an unused number, the DID of a host with that number, and the time."""
    number = f"{case.session.nonce}-{case.session.count()}"
    host = f"{label.replace('_', '-')}-{number}.example"
    case.client.names.secret(host, f"{label.upper()}_HOST")
    return number, f"did:web:{host}", int(time.time())


def _sign_credential(did: str, payload: Mapping[str, Any], seed: float, turned_bits: int = 0) -> IssuedCredential:
    """Return a credential of a key made for it; `turned_bits` are flipped in the signature's salt."""
    signed_message = falcon_making.sign_once(jcs_bytes(payload), random.Random(seed))  # noqa: S311 - the suite's choice
    key = _base64(signed_message.public_key)
    signature = (
        signed_message.signature[:1] + bytes([signed_message.signature[1] ^ turned_bits]) + signed_message.signature[2:]
    )
    envelope = {"payload": payload, "alg": "Falcon-1024", "kid": kid_of(key), "sig": encode_base64url(signature)}
    return IssuedCredential(did, key, encode_base64url(json.dumps(envelope).encode()), payload)


def _name_credential(case: Case, label: str, credential: IssuedCredential) -> IssuedCredential:
    """Give a credential names in the log, and return it."""
    case.client.names.secret(credential.key, f"{label.upper()}_KEY")
    case.client.names.secret(credential.text, f"{label.upper()}_CREDENTIAL")
    return credential


def time_text(seconds: int) -> str:
    """Return the time so many seconds from now, negative in the past (P-CV-04)."""
    return _text(int(time.time()) + seconds)


def _text(seconds: int) -> str:
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(seconds))


def _base64(data: bytes) -> str:
    return base64.b64encode(data).decode()
