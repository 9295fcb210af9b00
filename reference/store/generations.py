"""Which terms were in force when, common to all workers and kept over restarts (P-CH-13)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from sqlalchemy import bindparam, insert, or_, select, update

from reference.protocol.challenge import Generation, Terms
from reference.store.database import Database, Row, Taken
from reference.store.tables import generations

_ROW = generations.c
_TERMS = ("caip2", "asset", "amount", "pay_to")
_HERE = (_ROW.service_id == bindparam("service")) & (_ROW.network == bindparam("lane"))
_PRESENT = select(*(_ROW[name] for name in _TERMS)).where(_HERE, _ROW.until.is_(None))
_CLOSE = update(generations).where(_HERE, _ROW.until.is_(None)).values(until=bindparam("now"))
_OPEN = insert(generations).values(
    service_id=bindparam("service"),
    network=bindparam("lane"),
    since=bindparam("now"),
    until=None,
    **{name: bindparam(name) for name in _TERMS},
)
_REOPEN = (
    update(generations)
    .where(_HERE, _ROW.since == bindparam("now"), *(_ROW[name] == bindparam(f"same_{name}") for name in _TERMS))
    .values(until=None)
)
_KNOWN = select(*(_ROW[name] for name in ("network", *_TERMS, "since", "until"))).where(
    or_(_ROW.until.is_(None), _ROW.until >= bindparam("least"))
)


class Generations:
    """The terms of each service and lane over time."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._read: tuple[Sequence[Row], tuple[Generation, ...]] = ((), ())

    async def put_in_force(self, terms: Mapping[str, tuple[Terms, ...]], *, now: int) -> None:
        """Make `terms` (by service) the ones in force, closing those they replace."""
        for service_id, lanes in terms.items():
            for one in lanes:
                await self._put(service_id, one, now)

    async def _put(self, service_id: str, terms: Terms, now: int) -> None:
        here = {"service": service_id, "lane": terms.network}
        members = {name: getattr(terms, name) for name in _TERMS}
        present = await self._database.rows(_PRESENT, **here)
        if present and tuple(present[0]) == tuple(members.values()):
            return
        await self._database.change(_CLOSE, **here, now=now)
        try:
            await self._database.change(_OPEN, **here, now=now, **members)
        except Taken:
            # The same terms were put in force in this very second already, by us or by another worker.
            same = {f"same_{name}": value for name, value in members.items()}
            await self._database.change(_REOPEN, **here, now=now, **same)

    async def known(self, *, since: int) -> tuple[Generation, ...]:
        """Return every generation that a token issued at `since` or later can be of."""
        rows = await self._database.rows(_KNOWN, least=since)
        read, known = self._read
        if rows != read:  # asked for with each proof, and changed when an operator changes a price
            # Services that ask the same share a generation.
            known = tuple(dict.fromkeys(Generation(Terms(*row[:5]), row[5], row[6]) for row in rows))
            self._read = (rows, known)
        return known
