"""Redemptions: the ledger of the rail, beside the same ledger on other stores."""

from __future__ import annotations

import asyncio
import time
import uuid
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path

from reference.protocol.weld import Payment
from reference.store.database import Database
from reference.store.database_url import open_database, sqlite_dsn
from reference.store.redemption_rows import Answer, NewClaim
from reference.store.redemptions import Redemptions
from tools.bench.reference.comparison_databases import DirectDatabase, EngineDatabase
from tools.bench.reference.jobs import Contenders, WrongAnswer, must, together
from tools.bench.reference.rounds import Contender, Role

_RACERS = 32
_ANSWER = Answer(b"x" * 2048, "y" * 256, "z" * 700)


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
            await _race(ledger)
            contenders.append(Contender(name, role, _make_redeemer(ledger), _claims))
        yield contenders


async def _race(ledger: Redemptions) -> None:
    """Let 32 claim one payment at once: a store on which not exactly one wins is not worth measuring."""
    (claim,) = await _claims(1)
    now = int(time.time())
    won = await asyncio.gather(*(ledger.claim(claim, worker="worker", now=now, order=now) for _ in range(_RACERS)))
    must(sum(row is not None for row in won) == 1, "a payment was claimed more than once")


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


def _make_redeemer(ledger: Redemptions) -> Callable[[Sequence[NewClaim]], Awaitable[None]]:
    async def redeem(claim: NewClaim) -> None:
        now = int(time.time())
        await ledger.find_involved(claim.token, claim.payment_key)
        row = await ledger.claim(claim, worker="worker", now=now, order=now)
        if row is None:
            raise WrongAnswer("a claim was not taken")
        paid_row = await ledger.mark_paid(row, Payment("PAYER", claim.tx_id), worker="worker", now=now)
        is_spent = await ledger.spend(row.id, _ANSWER, worker="worker", now=now, recheck_at=now + 600)
        must(paid_row is not None and is_spent, "a redemption was not stored")

    async def run(claims: Sequence[NewClaim]) -> None:
        await together(redeem, claims)

    return run
