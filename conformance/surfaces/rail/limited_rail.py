"""A separate rail (`[limited.rail]`) with the usual limits and its own clock, which one check has for itself.

Its limits may be exhausted and its nodes taken away: no other check depends on it.
"""

from __future__ import annotations

import time
from collections.abc import AsyncIterator, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import replace
from typing import Any, Final

from conformance.discovery.rail import Operation
from conformance.engine.check import Case
from conformance.http.client import Answer
from conformance.target import LimitedService, clock_file

# A window of a minute, and a second for rounding.
REST_SECONDS: Final = 61


class LimitedRail:
    """A rail that one check has for itself."""

    def __init__(self, case: Case, service: LimitedService) -> None:
        self._case = case
        self._service = service

    @property
    def url(self) -> str:
        """Its address, without a slash at its end."""
        return self._service.url.rstrip("/")

    @property
    def operations(self) -> list[Operation]:
        """The paid operations of the target, at this rail."""
        return [replace(one, url=self.url + one.path) for one in self._case.session.catalog.operations]

    @property
    def offset(self) -> float:
        """The seconds by which its clock is ahead of this machine's."""
        return 0.0 if self._service.offset_file is None else clock_file.offset_of(self._service.offset_file)

    @property
    def now(self) -> float:
        """Its time in unix seconds."""
        return time.time() + self.offset

    @property
    def has_clock(self) -> bool:
        """Whether its clock can be moved."""
        return self._service.offset_file is not None

    def advance(self, seconds: float) -> None:
        """Let seconds pass for it, by its clock file; without one nothing passes."""
        if self._service.offset_file is not None:
            clock_file.advance(self._service.offset_file, seconds)

    async def call(
        self, method: str, path: str, *, json_body: Any = None, headers: Mapping[str, str] | None = None
    ) -> Answer:
        """Send one request at once, and take a 429 for an answer."""
        return await self._case.client.call(
            method, self.url + path, json_body=json_body, headers=headers or {}, patient=False
        )


@asynccontextmanager
async def limited_rail(case: Case) -> AsyncIterator[LimitedRail | None]:
    """Yield a rested rail, one check at a time; None, with all rows documented, if the profile names none."""
    service = case.profile.limited.get("rail")
    if service is None or service.offset_file is None:
        for row in case.check.rows:
            case.mark_documented(row, "give [limited.rail] with url and offset_file: a second rail with usual limits")
        yield None
        return
    async with AsyncExitStack() as exits:
        # Two checks that use up the same limit would each see the other's calls.
        await exits.enter_async_context(case.session.limits_lock)
        rail = LimitedRail(case, service)
        # Calls of earlier checks may still count in the current window.
        rail.advance(REST_SECONDS)
        yield rail
