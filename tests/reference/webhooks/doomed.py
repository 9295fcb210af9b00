"""A worker that dies in an attempt: `python doomed.py DSN NOW WHEN`, WHEN is before or after sending."""

from __future__ import annotations

import asyncio
import os
import signal
import sys

from reference.protocol.service_word import ServiceWord
from reference.protocol.webhook_delivery import DEFAULT_SCHEDULE
from reference.store.deliveries import Deliveries
from reference.store.opening import open_database
from reference.web.clock import WpClock
from reference.web.resolving import AddressCheck
from reference.web.sealing import Seal
from reference.webhooks.connecting import open_session
from reference.webhooks.dispatcher import Dispatcher
from reference.webhooks.sending import Sender, Sent


class Doomed(Sender):
    """Kills its process instead of, or after, sending."""

    async def send(self, url: str, secret: str, body: bytes) -> Sent:
        if sys.argv[3] == "after":
            await super().send(url, secret, body)
        os.kill(os.getpid(), signal.SIGKILL)
        raise AssertionError("still alive")


async def main() -> None:
    """Work until killed."""
    database = open_database(sys.argv[1])
    now = float(sys.argv[2])
    clock, check = WpClock(system=lambda: now), AddressCheck(allow_loopback=True)
    async with open_session(ServiceWord(), check) as session:
        sender = Doomed(session, check, clock, ServiceWord(), seconds=5, with_v2=False)
        await Dispatcher(Deliveries(database), sender, Seal(bytes(32)), clock, DEFAULT_SCHEDULE).run()


if __name__ == "__main__":
    asyncio.run(main())
