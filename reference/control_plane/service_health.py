"""Service health: GET /v1/posture asks every registered service at the same time (7.3)."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from reference.control_plane.call_context import Call
from reference.control_plane.health_client import HealthResult
from reference.protocol.service_record import health_address
from reference.protocol.time_text import utc_text
from reference.store.services import Service, Services
from reference.web.clock import WpClock
from reference.web.http.detail_error_replies import json_reply
from reference.web.http.exchange import Reply

SHARED_SECONDS = 1.0
# Less than the three seconds of 7.3, with time left to write the answer.
WHOLE_SECONDS = 2.7
# Bounds the open connections; further services wait for a place within the same time.
AT_ONCE = 512
_LATE = HealthResult(None, None, "timeout")


@dataclass(frozen=True, slots=True)
class HealthReading:
    """A health result and its time in Unix seconds."""

    finding: HealthResult
    at: int


class HealthBoard:
    """Health readings by address. Callers within one second, or while an address is asked, share one reading."""

    def __init__(self, ask: Callable[[str], Awaitable[HealthResult]], clock: WpClock) -> None:
        self._ask = ask
        self._clock = clock
        self._gate = asyncio.Semaphore(AT_ONCE)
        self._running: dict[str, asyncio.Task[HealthReading]] = {}
        self._fresh: dict[str, tuple[float, HealthReading]] = {}

    async def look(self, addresses: Sequence[str]) -> Mapping[str, HealthReading]:
        """Return what each address answers, within the time that a whole answer may take."""
        now = time.monotonic()
        # Shared for a second, so that callers of the free posture cannot make the control plane flood the services.
        self._fresh = {one: told for one, told in self._fresh.items() if now - told[0] < SHARED_SECONDS}
        addresses_once = dict.fromkeys(addresses)
        readings = {one: self._fresh[one][1] for one in addresses_once if one in self._fresh}
        tasks = {one: self._start_task(one) for one in addresses_once if one not in readings}
        if tasks:
            await asyncio.wait(tasks.values(), timeout=WHOLE_SECONDS)
        # A service that did not answer in time is reported as late; its question goes on for the next caller.
        late = HealthReading(_LATE, self._clock.now())
        return readings | {one: task.result() if task.done() else late for one, task in tasks.items()}

    async def close(self) -> None:
        """Cancel unfinished questions."""
        tasks = list(self._running.values())
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    def _start_task(self, address: str) -> asyncio.Task[HealthReading]:
        task = self._running.get(address)
        if task is None:
            task = self._running[address] = asyncio.create_task(self._read_health(address))
        return task

    async def _read_health(self, address: str) -> HealthReading:
        try:
            async with self._gate:
                reading = HealthReading(await self._ask(address), self._clock.now())
            self._fresh[address] = time.monotonic(), reading
            return reading
        finally:
            del self._running[address]


class Posture:
    """Reports the health of the registered services."""

    def __init__(self, services: Services, board: HealthBoard, clock: WpClock) -> None:
        self._services = services
        self._board = board
        self._clock = clock

    async def show(self, call: Call) -> Reply:
        """Answer GET /v1/posture."""
        services = await self._services.list_all()
        issuers, _ = await self._services.counts()
        readings = await self._board.look([_address_of(one) for one in services])
        # The posture is free to read; where services are is for the administrator alone.
        entries = [_describe_service(one, readings[_address_of(one)], with_address=call.is_admin) for one in services]
        healthy = sum(one["healthy"] for one in entries)
        document = {
            "status": "empty" if not entries else "ok" if healthy == len(entries) else "degraded",
            "checked_at": utc_text(self._clock.now()),
            "services": entries,
            "summary": {"total": len(entries), "healthy": healthy, "unhealthy": len(entries) - healthy},
            "issuers": issuers,
        }
        return json_reply(document, headers={"Cache-Control": "no-store"})


def _address_of(service: Service) -> str:
    return health_address(service.base_url, service.health_path)


def _describe_service(service: Service, reading: HealthReading, *, with_address: bool) -> dict[str, Any]:
    return {
        "name": service.name,
        "type": service.type,
        **({"base_url": service.base_url} if with_address else {}),
        "health_path": service.health_path,
        "healthy": reading.finding.error is None,
        "status_code": reading.finding.status,
        "latency_ms": reading.finding.latency_ms,
        "error": reading.finding.error,
        "checked_at": utc_text(reading.at),
    }
