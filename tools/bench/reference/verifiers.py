"""Receipts and messages: pure functions beside the one signature check that they cannot do without."""

from __future__ import annotations

import hashlib
import time
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from itertools import cycle, islice
from pathlib import Path
from typing import NamedTuple

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey
from nacl.bindings import crypto_sign_open
from solders.pubkey import Pubkey
from solders.signature import Signature

from reference.protocol.message_signatures import MessageVerifyRequest, verify
from reference.protocol.message_signatures.verdict import judge
from reference.protocol.receipt_verification import judge_receipt, verify_receipt
from tools.bench.reference import material
from tools.bench.reference.jobs import Contenders, must
from tools.bench.reference.rounds import Contender, at_each_depth, repeat_job

_REQUESTS = 1024


class Signed(NamedTuple):
    """A signature, its base, and the body whose digest is compared; the body is empty if no digest is compared."""

    message: bytes
    signature: bytes
    body: bytes = b""


@asynccontextmanager
async def receipt_verification(folder: Path) -> AsyncIterator[Contenders]:
    """Verify one receipt with its key set, key and header cached as between two calls of a service.

    The goal's job is the judgement: signature, algorithm, canonical payload, members. The report that the services
    answer with, twenty members and nine lines of checks, is measured separately.
    """
    del folder
    sample = material.receipt()
    report = verify_receipt(jws=sample.jws, jwks=sample.jwks, expected_payment_hash=None, platform_keys=())
    must(report["verified"] is True, "our receipt did not verify")

    def judge_once() -> None:
        judge_receipt(jws=sample.jws, jwks=sample.jwks, expected_payment_hash=None, platform_keys=())

    def report_once() -> None:
        verify_receipt(jws=sample.jws, jwks=sample.jwks, expected_payment_hash=None, platform_keys=())

    signature = sample.key.sign(sample.signing_input)
    yield [
        Contender("weldproof", "ours", repeat_job(judge_once)),
        Contender("weldproof, with the report", "ours", repeat_job(report_once)),
        *_ed25519_floors(sample.key.public.raw, [Signed(sample.signing_input, signature)]),
    ]


@asynccontextmanager
async def message_verification(folder: Path) -> AsyncIterator[Contenders]:
    """Verify signed requests of five components with a body of 610 bytes, each by one signer and unlike all others.

    There are more of them than any cache of the reference holds, so only what a signer's requests share is found in
    one: the key, and the names that are covered.

    The goal's job is the judgement, as with receipts; the report that the services answer with is measured separately.
    """
    del folder
    now = int(time.time())
    messages = [material.message(now, number) for number in range(_REQUESTS)]
    signed_messages = [_read_signed(MessageVerifyRequest.model_validate(one), now) for one in messages]

    async def requests(count: int) -> list[MessageVerifyRequest]:
        return [MessageVerifyRequest.model_validate(one) for one in islice(cycle(messages), count)]

    def judge_each(fresh: Sequence[MessageVerifyRequest]) -> None:
        for request in fresh:
            judge(request, now=now)

    def report_each(fresh: Sequence[MessageVerifyRequest]) -> None:
        for request in fresh:
            verify(request, now=now)

    key = material.message_key().public.raw
    yield [
        Contender("weldproof", "ours", at_each_depth(judge_each), requests),
        Contender("weldproof, with the report", "ours", at_each_depth(report_each), requests),
        *_ed25519_floors(key, signed_messages, " + sha256"),
    ]


def _read_signed(request: MessageVerifyRequest, now: int) -> Signed:
    judgement = verify(request, now=now)
    must(judgement["valid"] is True, f"our message did not verify: {judgement['errors']}")
    base = str(judgement["signature_base"]).encode("ascii")
    return Signed(base, material.message_key().sign(base), request.body)


def _ed25519_floors(key: bytes, signed_messages: Sequence[Signed], and_what: str = "") -> Contenders:
    """Return the bare checks of the same signatures, and of the digest where there is a body."""
    public_key = Ed25519PublicKey.from_public_bytes(key)
    signed_bytes = [
        one._replace(message=one.signature + one.message) for one in signed_messages
    ]  # as libsodium takes them

    def floor(name: str, check: Callable[[bytes, bytes], object], of: Sequence[Signed]) -> Contender:
        async def prepare(count: int) -> list[Signed]:
            return list(islice(cycle(of), count))

        def work(parts: Sequence[Signed]) -> None:
            for message, signature, body in parts:
                check(message, signature)
                if body:
                    hashlib.sha256(body).digest()

        return Contender(f"{name}{and_what}", "floor", at_each_depth(work), prepare)

    return [
        floor("libsodium", lambda message, _: crypto_sign_open(message, key), signed_bytes),
        floor("dalek", lambda message, signature: Signature(signature).verify(Pubkey(key), message), signed_messages),
        floor("cryptography", lambda message, signature: public_key.verify(signature, message), signed_messages),
    ]
