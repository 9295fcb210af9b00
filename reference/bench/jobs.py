"""The jobs: ours first, then the floors and peers that stand beside it."""

from __future__ import annotations

import asyncio
import hashlib
import time
import uuid
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import Any

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey
from nacl.bindings import crypto_sign_open

from reference.bench import material
from reference.bench.calling import Answer, bare, call, quart_hello
from reference.bench.memory_rail import PATH, MemoryRail, memory_rail
from reference.bench.rounds import Contender, Role, each
from reference.bench.stores import DirectDatabase, EngineDatabase
from reference.protocol.message_signatures import MessageVerifyRequest, verify
from reference.protocol.receipt_verification import verify_receipt
from reference.protocol.weld import Payment
from reference.store.database import Database
from reference.store.opening import open_database, sqlite_dsn
from reference.store.redemptions import Answer as StoredAnswer
from reference.store.redemptions import NewClaim, Redemptions
from reference.web.envelope import AsgiApp

_AT_ONCE = 32
_ANSWER = StoredAnswer(b"x" * 2048, "y" * 256, "z" * 700)

Contenders = Sequence[Contender]


class WrongAnswer(RuntimeError):
    """A contender did not do its job: what it cost says nothing."""


def _must(done: bool, what: str) -> None:
    if not done:
        raise WrongAnswer(what)


# Receipts and messages: pure functions beside the one signature check that they cannot do without.


