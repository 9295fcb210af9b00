"""The one HTTP session of the dispatcher: it connects to checked addresses only (P-WH-10, P-CV-21).

A name is looked up for each connection, and the connection is made to the checked addresses, with the name in SNI, in
the check of the certificate and in Host. So a name whose addresses change between check and connection cannot lead to a
private network.
"""

from __future__ import annotations

import socket
import ssl

import aiohttp
from aiohttp.abc import AbstractResolver, ResolveResult

from reference.protocol.destination_address import BadDestination, Target
from reference.protocol.service_word import ServiceWord
from reference.web.destination_dns import AddressCheck

CONNECTIONS = 256
# A receiver may close a kept connection at the moment of the next request, which would cost an attempt. So connections
# are kept only for a moment.
_KEEP_SECONDS = 2.0


class AddressRefused(OSError):
    """The name has an address that no event may be sent to."""


class CheckedResolver(AbstractResolver):
    """Resolves names for aiohttp, provided that all addresses of a name are allowed."""

    def __init__(self, check: AddressCheck) -> None:
        """Take the check of addresses."""
        self._check = check

    async def resolve(
        self, host: str, port: int = 0, family: socket.AddressFamily = socket.AF_UNSPEC
    ) -> list[ResolveResult]:
        """Return the addresses of a host.

        Raises:
            AddressRefused: One of them is refused, or it has none.
        """
        del family  # every address is judged, and the connector tries them in turn
        try:
            addresses = await self._check.check_target(Target("https", host, port))
        except BadDestination as fault:
            raise AddressRefused(str(fault)) from fault
        return [
            ResolveResult(
                hostname=host,
                host=str(address),
                port=port,
                family=socket.AF_INET if address.version == 4 else socket.AF_INET6,
                proto=socket.IPPROTO_TCP,
                flags=socket.AI_NUMERICHOST | socket.AI_NUMERICSERV,
            )
            for address in addresses
        ]

    async def close(self) -> None:
        """Hold nothing."""


def open_session(
    word: ServiceWord, check: AddressCheck, ssl_context: ssl.SSLContext | None = None
) -> aiohttp.ClientSession:
    """Return the session that all attempts share. The caller closes it.

    Args:
        word: The service word, for the User-Agent.
        check: Checks the addresses of names.
        ssl_context: The trusted certificates, None for the authorities of the system.
    """
    connector = aiohttp.TCPConnector(
        resolver=CheckedResolver(check),
        # A cached name would skip the check of its addresses at each attempt (P-WH-10).
        use_dns_cache=False,
        ssl=True if ssl_context is None else ssl_context,
        limit=CONNECTIONS,
        keepalive_timeout=_KEEP_SECONDS,
    )
    return aiohttp.ClientSession(
        connector=connector,
        trust_env=False,
        auto_decompress=False,
        cookie_jar=aiohttp.DummyCookieJar(),
        headers={"User-Agent": f"{word.word}/1", "Content-Type": "application/json"},
        timeout=aiohttp.ClientTimeout(total=None),
    )
