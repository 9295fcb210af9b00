"""Which terms were in force when, common to all workers and kept over restarts (P-CH-13)."""

from __future__ import annotations

from collections.abc import Mapping

from sqlalchemy import insert, select, update
from sqlalchemy.exc import IntegrityError
from sqlalchemy.ext.asyncio import AsyncEngine

from reference.protocol.challenge import Generation, Terms
from reference.store.tables import generations


class Generations:
    """The terms of each service and lane over time."""

    def __init__(self, engine: AsyncEngine) -> None:
        self._engine = engine

    async def put_in_force(self, terms: Mapping[str, tuple[Terms, ...]], *, now: int) -> None:
        """Make `terms` (by service) the ones in force, closing those they replace."""
        for service_id, lanes in terms.items():
            for one in lanes:
                await self._put(service_id, one, now)

    async def _put(self, service_id: str, terms: Terms, now: int) -> None:
        here = (generations.c.service_id == service_id) & (generations.c.network == terms.network)
        members = {name: getattr(terms, name) for name in ("caip2", "asset", "amount", "pay_to")}
        async with self._engine.begin() as connection:
            present = (await connection.execute(select(generations).where(here, generations.c.until.is_(None)))).first()
            if present is not None and all(present._mapping[name] == value for name, value in members.items()):  # noqa: SLF001 - SQLAlchemy's public view
                return
            await connection.execute(update(generations).where(here, generations.c.until.is_(None)).values(until=now))
        try:
            async with self._engine.begin() as connection:
                await connection.execute(
                    insert(generations).values(
                        service_id=service_id, network=terms.network, since=now, until=None, **members
                    )
                )
        except IntegrityError:
            # The same terms were put in force in this very second already, by us or by another worker.
            same = [generations.c[name] == value for name, value in members.items()]
            reopened = update(generations).where(here, generations.c.since == now, *same).values(until=None)
            async with self._engine.begin() as connection:
                await connection.execute(reopened)

    async def known(self, *, since: int) -> tuple[Generation, ...]:
        """Return every generation that a token issued at `since` or later can be of."""
        wanted = select(generations).where((generations.c.until.is_(None)) | (generations.c.until >= since))
        async with self._engine.connect() as connection:
            rows = (await connection.execute(wanted)).mappings().all()
        seen: dict[Generation, None] = {}
        for row in rows:
            terms = Terms(row["network"], row["caip2"], row["asset"], row["amount"], row["pay_to"])
            seen[Generation(terms, row["since"], row["until"])] = None
        return tuple(seen)