@asynccontextmanager
async def receipt_verification(folder: Path) -> AsyncIterator[Contenders]:
    """Verify one receipt with its key set, key cached as between two calls of a service."""
    del folder
    sample = material.receipt()
    report = verify_receipt(jws=sample.jws, jwks=sample.jwks, expected_payment_hash=None, platform_keys=())
    _must(report["verified"] is True, "our receipt did not verify")

    def ours() -> None:
        verify_receipt(jws=sample.jws, jwks=sample.jwks, expected_payment_hash=None, platform_keys=())

    signature = sample.key.sign(sample.signing_input)
    yield [
        Contender("weldproof", "ours", each(ours)),
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
    _must(judged["valid"] is True, f"our message did not verify: {judged['errors']}")

    async def requests(count: int) -> list[MessageVerifyRequest]:
        return [MessageVerifyRequest.model_validate(given) for _ in range(count)]

    async def run(fresh: Sequence[MessageVerifyRequest]) -> None:
        for request in fresh:
            verify(request, now=now)

    key = asked.key_bytes() or b""
    base = str(judged["signature_base"]).encode("ascii")
    signature = material.message_key().sign(base)
    yield [
        Contender("weldproof", "ours", run, requests),
        *_ed25519_floors(key, base, signature, " + sha256", asked.body),
    ]


def _ed25519_floors(key: bytes, message: bytes, signature: bytes, and_what: str, body: bytes = b"") -> Contenders:
    signed = signature + message
    parsed = Ed25519PublicKey.from_public_bytes(key)

    def libsodium() -> None:
        crypto_sign_open(signed, key)
        if body:
            hashlib.sha256(body).digest()

    def openssl() -> None:
        parsed.verify(signature, message)
        if body:
            hashlib.sha256(body).digest()

    return [
        Contender(f"libsodium{and_what}", "floor", each(libsodium)),
        Contender(f"cryptography{and_what}", "floor", each(openssl)),
    ]


# Calls of the rail, beside an app that does nothing.


@asynccontextmanager
async def challenge(folder: Path) -> AsyncIterator[Contenders]:
    """Answer an unpaid call with a 402 of three lanes."""
    async with memory_rail(folder, material.receipt()) as rail:
        yield [
            Contender("weldproof", "ours", _calls(rail.app, PATH, rail.body, 402)),
            Contender(
                "weldproof, through Quart",
                "peer",
                _calls(rail.app, PATH, rail.body, 402, (b"payment-signature", b"e30=")),
            ),
            *_hello_floors(rail.body),
        ]


@asynccontextmanager
async def paid_call(folder: Path) -> AsyncIterator[Contenders]:
    """Answer a paid call: weld, redemption on the disk, receipt verification, two signatures; the chain in memory."""
    async with memory_rail(folder, material.receipt()) as rail:
        yield [Contender("weldproof", "ours", _paid(rail), rail.proofs), *_hello_floors(rail.body)]


def _paid(rail: MemoryRail) -> Callable[[Sequence[bytes]], Awaitable[None]]:
    async def one(proof: bytes) -> None:
        answer = await call(rail.app, "POST", PATH, rail.body, [(b"x-payment", proof)])
        _must(answer.status == 200, f"a paid call was answered {answer.status}: {answer.body[:200]!r}")

    async def run(proofs: Sequence[bytes]) -> None:
        await _together(one, proofs)

    return run


def _calls(
    app: AsgiApp, path: str, body: bytes, status: int, *headers: tuple[bytes, bytes]
) -> Callable[[Any], Awaitable[None]]:
    async def one(_: object) -> Answer:
        answer = await call(app, "POST", path, body, headers)
        _must(answer.status == status, f"{path} was answered {answer.status}: {answer.body[:200]!r}")
        return answer

    async def run(given: Sequence[object]) -> None:
        await _together(one, given)

    return run


def _hello_floors(body: bytes) -> Contenders:
    return [
        Contender("Quart hello", "floor", _calls(quart_hello(), "/", body, 200)),  # type: ignore[arg-type]
        Contender("bare ASGI hello", "floor", _calls(bare, "/", body, 200)),
    ]


async def _together(one: Callable[[Any], Awaitable[object]], given: Sequence[object]) -> None:
    """Do a job for each thing given, 32 at a time, as a server with 32 connections would."""
    waiting = iter(given)

    async def go_on() -> None:
        for thing in waiting:
            await one(thing)

    await asyncio.gather(*(go_on() for _ in range(min(_AT_ONCE, len(given)))))


# Redemptions: the ledger of the rail, beside the same ledger on other stores.


@asynccontextmanager
async def redemption(folder: Path) -> AsyncIterator[Contenders]:
    """Redeem once: look up, claim, mark paid, spend; 32 at a time."""
    stores: tuple[tuple[str, Role, Database], ...] = (
        ("weldproof, durable", "ours", open_database(sqlite_dsn(folder / "ours.sqlite3"))),
        ("sqlite3 direct, not durable", "floor", DirectDatabase(folder / "direct.sqlite3")),
        ("SQLAlchemy async + aiosqlite", "peer", EngineDatabase(folder / "layered.sqlite3")),
    )
    async with AsyncExitStack() as exits:
        contenders = []
        for name, role, database in stores:
            exits.push_async_callback(database.close)
            ledger = Redemptions(database)
            await ledger.prepare()
            contenders.append(Contender(name, role, _redeeming(ledger), _claims))
        yield contenders


async def _claims(count: int) -> list[NewClaim]:
    now = int(time.time())
    return [
        NewClaim(
            token=f"{now}:{unique[:16]}:{unique}{unique}",
            payment_key=f"algorand:wGHE2Pwdvd7S12BL5FaOP20EGYesN73k|{unique}",
            request_hash="sha256:" + "a" * 64,
            service_id="receipt-verify",
            network="algorand_mainnet",
            tx_id=unique,
            amount="10000",
            pay_to="A" * 58,
            expires_at=now + 1800,
        )
        for unique in (uuid.uuid4().hex for _ in range(count))
    ]


def _redeeming(ledger: Redemptions) -> Callable[[Sequence[NewClaim]], Awaitable[None]]:
    async def redeem(claim: NewClaim) -> None:
        now = int(time.time())
        await ledger.involved(claim.token, claim.payment_key)
        row = await ledger.claim(claim, worker="worker", now=now, order=now)
        if row is None:
            raise WrongAnswer("a claim was not taken")
        paid = await ledger.mark_paid(row, Payment("PAYER", claim.tx_id), worker="worker", now=now)
        spent = await ledger.spend(row.id, _ANSWER, worker="worker", now=now, recheck_at=now + 600)
        _must(paid is not None and spent, "a redemption was not stored")

    async def run(claims: Sequence[NewClaim]) -> None:
        await _together(redeem, claims)

    return run


JOBS: Mapping[str, Callable[[Path], AbstractAsyncContextManager[Contenders]]] = {
    "challenge": challenge,
    "paid-call": paid_call,
    "receipt": receipt_verification,
    "message": message_verification,
    "redemption": redemption,
}
