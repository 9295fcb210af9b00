"""The record of a service that registers at the control plane: name, address and health path (7.1)."""

from __future__ import annotations

import re
from typing import Literal
from urllib.parse import urlsplit

from reference.protocol.destination_address import Target, literal_of

LONGEST_ADDRESS = 2048
LONGEST_TYPE = 64
_NAME = re.compile(r"[A-Za-z0-9._-]{1,64}")
# Visible ASCII without the characters that an address may contain only escaped.
_PLAIN = re.compile(r"[!#-;=?-\[\]_a-z~]+")
_PORTS = {"http": 80, "https": 443}
_HOST = re.compile(r"[A-Za-z0-9._-]{1,253}|\[[0-9A-Fa-f:.]{2,45}\]")


def is_name(text: str) -> bool:
    """Return whether a text is the name of a service."""
    return _NAME.fullmatch(text) is not None


def checked_base_url(url: str) -> str:
    """Return an address below which a service lives: http or https, a host, no credentials, query or fragment.

    Raises:
        ValueError: It is not such an address.
    """
    if len(url) > LONGEST_ADDRESS or _PLAIN.fullmatch(url) is None:
        raise ValueError(f"give an address of at most {LONGEST_ADDRESS} plain characters")
    # The control plane calls this address for the service's health. A host with credentials or odd characters could
    # be read differently by the HTTP client than here.
    parts = urlsplit(url)  # raises ValueError
    host = parts.netloc.removesuffix("" if parts.port is None else f":{parts.port}")
    if parts.scheme not in {"http", "https"} or _HOST.fullmatch(host) is None or parts.port == 0:
        raise ValueError("give an http:// or https:// address with a host and without credentials")
    if "?" in url or "#" in url:
        raise ValueError("give an address without a query and without a fragment")
    return url


def checked_health_path(path: str) -> str:
    """Return the path of the health check, on the host of the base address only.

    Raises:
        ValueError: It is not such a path.
    """
    # Read as a reference, a path that begins with two slashes names a host (RFC 3986, 4.2).
    is_path = path.startswith("/") and not path.startswith("//")
    if len(path) > LONGEST_ADDRESS or not is_path or _PLAIN.fullmatch(path) is None or "#" in path:
        raise ValueError("give a path that starts with one / and holds plain characters only")
    return path


def place_of(url: str) -> Target:
    """Return scheme, host and port of an address that `checked_base_url` returned.

    A name is in lower case, and a port that the address does not name is its scheme's.
    """
    parts = urlsplit(url)
    host = parts.hostname or ""
    scheme: Literal["http", "https"] = "https" if parts.scheme == "https" else "http"
    return Target(scheme, host, parts.port or _PORTS[scheme], literal_of(host))


def origin_of(url: str) -> str:
    """Return scheme, host and port of an address as a text; two addresses of one server give the same text."""
    place = place_of(url)
    return f"{place.scheme}://{place.literal or place.host}:{place.port}"


def health_address(base_url: str, health_path: str) -> str:
    """Return the address of the health check (7.3)."""
    return base_url.rstrip("/") + health_path
