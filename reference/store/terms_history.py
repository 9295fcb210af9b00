"""The history of price terms: which were in force at which time, for all workers and over restarts (P-CH-13).

There are two tables. A row of `terms_in_force` contains the terms that are in force now for one service and lane.
`generations` contains the time in which each terms were in force, by the clock of the worker that changed them. Terms
that came back have several rows.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence

from sqlalchemy import bindparam, case, delete, insert, or_, select, update

from reference.protocol.challenge import GRACE_SECONDS, Generation, Terms
from reference.store.database import Change, Database, DuplicateKey, Row, RowNotFound
from reference.store.rail_tables import TERMS_MEMBERS, generations, terms_in_force

_FRESH_SECONDS = 1.0
_TERMS = tuple(TERMS_MEMBERS)
_ROW, _NOW = generations.c, terms_in_force.c
_IS_OF_LANE = (_ROW.service_id == bindparam("service")) & (_ROW.network == bindparam("lane"))
_IS_IN_FORCE = (_NOW.service_id == bindparam("service")) & (_NOW.network == bindparam("lane"))
_ALL_IN_FORCE = select(_NOW.service_id, _NOW.network, *(_NOW[name] for name in _TERMS))
_IN_FORCE = select(_NOW.place, *(_NOW[name] for name in _TERMS)).where(_IS_IN_FORCE)
_FIRST = insert(terms_in_force).values(
    service_id=bindparam("service"),
    network=bindparam("lane"),
    place=1,
    **{name: bindparam(f"new_{name}") for name in _TERMS},
)
# Compare and set: the row changes only if its counter is the one that was read. The row, not a clock, decides which
# worker changes the terms, as the clocks of workers may differ.
_NEXT = (
    update(terms_in_force)
    .where(_IS_IN_FORCE, _NOW.place == bindparam("seen"))
    .values(place=_NOW.place + 1, **{name: bindparam(f"new_{name}") for name in _TERMS})
)
# The end of terms is never before their beginning, even if the clocks of the workers differ.
_CLOSE = (
    update(generations)
    .where(_IS_OF_LANE, _ROW.until.is_(None))
    .values(until=case((_ROW.since > bindparam("now"), _ROW.since), else_=bindparam("now")))
)
# Terms that were replaced and came back within one second have one row: `since` is part of the key.
_REPLACE = delete(generations).where(
    _IS_OF_LANE, _ROW.since == bindparam("now"), *(_ROW[name] == bindparam(f"new_{name}") for name in _TERMS)
)
_OPEN = insert(generations).values(
    service_id=bindparam("service"),
    network=bindparam("lane"),
    since=bindparam("now"),
    until=None,
    **{name: bindparam(f"new_{name}") for name in _TERMS},
)
_GENERATIONS_SINCE = select(*(_ROW[name] for name in ("network", *_TERMS, "since", "until"))).where(
    or_(_ROW.until.is_(None), _ROW.until >= bindparam("least"))
)


class Generations:
    """The terms of each service and lane over time."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._last_reading: tuple[Sequence[Row], tuple[Generation, ...]] = ((), ())
        self._read_at = -_FRESH_SECONDS
        self._read_since = 0

    async def put_in_force(self, terms: Mapping[str, tuple[Terms, ...]], *, now: int) -> None:
        """Make `terms` (by service) the ones in force, closing those they replace."""
        for service_id, lanes in terms.items():
            for lane_terms in lanes:
                while not await self._try_put(service_id, lane_terms, now):
                    pass  # another worker was faster: its terms are the ones that we replace

    async def _try_put(self, service_id: str, terms: Terms, now: int) -> bool:
        """Put terms in force unless they are already; return False if another worker changed them meanwhile."""
        lane = {"service": service_id, "lane": terms.network}
        members = [getattr(terms, name) for name in _TERMS]
        rows = await self._database.rows(_IN_FORCE, **lane)
        if rows and list(rows[0][1:]) == members:
            return True
        new = lane | {f"new_{name}": value for name, value in zip(_TERMS, members, strict=True)}
        race_change = Change(_NEXT, new | {"seen": rows[0][0]}, is_needed=True) if rows else Change(_FIRST, new)
        end_change = Change(_CLOSE, {**lane, "now": now})
        try:
            await self._database.change_all(
                race_change, end_change, Change(_REPLACE, {**new, "now": now}), Change(_OPEN, {**new, "now": now})
            )
        except (RowNotFound, DuplicateKey):
            return False
        return True

    async def is_superseded(self, terms: Mapping[str, tuple[Terms, ...]]) -> bool:
        """Return whether any of `terms` (by service) was replaced by other terms."""
        rows = await self._database.rows(_ALL_IN_FORCE)
        in_force = {(row[0], row[1]): tuple(row[2:]) for row in rows}
        return any(
            in_force.get((service_id, lane_terms.network)) != tuple(getattr(lane_terms, name) for name in _TERMS)
            for service_id, lanes in terms.items()
            for lane_terms in lanes
        )

    def get_cached(self, *, since: int) -> tuple[Generation, ...]:
        """Return what `load_since` read within the last second, or nothing if it did not read as far back.

        Terms that another worker ended in that second are still in force, by grace. Terms that it began are missing.
        """
        is_new = time.monotonic() - self._read_at < _FRESH_SECONDS
        return self._last_reading[1] if is_new and since >= self._read_since else ()

    async def load_since(self, *, since: int) -> tuple[Generation, ...]:
        """Return every generation that a token issued at `since` or later can belong to."""
        asked_at = time.monotonic()
        rows = await self._database.rows(_GENERATIONS_SINCE, least=since - GRACE_SECONDS)
        self._read_at, self._read_since = asked_at, since
        last_rows, history = self._last_reading
        # Every proof reads the rows, and they change only when an operator changes a price. So the objects are kept.
        if rows != last_rows:
            # Services with the same terms share a generation.
            history = tuple(dict.fromkeys(Generation(Terms(*row[:5]), row[5], row[6]) for row in rows))
            self._last_reading = (rows, history)
        return history
