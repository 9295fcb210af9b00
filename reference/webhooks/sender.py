"""The sender of one attempt: checks the address, signs, posts, reads the status (P-WH-03, P-WH-08, P-WH-09)."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass
from functools import lru_cache

import aiohttp
from multidict import istr
from yarl import URL

from reference.deadlines import Deadlines
from reference.protocol.destination_address import BadDestination
from reference.protocol.service_word import ServiceWord
from reference.protocol.webhook_delivery import Outcome, outcome_of
from reference.protocol.webhook_signature import header_name, header_value
from reference.web.clock import WpClock
from reference.web.destination_dns import AddressCheck
from reference.webhooks.checked_session import AddressRefused

READ_BYTES = 4096


@dataclass(frozen=True, slots=True)
class SendResult:
    """The result of one attempt.

    Attributes:
        outcome: The outcome, as it is stored.
        status: Status of the answer, None without one.
    """

    outcome: Outcome
    status: int | None = None


class Sender:
    """Sends events."""

    def __init__(
        self,
        session: aiohttp.ClientSession,
        check: AddressCheck,
        clock: WpClock,
        word: ServiceWord,
        *,
        seconds: float,
        with_v2: bool,
    ) -> None:
        """Take the parts.

        Args:
            session: Connects to checked addresses only, and has no time-out.
            check: Checks the address before each attempt.
            clock: The clock for the time in the signature.
            word: The service word, for the name of the header.
            seconds: The time limit of an attempt, including the resolution of the name.
            with_v2: Whether v2 is signed too (P-WH-06).
        """
        self._session = session
        self._check = check
        self._clock = clock
        self._header = istr(header_name(word))
        self._v2_word = word if with_v2 else None
        self._deadlines = Deadlines(seconds)

    async def send(self, url: str, secret: str, body: bytes) -> SendResult:
        """Make one attempt. Every fault becomes its outcome, never an exception."""
        statuses: list[int] = []
        try:
            with self._deadlines.start():
                await self._check.check_url(url)
                await self._post(url, secret, body, statuses)
        except BadDestination:
            return SendResult(Outcome.ADDRESS)
        except TimeoutError:
            fault = Outcome.TIMEOUT
        except aiohttp.ClientConnectorDNSError as unresolved:
            fault = Outcome.ADDRESS if isinstance(unresolved.os_error, AddressRefused) else Outcome.CONNECTION
        except (aiohttp.ClientError, OSError, ValueError):
            fault = Outcome.CONNECTION
        # A status counts as the answer, even if the body behind it fails: the receiver has processed the event
        # (P-WH-09).
        return SendResult(outcome_of(statuses[0]), statuses[0]) if statuses else SendResult(fault)

    async def _post(self, url: str, secret: str, body: bytes, statuses: list[int]) -> None:
        # Signed at each attempt with its own time, or a late redelivery would be refused as a replay (P-WH-03).
        signature = header_value(secret, body, t=self._clock.now(), word=self._v2_word)
        async with self._session.post(
            _url(url), data=body, headers={self._header: signature}, allow_redirects=False
        ) as response:
            statuses.append(response.status)
            if not _is_all_there(response):
                with suppress(aiohttp.ClientError):
                    await _drain(response)


@lru_cache(maxsize=1024)
def _url(text: str) -> URL:
    return URL(text, encoded=True)  # as it was configured, quoted no further


def _is_all_there(response: aiohttp.ClientResponse) -> bool:
    """Return whether a short body has arrived completely with its head."""
    return response.content.is_eof() and response.content.total_bytes <= READ_BYTES


async def _drain(response: aiohttp.ClientResponse) -> None:
    """Read up to 4 KiB of a body. A connection with more data is closed, as it cannot be reused."""
    bytes_left = READ_BYTES
    while bytes_left > 0 and not response.content.at_eof():
        bytes_left -= len(await response.content.read(bytes_left))
    if not response.content.at_eof():
        response.close()
