"""did:web: the address of a DID document, and its keys that may sign receipts (did:web, DID Core)."""

from __future__ import annotations

import ipaddress
import re
from typing import Any

from conformance.oracles.ed25519_keys import Ed25519Key, KeyFault, ed25519_jwk, keys_of_did

_HOST = re.compile(r"(?!-)[A-Za-z0-9.-]{1,253}(?<![.-])")
_PORT = re.compile(r"[1-9][0-9]{0,4}")
# Characters of a path segment that need no escape in a URL, and percent escapes.
_SEGMENT = re.compile(r"(?:[A-Za-z0-9._-]|%[0-9A-Fa-f]{2})+")
_PREFIX = "did:web:"


def document_url(did: str) -> str:
    """Return the address of a did:web document: https, or http on this machine.

    Raises:
        KeyFault: The text is not a did:web identifier.
    """
    parts = did.removeprefix(_PREFIX).split(":") if did.startswith(_PREFIX) else [""]
    host, port = _authority(parts[0])
    path = parts[1:]
    if not all(_SEGMENT.fullmatch(one) and one not in {".", ".."} for one in path):
        raise KeyFault(f"{did} has a path that did:web does not allow")
    # Tests run without certificates on this machine. Elsewhere http would let others on the way
    # choose the key.
    scheme = "http" if is_here(host) else "https"
    # did:web: without a path the document is below /.well-known.
    place = "/".join(path) if path else ".well-known"
    return f"{scheme}://{host}{port}/{place}/did.json"


def _authority(text: str) -> tuple[str, str]:
    host, colon, port = re.sub("%3a", ":", text, flags=re.IGNORECASE).partition(":")
    if not _HOST.fullmatch(host) or (colon and not _PORT.fullmatch(port)):
        raise KeyFault("a did:web is did:web:HOST, a port written as %3A8402, a path's parts after colons")
    # The did:web method forbids addresses: a name needs a certificate, which the DID's trust rests
    # on.
    if _is_ip(host):
        raise KeyFault("did:web names a host, never an IP address")
    return host, f":{port}" if colon else ""


def _is_ip(host: str) -> bool:
    try:
        ipaddress.ip_address(host)
    except ValueError:
        return False
    return True


def is_here(host: str) -> bool:
    """Return whether a host is this machine, judged by name or address without a look-up."""
    if host.lower() == "localhost" or host.lower().endswith(".localhost"):
        return True
    try:
        return ipaddress.ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return False


def asserting_keys(document: Any, did: str | None = None) -> tuple[str, list[dict[str, Any]]]:
    """Return the DID of a document and the keys of its `assertionMethod` as JWKs.

    Args:
        document: The DID document.
        did: The expected DID; None accepts any.

    Raises:
        KeyFault: It is not a DID document of that DID, or lists no such key.
    """
    own = document.get("id") if isinstance(document, dict) else None
    if not isinstance(own, str) or not own.startswith("did:"):
        raise KeyFault("it is not a DID document: it has no id")
    if did is not None and own != did:
        raise KeyFault(f"it is the DID document of {own}, not of {did}")
    # DID Core: only keys of `assertionMethod` may sign claims. A key for logging in must not sign
    # receipts.
    if not isinstance(document.get("assertionMethod"), list):
        raise KeyFault("its assertionMethod names no key, so none may sign receipts")
    jwks = [jwk_of(key) for key in keys_of_did(document)]
    if not jwks:
        raise KeyFault("its assertionMethod names no Ed25519 key")
    return own, jwks


def idle_kids(document: dict[str, Any], jwks: list[dict[str, Any]]) -> tuple[str, ...]:
    """Return the names of the document's Ed25519 keys that are not among its asserting ones, such as retired keys."""
    asserting_kids = {jwk.get("kid") for jwk in jwks}
    every = keys_of_did({name: member for name, member in document.items() if name != "assertionMethod"})
    return tuple(key.kid for key in every if key.kid is not None and key.kid not in asserting_kids)


def jwk_of(key: Ed25519Key) -> dict[str, Any]:
    """Return a public key as JWK."""
    kid_member = {} if key.kid is None else {"kid": key.kid}
    return {**ed25519_jwk(key.raw), **kid_member}
