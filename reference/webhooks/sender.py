"""One attempt: check the address, sign, post, look at the status (P-WH-03, P-WH-08, P-WH-09)."""

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
    """What came of sending.

    Attributes:
        outcome: As it is told.
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
        """Take what sends.

        Args:
            session: Connects to checked addresses only, and has no time-out of its own.
            check: Judges the address before each attempt.
            clock: Tells the time that is signed.
            word: Names the header.
            seconds: How long an attempt may take, looking up the name included.
            with_v2: Whether v2 is signed too (P-WH-06).
        """
        self._session = session
        self._check = check
        self._clock = clock
        self._header = istr(header_name(word))
        self._v2_word = word if with_v2 else None
        self._deadlines = Deadlines(seconds)

    async def send(self, url: str, secret: str, body: bytes) -> SendResult:
        """Make one attempt; whatever goes wrong is its outcome, never an exception."""
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
        # A status is an answer, whatever becomes of the body behind it.
        return SendResult(outcome_of(statuses[0]), statuses[0]) if statuses else SendResult(fault)

    async def _post(self, url: str, secret: str, body: bytes, statuses: list[int]) -> None:
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
    """Whether a short body came with its head: then nothing is left to read."""
    return response.content.is_eof() and response.content.total_bytes <= READ_BYTES


async def _drain(response: aiohttp.ClientResponse) -> None:
    """Read up to 4 KiB of a body; a connection with more on it is closed."""
    bytes_left = READ_BYTES
    while bytes_left > 0 and not response.content.at_eof():
        bytes_left -= len(await response.content.read(bytes_left))
    if not response.content.at_eof():
        response.close()
