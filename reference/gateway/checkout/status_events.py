"""Server-sent events: the status of a link, at once and after each change (P-CK-02)."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator
from contextlib import suppress

import orjson

from reference.gateway.checkout.link_announcements import LinkAnnouncements
from reference.gateway.checkout.link_settlement import LinkSettlement, Status
from reference.protocol.link_payment import LinkState
from reference.store.database import DatabaseUnavailable
from reference.store.links import Link
from reference.web.process.shutdown import SHUTDOWN

# A comment from time to time keeps proxies from closing the stream, and shows which clients have gone.
_COMMENT_SECONDS = 15.0
# A browser opens a stream again that has ended, so no stream has to last for ever.
_LONGEST_SECONDS = 600.0
# When a browser that met too many followers asks again.
_COME_BACK = b"retry: 5000\n\n"


async def statuses(
    settlement: LinkSettlement, announcements: LinkAnnouncements, link: Link, *, every: float
) -> AsyncIterator[bytes]:
    """Yield events until the link has ended. The link is read every so many seconds, and when it is announced.

    If the link has too many followers, the stream ends after the first event, and the browser asks again later. The
    stream also ends if the database is unavailable or the gateway shuts down.
    """
    # Only changes are sent. The first status is always new, so that a page that reconnects is up to date.
    last: Status | None = None
    opened_at = sent_at = time.monotonic()
    with suppress(DatabaseUnavailable), announcements.follow(link.id) as event, SHUTDOWN.wake(event):
        if announcements.is_crowded(link.id):
            yield _status_event(await settlement.status(link)) + _COME_BACK
            return
        while time.monotonic() - opened_at < _LONGEST_SECONDS:
            # Cleared before the link is read: an announcement during the read then leads to another read.
            event.clear()
            status = await settlement.status(link)
            if status != last:
                yield _status_event(status)
                last, sent_at = status, time.monotonic()
            elif time.monotonic() - sent_at > _COMMENT_SECONDS:
                yield b": still here\n\n"
                sent_at = time.monotonic()
            if status.state is not LinkState.ACTIVE or SHUTDOWN.is_signalled:
                return
            with suppress(TimeoutError):
                async with asyncio.timeout(every):
                    await event.wait()


def _status_event(status: Status) -> bytes:
    return b"event: status\ndata: " + orjson.dumps(status.members()) + b"\n\n"
