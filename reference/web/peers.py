"""Whose call it is: the peer, or what a trusted proxy says of it (P-CV-19)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from ipaddress import IPv4Network, IPv6Network, ip_address
from typing import TypeAlias

Networks: TypeAlias = Sequence[IPv4Network | IPv6Network]


def hops(fields: Iterable[str]) -> list[str]:
    """Return the hops of every `X-Forwarded-For` field, the nearest last."""
    return [hop.strip() for value in fields for hop in value.split(",")]


def client_address(peer: str, forwarded: Sequence[str], proxies: Networks) -> str:
    """Return the address that a call is counted under.

    Args:
        peer: Address of the other end of the connection.
        forwarded: Hops that the call names, the nearest last.
        proxies: Networks whose word is believed.
    """
    address = peer
    for hop in reversed(forwarded):
        if not _is_proxy(address, proxies):
            break
        address = hop
    return address


def _is_proxy(address: str, proxies: Networks) -> bool:
    try:
        return any(ip_address(address) in network for network in proxies)
    except ValueError:
        return False
