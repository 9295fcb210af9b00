"""The client of a call: the peer, or the address that a trusted proxy reports (P-CV-19).

A client with one IPv6 address has a whole network of them: a private line or a hosted machine gets a /64, and a /48 on
request. So calls are counted by the /64, and with a larger allowance by the /48.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from ipaddress import IPv4Network, IPv6Address, IPv6Network, ip_address
from typing import TypeAlias

Networks: TypeAlias = Sequence[IPv4Network | IPv6Network]


def read_hops(fields: Iterable[str]) -> list[str]:
    """Return the hops of every `X-Forwarded-For` field, the nearest last."""
    return [hop.strip() for value in fields for hop in value.split(",")]


def client_address(peer: str, forwarded_hops: Sequence[str], proxies: Networks) -> str:
    """Return the address under which a call is counted: IPv4, the /64 of IPv6, else the name of the hop.

    Args:
        peer: Address of the other end of the connection.
        forwarded_hops: Hops that the call names, the nearest last.
        proxies: Networks whose word is believed.
    """
    address = peer
    # From the nearest hop on: only hops that trusted proxies have written are believed, so a client cannot choose its
    # address.
    for hop in reversed(forwarded_hops):
        if not is_proxy(address, proxies):
            break
        address = hop
    return _count_as(address)


def wider_network(address: str) -> str | None:
    """Return the /48 that contains a /64 of `client_address`, None for everything else."""
    if not address.endswith("/64"):
        return None
    return str(IPv6Network(address).supernet(new_prefix=48))


def _count_as(address: str) -> str:
    if ":" not in address:
        return address
    try:
        ip = IPv6Address(address.partition("%")[0])
    except ValueError:
        return address
    # The same client over a dual-stack socket must count as one.
    if ip.ipv4_mapped is not None:
        return str(ip.ipv4_mapped)
    # The lower 64 bits are the client's own choice, so they do not distinguish clients.
    return f"{IPv6Address(int(ip) >> 64 << 64)}/64"


def is_proxy(address: str, proxies: Networks) -> bool:
    """Return whether an address is one of these proxies'."""
    try:
        return any(ip_address(address) in network for network in proxies)
    except ValueError:
        return False
