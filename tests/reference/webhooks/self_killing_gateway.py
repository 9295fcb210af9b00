"""A worker that dies in its work: `python self_killing_gateway.py DSN NOW WHEN`.

WHEN is `before` or `after` sending; `claimed`: when its claims are on the disk and nothing is sent; `noting` or
`noted`: before or after what came of its attempts is on the disk.
"""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from typing import Any, NoReturn

from reference.protocol.service_word import ServiceWord
from reference.protocol.webhook_delivery import DEFAULT_SCHEDULE
from reference.store.database_url import open_database
from reference.store.deliveries import ClaimedAttempt, Deliveries
from reference.web.clock import WpClock
from reference.web.destination_dns import AddressCheck
from reference.web.sealing import Seal
from reference.webhooks.checked_session import open_session
from reference.webhooks.dispatcher import Dispatcher
from reference.webhooks.sender import Sender, SendResult

WHEN = sys.argv[3]


class Doomed(Sender):
    """Kills its process instead of, or after, sending."""

    async def send(self, url: str, secret: str, body: bytes) -> SendResult:
        if WHEN == "before":
            die()
        sent = await super().send(url, secret, body)
        if WHEN == "after":
            die()
        return sent


class DoomedOutbox(Deliveries):
    """Kills its process around the transactions of several attempts."""

    async def claim(self, destination_id: str, *, now_ms: int, most: int) -> list[ClaimedAttempt]:
        claim = await super().claim(destination_id, now_ms=now_ms, most=most)
        if WHEN == "claimed":
            die()
        return claim

    async def finish(self, *told: Any, **after: Any) -> None:
        if WHEN == "noting":
            die()
        await super().finish(*told, **after)
        if WHEN == "noted":
            die()


def die() -> NoReturn:
    """End as by a power cut."""
    os.kill(os.getpid(), signal.SIGKILL)
    raise AssertionError("still alive")


async def main() -> None:
    """Work until killed."""
    database = open_database(sys.argv[1])
    now = float(sys.argv[2])
    clock, check = WpClock(wall_clock=lambda: now), AddressCheck(allow_loopback=True)
    async with open_session(ServiceWord(), check) as session:
        sender = Doomed(session, check, clock, ServiceWord(), seconds=5, with_v2=False)
        await Dispatcher(DoomedOutbox(database), sender, Seal(bytes(32)), clock, DEFAULT_SCHEDULE).run_until_cancelled()


if __name__ == "__main__":
    asyncio.run(main())
