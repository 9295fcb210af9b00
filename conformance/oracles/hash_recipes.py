"""Hash recipes: every usual way to hash a request, a response and a settled payment, by name.

The interface says that a receipt binds the three and not how. A profile binds a recipe; without one, all are tried.
"""

from __future__ import annotations

import base64
import hashlib
import json
from collections.abc import Callable, Iterable, Mapping
from typing import Any

import jcs

from conformance.oracles.jose import tokens_in

_CLAIM_DEPTH = 6
# Recipes of a request that leave its address out.
OF_THE_BODY = frozenset({"jcs-body", "raw-body"})


def jcs_bytes(value: Any) -> bytes:
    """Return the RFC 8785 form of a value.

    Raises:
        ValueError: It has none: a number outside binary64, a lone surrogate, or no JSON value at all.
    """
    try:
        # The library raises several kinds of errors for values without a canonical form.
        # Callers need only one.
        canonical: bytes = jcs.canonicalize(value)
    except (OverflowError, TypeError, AttributeError, RecursionError) as fault:
        raise ValueError(f"no canonical form: {fault}") from fault
    return canonical


def sha256_hex(data: bytes) -> str:
    """Return lower-case hex SHA-256."""
    return hashlib.sha256(data).hexdigest()


def spellings(data: bytes) -> set[str]:
    """Return the digests of `data` in every spelling seen in the field."""
    digests: set[str] = set()
    # The interface does not fix how a digest is written. These are the spellings of deployed
    # services and of HTTP fields.
    for name, label in (("sha256", "sha256:"), ("sha384", "sha384:"), ("sha512", "sha512:")):
        raw = hashlib.new(name, data).digest()
        plain, safe = base64.b64encode(raw).decode(), base64.urlsafe_b64encode(raw).decode()
        digests |= {raw.hex(), raw.hex().upper(), label + raw.hex(), "0x" + raw.hex()}
        digests |= {plain, safe, safe.rstrip("="), f":{plain}:"}
        digests |= {f"{label.replace('sha', 'sha-').rstrip(':')}=:{plain}:", f"{label.rstrip(':')}-{plain}"}
    return digests


def request_hashes(
    method: str,
    path: str,
    query: str,
    raw_body: bytes,
    body: Any,
    service_id: str | None,
    encode: Callable[[Any], bytes] = jcs_bytes,
) -> dict[str, set[str]]:
    """Return, for each recipe, the digests that a request may be bound by.

    Args:
        method: The method that was sent.
        path: The path that was sent.
        query: The raw query without `?`.
        raw_body: The body's bytes; where they are empty, recipes over them are left out, because they bind nothing.
        body: The body as JSON.
        service_id: The service, where it is known.
        encode: Writes JSON for the recipes over JCS; another encoding shows which one a signer takes for it.
    """
    envelope = {"body": body, "method": method, "path": path, "query": query}
    line = f"{method} {path}{f'?{query}' if query else ''}"
    recipes: dict[str, Callable[[], bytes]] = {
        # P-RH-01 hashes method, path, query, body and service together. A hash of the body
        # alone would bind the receipt to no address.
        "jcs-envelope": lambda: encode({**envelope, "service_id": service_id}),
        "jcs-envelope-plain": lambda: encode(envelope),
        "jcs-body": lambda: encode(body),
        "line-jcs-body": lambda: f"{line}\n".encode() + encode(body),
    }
    # An empty body has the same hash for every request, so it binds nothing.
    if raw_body:
        recipes["raw-body"] = lambda: raw_body
        recipes["line-raw-body"] = lambda: f"{line}\n".encode() + raw_body
    return _hash_recipes(recipes)


def response_hashes(
    raw_body: bytes, result: Any, receipt: str = "", encode: Callable[[Any], bytes] = jcs_bytes
) -> dict[str, set[str]]:
    """Return, for each recipe, the digests that a response may be bound by.

    No receipt can hold a hash of itself: `jcs-body-unsigned` is the body without its top-level members that hold any
    token, `jcs-body-without-receipt` the body without the members that hold `receipt`. `encode` is that of
    `request_hashes`.
    """
    return _hash_recipes(
        {
            "jcs-result": lambda: encode(result),
            "raw-body": lambda: raw_body,
            "jcs-body": lambda: encode(json.loads(raw_body)),
            "jcs-body-unsigned": lambda: encode(_without_tokens(json.loads(raw_body))),
            "jcs-body-without-receipt": lambda: encode(_without(json.loads(raw_body), receipt)),
        }
    )


def _without_tokens(body: Any) -> Any:
    if not isinstance(body, dict):
        raise ValueError("not an object")  # noqa: TRY004 - read as "this recipe does not apply", like its siblings
    return {name: member for name, member in body.items() if not tokens_in({name: member}, {})}


def _without(value: Any, receipt: str) -> Any:
    """Return a JSON value without the members and list items that are the receipt, and what that leaves empty."""
    if isinstance(value, dict):
        members = {name: _without(member, receipt) for name, member in value.items() if member != receipt}
        return {name: member for name, member in members.items() if member or not value[name]}
    return [_without(one, receipt) for one in value if one != receipt] if isinstance(value, list) else value


def _hash_recipes(recipes: Mapping[str, Callable[[], bytes]]) -> dict[str, set[str]]:
    """Return the digests of each recipe: none for a recipe over a value that has no canonical form."""
    digests: dict[str, set[str]] = {}
    for name, recipe in recipes.items():
        try:
            digests[name] = spellings(recipe())
        except (ValueError, RecursionError):
            digests[name] = set()
    return digests


def settled_refs(service_word: str | None, tx_id: str | None, network_key: str, token: str) -> dict[str, set[str]]:
    """Return, for each recipe, the values that a settled payment may be bound by.

    If the transaction is unknown (no `tx_id`), only the recipes over the challenge token are left.
    """
    word = (service_word or "weldproof").lower()
    over_token = {"sha256-token": spellings(token.encode()), "raw-token": {token}}
    if tx_id is None:
        return over_token
    recipes = {
        "payable-core": f"{word}-payable-core:{tx_id}:{network_key}",
        "sha256-tx": tx_id,
        "sha256-network-tx": f"{network_key}:{tx_id}",
    }
    digests = {name: spellings(text.encode()) for name, text in recipes.items()}
    return {**digests, "raw-tx": {tx_id}, **over_token}


def find_claim(claims: Mapping[str, Any], values: Iterable[str]) -> str | None:
    """Return the dotted path of a claim that equals one of `values`, or None."""
    expected_values = set(values)
    return next((path for path, value in _leaves(claims, "", _CLAIM_DEPTH) if value in expected_values), None)


def _leaves(value: Any, path: str, depth: int) -> Iterable[tuple[str, str]]:
    if isinstance(value, str):
        yield path, value
    elif depth and isinstance(value, Mapping):
        for name, member in value.items():
            yield from _leaves(member, f"{path}.{name}".lstrip("."), depth - 1)
    elif depth and isinstance(value, list):
        for number, member in enumerate(value):
            yield from _leaves(member, f"{path}[{number}]", depth - 1)
