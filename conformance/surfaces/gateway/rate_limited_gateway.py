"""A gateway whose limits a check may exhaust, and the time that passes for it.

Best is a separate service (`[limited.gateway]`), whose clock file makes a minute pass at once. Without one the target
itself serves: by its clock file, or by waiting as long as the operator allows.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from typing import Any

from conformance.engine import clock
from conformance.engine.check import Case
from conformance.engine.tenant_credentials import Credentials
from conformance.http.client import Answer, Client
from conformance.http.transport import HttpTransport
from conformance.http.trust import make_context
from conformance.outcome import Inconclusive
from conformance.surfaces.gateway.administration import Administrator, find_administrator
from conformance.target import clock_file

# A window of a minute, and a second for rounding.
REST_SECONDS = 61.0
_CONNECTIONS = 128


class LimitedGateway:
    """A gateway that one check has for itself."""

    def __init__(self, case: Case, client: Client) -> None:
        self._case = case
        self._client = client
        self._own = case.profile.limited.get("gateway")

    @property
    def url(self) -> str:
        """Its address, without a slash at its end."""
        return self._case.session.gateway if self._own is None else self._own.url.rstrip("/")

    @property
    def is_separate(self) -> bool:
        """Whether it is a separate service, whose clock no other check depends on."""
        return self._own is not None

    def tenant(self, name: str) -> Credentials:
        """Return the credentials of one of its tenants.

        Raises:
            Inconclusive: The profile has none of that name.
        """
        credentials: Credentials = self._case.session.tenants.get(name, is_limited=self._own is not None)
        return credentials

    def find_administrator(self) -> Administrator | None:
        """Return an administrator of a separate service; None if the target does not claim tenants, or gives no key."""
        return None if self._own is None else find_administrator(self._case, self.url, self._own.admin_key)

    def lasting_tenant(self) -> Credentials:
        """Return a tenant for whom days may pass: the one that is not on trial, where there are two."""
        try:
            # A day must not pass for the tenant under test, whose limits per day it would
            # reset.
            return self.tenant("second")
        except Inconclusive:
            return self.tenant("first")

    async def call(
        self,
        method: str,
        path: str,
        *,
        json_body: Any = None,
        body: bytes | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> Answer:
        """Send one request at once, and take a 429 for an answer."""
        return await self._client.call(
            method, self.url + path, json_body=json_body, body=body, headers=headers or {}, patient=False
        )

    @property
    def now(self) -> float:
        """Its time in unix seconds, by its clock file when there is one."""
        if self._own is None:
            return clock.now(self._case)
        return time.time() + (clock_file.offset_of(self._own.offset_file) if self._own.offset_file is not None else 0.0)

    async def advance(self, seconds: float) -> None:
        """Let seconds pass for it.

        Raises:
            Inconclusive: There is no clock file, and the wait is longer than the budget allows.
        """
        if self._own is None:
            # Rounded up to whole seconds: a shorter wait could end inside of the window.
            await clock.pass_time(self._case, round(seconds + 0.4999))
        elif self._own.offset_file is not None:
            clock_file.advance(self._own.offset_file, seconds)
        elif seconds <= self._case.profile.budgets.wait_for_expiry:
            await asyncio.sleep(seconds)
        else:
            raise Inconclusive(
                f"needs {seconds:g} s to pass: give [limited.gateway] offset_file, or [budgets] wait_for_expiry of at "
                "least that"
            )

    async def advance_to(self, moment: float) -> None:
        """Let time pass until its clock shows a moment in unix seconds; none where calls took until then.

        Raises:
            Inconclusive: As `advance`.
        """
        seconds = moment - self.now
        if seconds > 0:
            await self.advance(seconds)


@asynccontextmanager
async def limited_gateway(case: Case) -> AsyncIterator[LimitedGateway]:
    """Yield a rested gateway, one check at a time.

    Raises:
        Inconclusive: The target's limits are raised and no other service is named, or a minute cannot pass for it.
    """
    if "gateway" not in case.profile.limited and case.profile.gateway_bindings.limits == "raised":
        raise Inconclusive("the target's rate limits are raised: give [limited.gateway], a service with the usual ones")
    async with AsyncExitStack() as exits:
        # Two checks that use up the same limit would each see the other's calls.
        await exits.enter_async_context(case.session.limits_locks["gateway"])
        client = case.client
        if case.profile.pace.requests_per_second > 0:
            # A limit is met by bursts, which the pace of all other checks would not make.
            seconds = case.profile.budgets.request
            tls = make_context(case.profile.tls)
            transport = HttpTransport(seconds=seconds, requests_per_second=0, connections=_CONNECTIONS, tls=tls)
            client = client.with_transport(await exits.enter_async_context(transport))
        service = LimitedGateway(case, client)
        # Calls of earlier checks may still count in the current window.
        await service.advance(REST_SECONDS)
        yield service
