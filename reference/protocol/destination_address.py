"""Webhook destinations: the form of their addresses, and the IP addresses that are refused (P-WH-10).

A tenant chooses the address, and the service sends requests to it. Without these rules a tenant could reach hosts
inside the operator's network (server-side request forgery).
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address, ip_network
from typing import Literal

MAX_URL = 2048
MAX_HOST = 253
_LABEL = r"[A-Za-z0-9]([A-Za-z0-9-]{0,61}[A-Za-z0-9])?"
_PORT = r"(:(6553[0-5]|655[0-2][0-9]|65[0-4][0-9]{2}|6[0-4][0-9]{3}|[1-5][0-9]{4}|[1-9][0-9]{0,3}))?"
_PATH_AND_QUERY = r"([/?][A-Za-z0-9._~!$&'()*+,;=:@/?%-]*)?"
# One strict pattern and no general URL parser: two parsers that read one address differently are how a check is evaded.
# The pattern allows no credentials, no zone of an interface and no fragment, and names in ASCII only.
URL_FORM = rf"https?://({_LABEL}(\.{_LABEL})*|\[[0-9A-Fa-f:.]+\]){_PORT}{_PATH_AND_QUERY}"
_URL = re.compile(URL_FORM)
_AUTHORITY = re.compile(r"https?://(\[[^]]*\]|[^:/?]+)(?::([0-9]+))?")
_PORTS = {"http": 80, "https": 443}

Address = IPv4Address | IPv6Address
Network = IPv4Network | IPv6Network
LOOPBACK: tuple[Network, ...] = (ip_network("127.0.0.0/8"), ip_network("::1/128"))
# The refused networks with their reasons, from the special-purpose registries of IANA. The first network that contains
# an address names the reason. The IPv6 forms that embed an IPv4 address are refused as well, because a translator would
# forward them to a private IPv4 host.
REFUSED_NETWORKS: tuple[tuple[str, str], ...] = (
    ("0.0.0.0/8", "unspecified"),
    ("10.0.0.0/8", "private"),
    ("100.64.0.0/10", "carrier-grade NAT"),
    ("127.0.0.0/8", "loopback"),
    ("169.254.0.0/16", "link-local"),
    ("172.16.0.0/12", "private"),
    ("192.0.0.0/24", "reserved for protocols"),
    ("192.0.2.0/24", "documentation"),
    ("192.31.196.0/24", "AS112"),
    ("192.52.193.0/24", "automatic multicast tunnels"),
    ("192.88.99.0/24", "6to4 relays"),
    ("192.168.0.0/16", "private"),
    ("192.175.48.0/24", "AS112"),
    ("198.18.0.0/15", "benchmarks"),
    ("198.51.100.0/24", "documentation"),
    ("203.0.113.0/24", "documentation"),
    ("224.0.0.0/4", "multicast"),
    ("255.255.255.255/32", "broadcast"),
    ("240.0.0.0/4", "reserved"),
    ("::/128", "unspecified"),
    ("::1/128", "loopback"),
    ("::ffff:0:0/96", "IPv4-mapped"),
    ("::/96", "IPv4-compatible"),
    ("64:ff9b::/96", "NAT64"),
    ("64:ff9b:1::/48", "NAT64"),
    ("100::/64", "discard-only"),
    ("2001::/32", "Teredo"),
    ("2001::/23", "reserved for protocols"),
    ("2001:db8::/32", "documentation"),
    ("2002::/16", "6to4"),
    ("3fff::/20", "documentation"),
    ("fc00::/7", "private"),
    ("fe80::/10", "link-local"),
    ("fec0::/10", "site-local"),
    ("ff00::/8", "multicast"),
)
_PARSED_REFUSED_NETWORKS: tuple[tuple[Network, str], ...] = tuple(
    (ip_network(net), why) for net, why in REFUSED_NETWORKS
)
# The only IPv6 block from which public addresses are assigned. All others are refused without being listed.
_GLOBAL_UNICAST = ip_network("2000::/3")


class BadDestination(ValueError):
    """An address that no event may be sent to; the text says why."""


class Unresolved(BadDestination):
    """A name that has no address now."""


@dataclass(frozen=True, slots=True)
class Target:
    """What a destination's address says.

    Attributes:
        scheme: `https`, or `http` where that is allowed.
        host: A name, or an IP address without brackets.
        port: Its port; if it names none, the default of the scheme.
        literal: The IP address that the host is, None when it is a name.
    """

    scheme: Literal["http", "https"]
    host: str
    port: int
    literal: Address | None = None


@lru_cache(maxsize=1024)
def target_of(url: str, *, allow_loopback: bool) -> Target:
    """Return the host and port of a destination's address.

    Args:
        url: The address.
        allow_loopback: Whether `http` is allowed too (test mode).

    Raises:
        BadDestination: It does not have the form of a destination.
    """
    match = _URL.fullmatch(url) if len(url) <= MAX_URL else None
    if match is None:
        raise BadDestination("give an absolute https address, without credentials and fragment")
    scheme: Literal["http", "https"] = "http" if url.startswith("http:") else "https"
    if scheme == "http" and not allow_loopback:
        raise BadDestination("give an https address")
    authority = _AUTHORITY.match(url)
    host, port = (authority[1].lower(), authority[2]) if authority is not None else ("", None)
    literal = literal_of(host.strip("[]"))
    # A host in brackets must be an IPv6 address. Clients differ in what they do with anything else.
    if len(host) > MAX_HOST or (host.startswith("[") and not isinstance(literal, IPv6Address)):
        raise BadDestination("the host is neither a name nor an IP address")
    return Target(scheme, host.strip("[]"), int(port) if port else _PORTS[scheme], literal)


@lru_cache(maxsize=1024)
def refusal(address: Address, *, allow_loopback: bool, allowed_networks: tuple[Network, ...] = ()) -> str | None:
    """Return why an IP address is refused, None when it may be called.

    Args:
        address: An address that a destination's host has.
        allow_loopback: Whether loopback is allowed (test mode).
        allowed_networks: Further networks that are allowed.
    """
    if any(address in network for network in (*(LOOPBACK if allow_loopback else ()), *allowed_networks)):
        return None
    for network, why in _PARSED_REFUSED_NETWORKS:
        if address in network:
            return why
    if isinstance(address, IPv6Address) and (address not in _GLOBAL_UNICAST or address.scope_id is not None):
        return "not global"
    return None


def judge(addresses: Sequence[Address], *, allow_loopback: bool, allowed_networks: tuple[Network, ...] = ()) -> None:
    """Check that all addresses of a host are public or allowed.

    Raises:
        BadDestination: The host has no address, or one of them is refused.
    """
    if not addresses:
        raise Unresolved("the host has no address")
    # One private address among public ones is enough to refuse. A client could pick any of them when it connects.
    for address in addresses:
        why = refusal(address, allow_loopback=allow_loopback, allowed_networks=allowed_networks)
        if why is not None:
            raise BadDestination(f"the host has an address that is not public ({why})")


def literal_of(host: str) -> Address | None:
    """Return the IP address that a host is, without brackets; None when it is a name."""
    try:
        return ip_address(host)
    except ValueError:
        return None
