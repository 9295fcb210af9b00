"""Passing a delivery on to another address, byte for byte, and its answer back."""

from __future__ import annotations

import secrets
from dataclasses import dataclass
from http import HTTPStatus
from typing import Self

import aiohttp
from multidict import CIMultiDict
from yarl import URL

from conformance.http.transport import read_up_to
from conformance.vocabulary.webhooks import BODY_LIMIT, FORWARD_SECONDS
from conformance.webhook_receiver.raw_receiver import Arrival, Reply

# RFC 9110 (7.6.1): what is between two hops is not passed on. Host and Content-Length are those of the new request.
_HOP_BY_HOP = frozenset(
    {
        "connection",
        "content-length",
        "expect",
        "host",
        "keep-alive",
        "proxy-authenticate",
        "proxy-authorization",
        "proxy-connection",
        "te",
        "trailer",
        "transfer-encoding",
        "upgrade",
    }
)
_AUTOMATIC = ("Accept", "Accept-Encoding", "Content-Type", "User-Agent")


@dataclass(frozen=True, slots=True)
class ForwardOutcome:
    """The outcome of forwarding.

    Attributes:
        reply: The answer to pass back; one of our own when none came.
        fault: Why none came, None when one did.
    """

    reply: Reply
    fault: str | None = None

    @property
    def is_accepted(self) -> bool:
        """Whether the other side took it, with a 2xx of its own."""
        return self.fault is None and HTTPStatus(200) <= self.reply.status < HTTPStatus(300)


class Forwarder:
    """Sends deliveries on to one URL between entering and leaving; no proxy, no redirect.

    A field `Via` with a name of this forwarder's own goes along (RFC 9110, 7.6.3), by which it knows a delivery that
    comes back to it.
    """

    def __init__(self, url: str, *, seconds: float = FORWARD_SECONDS, limit: int = BODY_LIMIT) -> None:
        self.url = url
        self._limit = limit
        self._name = f"weldproof-listen-{secrets.token_hex(6)}"
        self._timeout = aiohttp.ClientTimeout(total=seconds)
        self._seconds = seconds
        self._session: aiohttp.ClientSession | None = None

    async def __aenter__(self) -> Self:
        self._session = aiohttp.ClientSession(
            timeout=self._timeout, auto_decompress=False, trust_env=False, cookie_jar=aiohttp.DummyCookieJar()
        )
        return self

    async def __aexit__(self, *_: object) -> None:
        if self._session is not None:
            await self._session.close()

    def has_passed(self, arrival: Arrival) -> bool:
        """Return whether an arrival is one that this forwarder sent."""
        return any(self._name in value for value in arrival.values("Via"))

    async def forward(self, arrival: Arrival) -> ForwardOutcome:
        """Send a delivery on and return the answer; what goes wrong is in it, nothing is raised."""
        if self._session is None:
            return _failure(HTTPStatus.BAD_GATEWAY, "the forwarder is closed")
        try:
            async with self._session.request(
                arrival.method,
                URL(self.url, encoded=True),
                headers=self._fields(arrival),
                data=arrival.body,
                allow_redirects=False,
                skip_auto_headers=_AUTOMATIC,
            ) as response:
                body = await read_up_to(response.content, self._limit)
                if body is None:
                    return _failure(HTTPStatus.BAD_GATEWAY, f"its answer is longer than {self._limit} bytes")
                return ForwardOutcome(Reply(response.status, _end_to_end(response.raw_headers), body))
        except TimeoutError:
            return _failure(HTTPStatus.GATEWAY_TIMEOUT, f"no answer within {self._seconds:g} s")
        except (aiohttp.ClientError, OSError, ValueError) as fault:
            return _failure(HTTPStatus.BAD_GATEWAY, f"{type(fault).__name__}: {fault}")

    def _fields(self, arrival: Arrival) -> CIMultiDict[str]:
        fields = tuple((name.encode("latin-1"), value.encode("latin-1")) for name, value in arrival.headers)
        return CIMultiDict((*_end_to_end(fields), ("Via", f"1.1 {self._name}")))


def _end_to_end(fields: tuple[tuple[bytes, bytes], ...]) -> tuple[tuple[str, str], ...]:
    """Return the header fields that are not between two hops, in order; aiohttp writes them as UTF-8 again."""
    connection_names = (
        b",".join(value for name, value in fields if name.lower() == b"connection").decode("latin-1").lower()
    )
    dropped_names = _HOP_BY_HOP | {token.strip() for token in connection_names.split(",")}
    return tuple(
        (name.decode("latin-1"), _text(value))
        for name, value in fields
        if name.decode("latin-1").lower() not in dropped_names
    )


def _text(value: bytes) -> str:
    try:
        return value.decode()
    except UnicodeDecodeError:
        return value.decode("latin-1")


def _failure(status: HTTPStatus, why: str) -> ForwardOutcome:
    return ForwardOutcome(Reply(status), why)
