"""Return addresses: where the checkout page may send payers, by form and by the tenant's registered shop."""

from __future__ import annotations

import re
import socket
from collections.abc import Iterable
from ipaddress import IPv4Address
from urllib.parse import urlsplit

from reference.protocol.destination_address import refusal

MAX_REDIRECT = 2048
_PORT = r"(:(6553[0-5]|655[0-2][0-9]|65[0-4][0-9]{2}|6[0-4][0-9]{3}|[1-5][0-9]{4}|[0-9]{1,4}))?"
_TAIL = r"([/?#][A-Za-z0-9._~!$&'()*+,;=:@/?#%-]*)?"
_HTTPS = re.compile(rf"https://[A-Za-z0-9-]+(\.[A-Za-z0-9-]+)*{_PORT}{_TAIL}")
_LOOPBACK = re.compile(rf"http://(localhost|127\.0\.0\.1|\[::1\]){_PORT}{_TAIL}")
_HOST_OF = re.compile(r"https://([^:/?#]+)")
# A browser treats a host whose last label has one of these forms as an IPv4 address.
_NUMBER = re.compile(r"0x[0-9a-f]*|[0-9]+")
_PRIVATE_SUFFIXES = (".localhost", ".localdomain", ".local", ".internal", ".home.arpa")
_DEFAULT_PORTS = {"https": 443, "http": 80}


def is_redirect(url: str, *, loopback: bool) -> bool:
    """Return whether a payer may be sent to an address: https, or http on loopback where that is allowed."""
    if loopback:
        return _HTTPS.fullmatch(url) is not None or _LOOPBACK.fullmatch(url) is not None
    # An address of a private network would send the payer's browser to a device in the payer's own network. Names are
    # not resolved: they may have other addresses at the payer's place than here.
    return _HTTPS.fullmatch(url) is not None and not _is_private_host(url)


def is_at_shop(url: str, addresses: Iterable[str]) -> bool:
    """Return whether an address has the origin (scheme, host, port) of one of a shop's addresses.

    Args:
        url: An address that `is_redirect` allows.
        addresses: Others.
    """
    return _origin(url) in {_origin(one) for one in addresses}


def host_of(url: str) -> str:
    """Return the host of an address, with its port if it names one, for people."""
    # The port is shown too, because another port of the same host is another origin.
    return urlsplit(url).netloc.lower()


def _origin(url: str) -> tuple[str, str | None, int]:
    parts = urlsplit(url)
    return parts.scheme, parts.hostname, _DEFAULT_PORTS[parts.scheme] if parts.port is None else parts.port


def _is_private_host(url: str) -> bool:
    """Return whether an https address of the form above names a host of no public network."""
    host = _HOST_OF.match(url)
    name = host[1].lower() if host is not None else ""
    if _NUMBER.fullmatch(name.rpartition(".")[2]) is None:
        return "." not in name or name.endswith(_PRIVATE_SUFFIXES)
    try:
        # In any of its old spellings, such as 127.1 and 0x7f000001.
        literal = IPv4Address(socket.inet_aton(name))
    except OSError:
        return True
    return refusal(literal, allow_loopback=False) is not None
