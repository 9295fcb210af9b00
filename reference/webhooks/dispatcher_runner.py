"""Runs the dispatcher next to the gateway, on the same outbox."""

from __future__ import annotations

from reference.store.database import Database
from reference.store.deliveries import Deliveries
from reference.web.clock import WpClock
from reference.web.destination_dns import AddressCheck
from reference.web.sealing import Seal
from reference.web.webhook_settings import WebhookSettings
from reference.webhooks.checked_session import open_session
from reference.webhooks.dispatcher import Dispatcher, Pace
from reference.webhooks.sender import Sender

# A claim is taken back this long after its attempt must have ended, so that a slow worker is not taken for a dead one.
_LEASE_BEYOND_TIMEOUT = 5.0
# An event that only another worker knows waits for so long if that worker died. Its own worker sends it at once.
_IDLE_SECONDS = 5.0


async def deliver(settings: WebhookSettings, database: Database, clock: WpClock, seal: Seal) -> None:
    """Deliver the events of the outbox until cancelled."""
    check = AddressCheck(allow_loopback=settings.loopback_webhooks, seconds=settings.webhook_timeout)
    async with open_session(settings.word, check) as session:
        sender = Sender(
            session,
            check,
            clock,
            settings.word,
            seconds=settings.webhook_timeout,
            with_v2=settings.webhook_v2,
        )
        pace = Pace(idle=_IDLE_SECONDS, lease=settings.webhook_timeout + _LEASE_BEYOND_TIMEOUT)
        dispatcher = Dispatcher(Deliveries(database), sender, seal, clock, settings.webhook_schedule, pace)
        await dispatcher.run_until_cancelled()
