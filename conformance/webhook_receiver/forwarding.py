"""Forwarding of a delivery to another address, byte for byte, and of the answer back to the sender."""

from __future__ import annotations

import secrets
from dataclasses import dataclass
from http import HTTPStatus
from typing import Self

import aiohttp
from multidict import CIMultiDict
from yarl import URL

from conformance.http.transport import read_up_to
from conformance.vocabulary.receiver_defaults import BODY_LIMIT, FORWARD_SECONDS
from conformance.webhook_receiver.raw_receiver import Arrival, Reply

# RFC 9110, 7.6.1: fields between two hops are not forwarded. Host and Content-Length belong to the new request.
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
        reply: The answer for the sender; the forwarder's own if none arrived.
        fault: Why none arrived; None if one did.
    """

    reply: Reply
    fault: str | None = None

    @property
    def is_accepted(self) -> bool:
        """Whether the other side answered with 2xx."""
        return self.fault is None and HTTPStatus(200) <= self.reply.status < HTTPStatus(300)


class Forwarder:
    """Forwards deliveries to one URL between entering and leaving, without proxies and redirects."""

    def __init__(self, url: str, *, seconds: float = FORWARD_SECONDS, limit: int = BODY_LIMIT) -> None:
        self.url = url
        self._limit = limit
        # The forwarder names itself in the field `Via` (RFC 9110, 7.6.3), so that it recognises a
        # delivery that returns to it in a loop.
        self._name = f"weldproof-listen-{secrets.token_hex(6)}"
        self._timeout = aiohttp.ClientTimeout(total=seconds)
        self._seconds = seconds
        self._session: aiohttp.ClientSession | None = None

    async def __aenter__(self) -> Self:
        self._session = aiohttp.ClientSession(
            # The answer is passed back as it came. Proxies of the environment and cookies would
            # change the exchange.
            timeout=self._timeout,
            auto_decompress=False,
            trust_env=False,
            cookie_jar=aiohttp.DummyCookieJar(),
        )
        return self

    async def __aexit__(self, *_: object) -> None:
        if self._session is not None:
            await self._session.close()

    def has_passed(self, arrival: Arrival) -> bool:
        """Return whether an arrival is one that this forwarder sent."""
        return any(self._name in value for value in arrival.values("Via"))

    async def forward(self, arrival: Arrival) -> ForwardOutcome:
        """Forward a delivery and return the outcome; a failure is part of the outcome, and nothing is raised."""
        if self._session is None:
            return _failure(HTTPStatus.BAD_GATEWAY, "the forwarder is closed")
        try:
            async with self._session.request(
                arrival.method,
                URL(self.url, encoded=True),
                headers=self._fields(arrival),
                data=arrival.body,
                allow_redirects=False,
                # aiohttp must not add fields that the sender did not send.
                skip_auto_headers=_AUTOMATIC,
            ) as response:
                # An answer without end must not fill the memory.
                body = await read_up_to(response.content, self._limit)
                if body is None:
                    return _failure(HTTPStatus.BAD_GATEWAY, f"its answer is longer than {self._limit} bytes")
                return ForwardOutcome(Reply(response.status, _end_to_end(response.raw_headers), body))
        except TimeoutError:
            # RFC 9110, 15.6.5: the gateway received no answer in time.
            return _failure(HTTPStatus.GATEWAY_TIMEOUT, f"no answer within {self._seconds:g} s")
        # ValueError: aiohttp refuses fields with bytes that it cannot write.
        except (aiohttp.ClientError, OSError, ValueError) as fault:
            return _failure(HTTPStatus.BAD_GATEWAY, f"{type(fault).__name__}: {fault}")

    def _fields(self, arrival: Arrival) -> CIMultiDict[str]:
        fields = tuple((name.encode("latin-1"), value.encode("latin-1")) for name, value in arrival.headers)
        return CIMultiDict((*_end_to_end(fields), ("Via", f"1.1 {self._name}")))


def _end_to_end(fields: tuple[tuple[bytes, bytes], ...]) -> tuple[tuple[str, str], ...]:
    """Return the end-to-end header fields, in order."""
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
        # aiohttp encodes values as UTF-8 again, so a value in UTF-8 keeps its bytes.
        return value.decode()
    except UnicodeDecodeError:
        return value.decode("latin-1")


def _failure(status: HTTPStatus, why: str) -> ForwardOutcome:
    return ForwardOutcome(Reply(status), why)
