"""Receipts and messages: pure functions beside the one signature check that they cannot do without."""

from __future__ import annotations

import hashlib
import time
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey
from nacl.bindings import crypto_sign_open
from solders.pubkey import Pubkey
from solders.signature import Signature

from reference.protocol.message_signatures import MessageVerifyRequest, verify
from reference.protocol.receipt_verification import judge_receipt, verify_receipt
from tools.bench.reference import material
from tools.bench.reference.jobs import Contenders, must
from tools.bench.reference.rounds import Contender, at_each_depth, each


@asynccontextmanager
async def receipt_verification(folder: Path) -> AsyncIterator[Contenders]:
    """Verify one receipt with its key set, key and header cached as between two calls of a service.

    The goal's job is the judgement: signature, algorithm, canonical payload, members. The report that the services
    answer with, twenty members and nine lines of checks, is told beside it.
    """
    del folder
    sample = material.receipt()
    report = verify_receipt(jws=sample.jws, jwks=sample.jwks, expected_payment_hash=None, platform_keys=())
    must(report["verified"] is True, "our receipt did not verify")

    def judged() -> None:
        judge_receipt(jws=sample.jws, jwks=sample.jwks, expected_payment_hash=None, platform_keys=())

    def reported() -> None:
        verify_receipt(jws=sample.jws, jwks=sample.jwks, expected_payment_hash=None, platform_keys=())

    signature = sample.key.sign(sample.signing_input)
    yield [
        Contender("weldproof", "ours", each(judged)),
        Contender("weldproof, with the report", "ours", each(reported)),
        *_ed25519_floors(sample.key.public.raw, sample.signing_input, signature, ""),
    ]


@asynccontextmanager
async def message_verification(folder: Path) -> AsyncIterator[Contenders]:
    """Verify a signed request of five components with a body of 610 bytes, each time one that was not seen before."""
    del folder
    now = int(time.time())
    given = material.message(now)
    asked = MessageVerifyRequest.model_validate(given)
    judged = verify(asked, now=now)
    must(judged["valid"] is True, f"our message did not verify: {judged['errors']}")

    async def requests(count: int) -> list[MessageVerifyRequest]:
        return [MessageVerifyRequest.model_validate(given) for _ in range(count)]

    def work(fresh: Sequence[MessageVerifyRequest]) -> None:
        for request in fresh:
            verify(request, now=now)

    key = asked.key_bytes() or b""
    base = str(judged["signature_base"]).encode("ascii")
    signature = material.message_key().sign(base)
    yield [
        Contender("weldproof", "ours", at_each_depth(work), requests),
        *_ed25519_floors(key, base, signature, " + sha256", asked.body),
    ]


def _ed25519_floors(key: bytes, message: bytes, signature: bytes, and_what: str, body: bytes = b"") -> Contenders:
    signed = signature + message
    parsed = Ed25519PublicKey.from_public_bytes(key)

    def libsodium() -> None:
        crypto_sign_open(signed, key)
        if body:
            hashlib.sha256(body).digest()

    def dalek() -> None:
        Signature(signature).verify(Pubkey(key), message)
        if body:
            hashlib.sha256(body).digest()

    def openssl() -> None:
        parsed.verify(signature, message)
        if body:
            hashlib.sha256(body).digest()

    return [
        Contender(f"libsodium{and_what}", "floor", each(libsodium)),
        Contender(f"dalek{and_what}", "floor", each(dalek)),
        Contender(f"cryptography{and_what}", "floor", each(openssl)),
    ]
