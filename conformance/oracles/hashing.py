"""Hash recipes: every usual way to hash a request, a response and a settled payment, by name.

The interface says that a receipt binds the three and not how. A profile binds a recipe; without one, all are tried.
"""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Iterable, Mapping
from typing import Any

import jcs

_CLAIM_DEPTH = 6


def jcs_bytes(value: Any) -> bytes:
    """Return the RFC 8785 form of a value."""
    canonical: bytes = jcs.canonicalize(value)
    return canonical


def sha256_hex(data: bytes) -> str:
    """Return lower-case hex SHA-256."""
    return hashlib.sha256(data).hexdigest()


def spellings(data: bytes) -> set[str]:
    """Return the digests of `data` in every spelling seen in the field."""
    found: set[str] = set()
    for name, label in (("sha256", "sha256:"), ("sha384", "sha384:"), ("sha512", "sha512:")):
        raw = hashlib.new(name, data).digest()
        plain, safe = base64.b64encode(raw).decode(), base64.urlsafe_b64encode(raw).decode()
        found |= {raw.hex(), label + raw.hex(), "0x" + raw.hex(), plain, safe, safe.rstrip("="), f":{plain}:"}
        found |= {f"{label.replace('sha', 'sha-').rstrip(':')}=:{plain}:", f"{label.rstrip(':')}-{plain}"}
    return found


def request_hashes(
    method: str, path: str, query: str, raw_body: bytes, body: Any, service_id: str | None
) -> dict[str, set[str]]:
    """Return, for each recipe, the digests that a request may be bound by.

    Args:
        method: The method that was sent.
        path: The path that was sent.
        query: The raw query without `?`.
        raw_body: The body's bytes.
        body: The body as JSON.
        service_id: The service, where it is known.
    """
    envelope = {"body": body, "method": method, "path": path, "query": query}
    line = f"{method} {path}{f'?{query}' if query else ''}"
    recipes = {
        "jcs-envelope": jcs_bytes({**envelope, "service_id": service_id}),
        "jcs-envelope-plain": jcs_bytes(envelope),
        "jcs-body": jcs_bytes(body),
        "raw-body": raw_body,
        "line-raw-body": f"{line}\n".encode() + raw_body,
        "line-jcs-body": f"{line}\n".encode() + jcs_bytes(body),
    }
    return {name: spellings(data) for name, data in recipes.items()}


def response_hashes(raw_body: bytes, result: Any) -> dict[str, set[str]]:
    """Return, for each recipe, the digests that a response may be bound by."""
    recipes = {"jcs-result": jcs_bytes(result), "raw-body": raw_body}
    return {name: spellings(data) for name, data in recipes.items()}


def settled_refs(service_word: str | None, tx_id: str, network_key: str, token: str) -> dict[str, set[str]]:
    """Return, for each recipe, the values that a settled payment may be bound by."""
    word = (service_word or "weldproof").lower()
    recipes = {
        "payable-core": f"{word}-payable-core:{tx_id}:{network_key}",
        "sha256-tx": tx_id,
        "sha256-token": token,
        "sha256-network-tx": f"{network_key}:{tx_id}",
    }
    hashed = {name: spellings(text.encode()) for name, text in recipes.items()}
    return {**hashed, "raw-tx": {tx_id}, "raw-token": {token}}


def find_claim(claims: Mapping[str, Any], values: Iterable[str]) -> str | None:
    """Return the dotted path of a claim that equals one of `values`, or None."""
    wanted = set(values)
    return next((path for path, value in _leaves(claims, "", _CLAIM_DEPTH) if value in wanted), None)


def _leaves(value: Any, path: str, depth: int) -> Iterable[tuple[str, str]]:
    if isinstance(value, str):
        yield path, value
    elif depth and isinstance(value, Mapping):
        for name, member in value.items():
            yield from _leaves(member, f"{path}.{name}".lstrip("."), depth - 1)
    elif depth and isinstance(value, list):
        for number, member in enumerate(value):
            yield from _leaves(member, f"{path}[{number}]", depth - 1)
