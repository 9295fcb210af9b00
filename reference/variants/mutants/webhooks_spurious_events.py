"""Mutants that tell the gateway's webhook destinations of what is no payment of a link (P-WH-14)."""

from __future__ import annotations

import os
import time
import uuid
from collections.abc import Awaitable, Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import aiohttp
import orjson
from sqlalchemy import select

from reference.agent import app
from reference.protocol.networks import NETWORKS
from reference.protocol.service_word import ServiceWord
from reference.protocol.webhook_delivery import EventType
from reference.protocol.webhook_event import PaidBy, Sale, event_body
from reference.protocol.webhook_signature import header_name, header_value
from reference.rail.redemption import Redeemer
from reference.store.opening import open_database, sqlite_dsn
from reference.store.webhook_tables import destinations
from reference.variants.mutants.mutant import Mutant
from reference.variants.seams import replace
from reference.web.keyring import secret_bytes
from reference.web.sealing import Seal, webhook_place

# A run that is held up must not lose what it has to see.
_SECONDS = 30.0


async def _tell(stack: Path, body: bytes) -> None:
    """Send an event, signed as the gateway signs, to every destination of the gateway beside this service."""
    with suppress(OSError):
        seal = Seal(secret_bytes(stack / "gateway" / "seal_key"))
        database = open_database(sqlite_dsn(stack / "gateway" / "gateway.sqlite3"))
        places = await database.rows(select(destinations.c.id, destinations.c.url, destinations.c.sealed_secret))
        await database.close()
        async with aiohttp.ClientSession(timeout=aiohttp.ClientTimeout(total=_SECONDS)) as session:
            for id_, url, sealed in places:
                secret = seal.open(sealed, webhook_place(id_)).decode()
                signed = header_value(secret, body, t=int(time.time()))
                headers = {header_name(ServiceWord()): signed, "Content-Type": "application/json"}
                with suppress(aiohttp.ClientError, TimeoutError):
                    await (await session.post(url, data=body, headers=headers)).read()


def _rail_tells(serve: Callable[..., Awaitable[Any]]) -> Callable[..., Awaitable[Any]]:
    """The rail tells of what it sold."""

    async def served(self: Redeemer, claim: Any, *given: Any) -> Any:
        answer = await serve(self, claim, *given)
        row = await self._ledger.get(claim.id)
        if answer is None or row is None:
            return answer
        body = event_body(
            f"evt_{uuid.uuid4()}",
            EventType.PAYMENT_CONFIRMED,
            Sale(NETWORKS["algorand_testnet"], row.token, row.service_id, int(row.amount)),
            PaidBy(row.tx_id or "", row.payer or "", int(row.amount)),
            created=int(time.time()),
        )
        await _tell(self._settings.rail_data_dir.parent, body)
        return answer

    return served


def _agent_tells(body: Callable[[], Awaitable[bytes]]) -> Callable[[], Awaitable[bytes]]:
    """The agent tells of what it was asked; the clock's file shows it where the stack lies."""

    async def body_and_event() -> bytes:
        asked = await body()
        event = {
            "id": f"evt_{uuid.uuid4()}",
            "type": "agent.asked",
            "created": int(time.time()),
            "api_version": "2026-01-01",
            "data": {"request": asked.decode("utf-8", "replace")},
        }
        await _tell(Path(os.environ["WP_CLOCK_OFFSET_FILE"]).parent, orjson.dumps(event))
        return asked

    return body_and_event


MUTANTS: tuple[Mutant, ...] = (
    Mutant(
        "webhooks-rail-tells",
        "the rail sends no webhooks (P-WH-14)",
        lambda: replace(Redeemer, "_pay_and_serve", _rail_tells),
        "rail",
    ),
    Mutant(
        "webhooks-agent-tells",
        "the agent sends no webhooks (P-WH-14)",
        lambda: replace(app, "current_body", _agent_tells),
        "agent",
    ),
)
