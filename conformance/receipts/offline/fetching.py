"""HTTP download of one document: no redirect, no proxy, bounded size and time, https except on this machine."""

from __future__ import annotations

import http.client
import ssl
from threading import Thread
from typing import Final
from urllib.parse import urlsplit

from conformance.receipts.offline.did_web import is_here

# Bytes; key documents have a few kilobytes.
LARGEST: Final = 256 * 1024
SECONDS: Final = 10.0


class NotFetched(Exception):
    """The document could not be fetched; the text contains the reason."""


class AddressRefused(NotFetched):
    """The address is not permitted."""


def fetch_document(url: str, *, seconds: float = SECONDS) -> bytes:
    """Return the body of a 200 answer.

    Args:
        url: https, or http on this machine.
        seconds: Longest total duration, including the look-up of the name.

    Raises:
        AddressRefused: The address is not permitted.
        NotFetched: The answer was not 200, or exceeded a limit.
    """
    connection, target = _connection(url, seconds)
    outcome: list[bytes | Exception] = []

    def fetch() -> None:
        try:
            outcome.append(_body(connection, target, url))
        except (NotFetched, OSError, http.client.HTTPException, ValueError) as fault:
            outcome.append(fault)

    # A socket's time-out limits a single step, and none limits the look-up of a name. So a thread is abandoned instead.
    thread = Thread(target=fetch, daemon=True)
    thread.start()
    thread.join(seconds)
    if not outcome or isinstance(outcome[0], TimeoutError):
        raise NotFetched(f"{url} could not be read within {seconds:g} seconds")
    if isinstance(outcome[0], NotFetched):
        raise outcome[0]
    if isinstance(outcome[0], Exception):
        raise NotFetched(f"{url} could not be read: {_reason(outcome[0])}") from outcome[0]
    return outcome[0]


def _connection(url: str, seconds: float) -> tuple[http.client.HTTPConnection, str]:
    try:
        parts = urlsplit(url)
        host, port = parts.hostname or "", parts.port
    except ValueError as fault:
        raise AddressRefused(f"{url} is not an address: {fault}") from fault
    if parts.username is not None or not host or parts.scheme not in {"http", "https"}:
        raise AddressRefused(f"{url} does not have the form https://HOST/PATH")
    if not url.isascii() or not url.isprintable() or " " in url:
        raise AddressRefused("an address is printable ASCII without spaces")
    target = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
    if parts.scheme == "https":
        # The certificates of the machine; no option disables them, because the key's trust rests on
        # them.
        context = ssl.create_default_context()
        return http.client.HTTPSConnection(host, port, timeout=seconds, context=context), target
    if not is_here(host):
        raise AddressRefused(f"{url} is not on this machine: keys are fetched by https only")
    return http.client.HTTPConnection(host, port, timeout=seconds), target


def _body(connection: http.client.HTTPConnection, target: str, url: str) -> bytes:
    try:
        connection.request("GET", target, headers={"Accept": "application/json", "User-Agent": "weldproof"})
        answer = connection.getresponse()
        if 300 <= answer.status < 400:
            # A redirect could lead to another host, which then would choose the key.
            raise NotFetched(f"{url} redirects, and redirects are not followed")
        if answer.status != 200:
            raise NotFetched(f"{url} answered {answer.status}")
        body = answer.read(LARGEST + 1)
        if len(body) > LARGEST:
            raise NotFetched(f"{url} answered with more than {LARGEST} bytes")
        # `length` is the rest that the server announced and did not send.
        if answer.length:
            raise NotFetched(f"{url} broke off after {len(body)} bytes")
        return body
    finally:
        connection.close()


def _reason(fault: Exception) -> str:
    return getattr(fault, "strerror", None) or str(fault) or type(fault).__name__
