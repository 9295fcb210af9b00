"""DNS lookup of webhook destinations, and the check of every address that a host has (P-WH-10)."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Awaitable, Callable, Sequence
from ipaddress import ip_address

from reference.protocol.destination_address import (
    Address,
    Network,
    Target,
    Unresolved,
    judge,
    target_of,
)

# Returns the addresses of a name at a port, as texts.
Lookup = Callable[[str, int], Awaitable[Sequence[str]]]
_SECONDS = 5.0


async def look_up_host(host: str, port: int) -> Sequence[str]:
    """Return the addresses of a host by the system's resolver.

    Raises:
        OSError: The host has no address.
    """
    loop = asyncio.get_running_loop()
    records = await loop.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    return list(dict.fromkeys(str(one[4][0]) for one in records))


class AddressCheck:
    """Checks the addresses of a destination, with a new lookup each time."""

    def __init__(
        self,
        *,
        allow_loopback: bool,
        allowed_networks: tuple[Network, ...] = (),
        lookup: Lookup = look_up_host,
        seconds: float = _SECONDS,
    ) -> None:
        """Take the rules.

        Args:
            allow_loopback: Whether http and loopback are allowed (test mode).
            allowed_networks: Networks that are allowed although they are not public.
            lookup: Asks for the addresses of a name.
            seconds: How long a lookup may take.
        """
        self._allow_loopback = allow_loopback
        self._allowed_networks = allowed_networks
        self._lookup = lookup
        self._seconds = seconds

    async def check_url(self, url: str) -> Sequence[Address]:
        """Return the addresses of a destination.

        Raises:
            BadDestination: Its form or one of its addresses is refused, or it has no address.
        """
        return await self.check_target(target_of(url, allow_loopback=self._allow_loopback))

    async def check_target(self, target: Target) -> Sequence[Address]:
        """Return the addresses of a host.

        Raises:
            BadDestination: An address is refused, or the host has no address.
        """
        literal = target.literal
        addresses = await self._look_up(target.host, target.port) if literal is None else [literal]
        # Every address is judged, since the connection may use any of them. The caller connects to what was judged, so
        # a name that changes in between changes nothing.
        judge(addresses, allow_loopback=self._allow_loopback, allowed_networks=self._allowed_networks)
        return addresses

    async def _look_up(self, host: str, port: int) -> list[Address]:
        try:
            # A name server under the control of a tenant could delay the answer without end.
            async with asyncio.timeout(self._seconds):
                return [ip_address(text) for text in await self._lookup(host, port)]
        except (OSError, TimeoutError, UnicodeError, ValueError) as fault:
            raise Unresolved("the host cannot be looked up") from fault
