"""Which terms were in force when, common to all workers and kept over restarts (P-CH-13).

There are two tables. A row of `terms_in_force` contains the terms in force now for one service and lane; the row, not a
clock, decides which worker changes it. `generations` contains when each terms were in force, by the clock of the worker
that changed them; terms that came back have several rows.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence

from sqlalchemy import bindparam, case, delete, insert, or_, select, update

from reference.protocol.challenge import GRACE_SECONDS, Generation, Terms
from reference.store.database import Change, Database, Missed, Row, Taken
from reference.store.tables import TERMS_MEMBERS, generations, terms_in_force

_LATELY_SECONDS = 1.0
_TERMS = tuple(TERMS_MEMBERS)
_ROW, _NOW = generations.c, terms_in_force.c
_HERE = (_ROW.service_id == bindparam("service")) & (_ROW.network == bindparam("lane"))
_IN_FORCE_HERE = (_NOW.service_id == bindparam("service")) & (_NOW.network == bindparam("lane"))
_ALL_IN_FORCE = select(_NOW.service_id, _NOW.network, *(_NOW[name] for name in _TERMS))
_IN_FORCE = select(_NOW.place, *(_NOW[name] for name in _TERMS)).where(_IN_FORCE_HERE)
_FIRST = insert(terms_in_force).values(
    service_id=bindparam("service"),
    network=bindparam("lane"),
    place=1,
    **{name: bindparam(f"new_{name}") for name in _TERMS},
)
_NEXT = (
    update(terms_in_force)
    .where(_IN_FORCE_HERE, _NOW.place == bindparam("seen"))
    .values(place=_NOW.place + 1, **{name: bindparam(f"new_{name}") for name in _TERMS})
)
# An end is never before its beginning, even if the clocks of the workers differ.
_CLOSE = (
    update(generations)
    .where(_HERE, _ROW.until.is_(None))
    .values(until=case((_ROW.since > bindparam("now"), _ROW.since), else_=bindparam("now")))
)
# Terms that went and came back within one second have one row.
_REPLACE = delete(generations).where(
    _HERE, _ROW.since == bindparam("now"), *(_ROW[name] == bindparam(f"new_{name}") for name in _TERMS)
)
_OPEN = insert(generations).values(
    service_id=bindparam("service"),
    network=bindparam("lane"),
    since=bindparam("now"),
    until=None,
    **{name: bindparam(f"new_{name}") for name in _TERMS},
)
_KNOWN = select(*(_ROW[name] for name in ("network", *_TERMS, "since", "until"))).where(
    or_(_ROW.until.is_(None), _ROW.until >= bindparam("least"))
)


class Generations:
    """The terms of each service and lane over time."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._read: tuple[Sequence[Row], tuple[Generation, ...]] = ((), ())
        self._read_at = -_LATELY_SECONDS
        self._read_since = 0

    async def put_in_force(self, terms: Mapping[str, tuple[Terms, ...]], *, now: int) -> None:
        """Make `terms` (by service) the ones in force, closing those they replace."""
        for service_id, lanes in terms.items():
            for one in lanes:
                while not await self._put(service_id, one, now):
                    pass  # another worker was faster: what it put in force is what we replace

    async def _put(self, service_id: str, terms: Terms, now: int) -> bool:
        """Put terms in force unless they are; False when another worker changed them meanwhile."""
        here = {"service": service_id, "lane": terms.network}
        members = [getattr(terms, name) for name in _TERMS]
        found = await self._database.rows(_IN_FORCE, **here)
        if found and list(found[0][1:]) == members:
            return True
        new = here | {f"new_{name}": value for name, value in zip(_TERMS, members, strict=True)}
        decides = Change(_NEXT, new | {"seen": found[0][0]}, needed=True) if found else Change(_FIRST, new)
        closed = Change(_CLOSE, {**here, "now": now})
        try:
            await self._database.change_all(
                decides, closed, Change(_REPLACE, {**new, "now": now}), Change(_OPEN, {**new, "now": now})
            )
        except (Missed, Taken):
            return False
        return True

    async def superseded(self, terms: Mapping[str, tuple[Terms, ...]]) -> bool:
        """Return whether others took the place of any of `terms` (by service)."""
        rows = await self._database.rows(_ALL_IN_FORCE)
        in_force = {(row[0], row[1]): tuple(row[2:]) for row in rows}
        return any(
            in_force.get((service_id, one.network)) != tuple(getattr(one, name) for name in _TERMS)
            for service_id, lanes in terms.items()
            for one in lanes
        )

    def lately_known(self, *, since: int) -> tuple[Generation, ...]:
        """Return what `known` found within the last second, nothing where it was not asked as far back.

        What another worker ended in that second is in force still, by grace; what it began is not there.
        """
        is_new = time.monotonic() - self._read_at < _LATELY_SECONDS
        return self._read[1] if is_new and since >= self._read_since else ()

    async def known(self, *, since: int) -> tuple[Generation, ...]:
        """Return every generation that a token issued at `since` or later can be of."""
        asked_at = time.monotonic()
        rows = await self._database.rows(_KNOWN, least=since - GRACE_SECONDS)
        self._read_at, self._read_since = asked_at, since
        read, known = self._read
        if rows != read:  # asked for with each proof, and changed when an operator changes a price
            # Services that ask the same share a generation.
            known = tuple(dict.fromkeys(Generation(Terms(*row[:5]), row[5], row[6]) for row in rows))
            self._read = (rows, known)
        return known
