"""A separate rail (`[limited.rail]`) with the usual limits and its own clock, which one check has for itself.

Its limits may be exhausted and its nodes taken away: no other check depends on it.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace

from conformance.discovery.rail import Operation
from conformance.engine.check import Case
from conformance.surfaces.limited_service import LimitedService, open_limited_service


class LimitedRail(LimitedService):
    """A rail that one check has for itself."""

    @property
    def operations(self) -> list[Operation]:
        """The paid operations of the target, at this rail."""
        return [replace(one, url=self.url + one.path) for one in self._case.session.catalog.operations]


@asynccontextmanager
async def limited_rail(case: Case) -> AsyncIterator[LimitedRail | None]:
    """Yield a rested rail, one check at a time; None, with all rows documented, if the profile has no such table."""
    async with open_limited_service(case, "rail") as table:
        yield None if table is None else LimitedRail(case, table)
