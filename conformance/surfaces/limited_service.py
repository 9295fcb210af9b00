"""A separate service (`[limited.SURFACE]`) with the usual limits and its own clock, which one check has for itself."""

from __future__ import annotations

import time
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from typing import Any, Final

from conformance.engine.check import Case
from conformance.http.client import Answer
from conformance.target import clock_file
from conformance.target.profile import LimitedService as LimitedTable

# A window of a minute, and a second for rounding.
REST_SECONDS: Final = 61


class LimitedService:
    """A service that one check has for itself."""

    def __init__(self, case: Case, table: LimitedTable) -> None:
        self._case = case
        self._table = table

    @property
    def url(self) -> str:
        """Its address, without a slash at its end."""
        return self._table.url.rstrip("/")

    @property
    def offset(self) -> float:
        """The seconds by which its clock is ahead of this machine's."""
        return 0.0 if self._table.offset_file is None else clock_file.offset_of(self._table.offset_file)

    @property
    def now(self) -> float:
        """Its time in unix seconds."""
        return time.time() + self.offset

    @property
    def has_clock(self) -> bool:
        """Whether its clock can be moved."""
        return self._table.offset_file is not None

    def advance(self, seconds: float) -> None:
        """Let seconds pass for it, by its clock file; without one nothing passes."""
        if self._table.offset_file is not None:
            clock_file.advance(self._table.offset_file, seconds)

    async def call(
        self, method: str, path: str, *, json_body: Any = None, headers: Mapping[str, str] | None = None
    ) -> Answer:
        """Send one request at once, and take a 429 for an answer."""
        return await self._case.client.call(
            method, self.url + path, json_body=json_body, headers=headers or {}, patient=False
        )


@asynccontextmanager
async def open_limited_service(case: Case, surface: str) -> AsyncIterator[LimitedTable | None]:
    """Yield the table of a rested service, one check at a time; None, with all rows documented, without one."""
    table = case.profile.limited.get(surface)
    if table is None or table.offset_file is None:
        reason = f"give [limited.{surface}] with url and offset_file: a second {surface} with usual limits"
        for row in case.check.rows:
            case.mark_documented(row, reason)
        yield None
        return
    # Two checks that use up the same limit would each see the other's calls.
    async with case.session.limits_locks[surface]:
        # Calls of earlier checks may still count in the current window.
        clock_file.advance(table.offset_file, REST_SECONDS)
        yield table
