"""What the suite issues: passports and ZK receipts in the family's envelope, each with a key made for it alone."""

from __future__ import annotations

import asyncio
import base64
import json
import random
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from conformance.engine.check import Case
from conformance.oracles import falcon_making
from conformance.oracles.hashing import jcs_bytes
from conformance.oracles.keys import encode_base64url
from conformance.oracles.range_proof.curve import L
from conformance.oracles.range_proof.making import POINT_FORGERIES, Forgery, commitment_text, proof_of, secret
from conformance.oracles.range_proof.system import LAYOUT, NAME
from conformance.surfaces.control_plane.played_hub import kid_of
from conformance.vocabulary.networks import EXAMPLE

_LIFETIME_SECONDS = 3600
_THRESHOLD, _HIGH, _LOW = 700, 912, 3


@dataclass(frozen=True, slots=True)
class Issued:
    """A credential and who issued it.

    Attributes:
        did: The issuer.
        key: Its public key in base64, which has signed nothing else.
        text: The credential: base64url of its envelope (P-AD-06).
        payload: What it says.
    """

    did: str
    key: str
    text: str
    payload: Mapping[str, Any] = field(repr=False)


def issued(case: Case, label: str, further: Mapping[str, Any] | None = None) -> Issued:
    """Return a fresh credential of a fresh issuer, named in the log, with further members where any are given."""
    number, did, now = _fresh(case, label)
    payload = {
        "passport_id": f"passport-{number}",
        "agent_did": f"did:web:agent-{number}.example",
        "issuer_did": did,
        "scopes": ["pay"],
        "spend_limit_microusd": 1_000_000,
        "spend_window": "daily",
        "issued_at": _text(now - 60),
        "expires_at": _text(now + _LIFETIME_SECONDS),
        **(further or {}),
    }
    return _named(case, label, _signed(did, payload, case.rng.random()))


async def issued_receipt(case: Case, label: str, forgery: Forgery | None = None) -> Issued:
    """Return a fresh ZK receipt of a fresh issuer, named in the log; a thread makes its proof.

    Args:
        case: The check that wants it.
        label: Its name.
        forgery: What a verifier must leave out to take it; None makes an honest one.
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
    drawn = case.rng.random(), case.rng.random()
    return _named(case, label, await asyncio.to_thread(_proven, did, payload, forgery, *drawn))


def _proven(did: str, payload: Mapping[str, Any], forgery: Forgery | None, proving: float, signing: float) -> Issued:
    """Return a receipt with its proof; the two seeds decide everything that is drawn for it."""
    rng = random.Random(proving)  # noqa: S311 - the suite's choice
    held = secret(_HIGH if forgery is None or forgery in POINT_FORGERIES else _LOW, rng, forgery)
    stated = {**payload, "commitment_b64": commitment_text(held)}
    proof = proof_of(stated, held, rng, forgery)
    return _signed(did, stated | {"proof_b64": _base64(proof)}, signing)


async def spoiled_receipts(case: Case, honest: Issued) -> dict[str, Issued]:
    """Return what an honest receipt is turned into, each by an issuer of its own; the words say what is wrong."""
    payload = dict(honest.payload)
    proof = base64.b64decode(payload["proof_b64"])
    at = 32 * LAYOUT.index("a")
    again = (int.from_bytes(proof[at : at + 32], "little") + L).to_bytes(32, "little")
    changes: dict[str, dict[str, Any]] = {
        "the proof of another payment": {"payment_id": f"{payload['payment_id']}-again"},
        "a scalar with the group's order added": {"proof_b64": _base64(proof[:at] + again + proof[at + 32 :])},
        "a byte after the proof": {"proof_b64": _base64(proof + b"\0")},
    }
    made = {}
    for number, (words, changed) in enumerate(changes.items(), 1):
        label = f"spoiled_{number}"
        made[words] = await _again(case, label, payload | changed)
    return made | {"an honest proof that its issuer has not signed": await _again(case, "unsigned", payload, 1)}


async def _again(case: Case, label: str, payload: Mapping[str, Any], turned: int = 0) -> Issued:
    """Return a receipt of a fresh issuer; see `_signed`."""
    _, did, _ = _fresh(case, label)
    return _named(case, label, await asyncio.to_thread(_signed, did, payload, case.rng.random(), turned))


def _fresh(case: Case, label: str) -> tuple[str, str, int]:
    """Return a number that is used once, the DID of a host of that number, and the time."""
    number = f"{case.session.nonce}-{case.session.count()}"
    host = f"{label.replace('_', '-')}-{number}.example"
    case.client.names.secret(host, f"{label.upper()}_HOST")
    return number, f"did:web:{host}", int(time.time())


def _signed(did: str, payload: Mapping[str, Any], seed: float, turned: int = 0) -> Issued:
    """Return a credential of a key that is made for it; `turned` are bits of the signature's salt that are turned."""
    made = falcon_making.signed(jcs_bytes(payload), random.Random(seed))  # noqa: S311 - the suite's choice
    key = _base64(made.public_key)
    signature = made.signature[:1] + bytes([made.signature[1] ^ turned]) + made.signature[2:]
    envelope = {"payload": payload, "alg": "Falcon-1024", "kid": kid_of(key), "sig": encode_base64url(signature)}
    return Issued(did, key, encode_base64url(json.dumps(envelope).encode()), payload)


def _named(case: Case, label: str, made: Issued) -> Issued:
    """Return what was made, once the log shows its name only."""
    case.client.names.secret(made.key, f"{label.upper()}_KEY")
    case.client.names.secret(made.text, f"{label.upper()}_CREDENTIAL")
    return made


def _text(seconds: int) -> str:
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(seconds))


def _base64(data: bytes) -> str:
    return base64.b64encode(data).decode()
