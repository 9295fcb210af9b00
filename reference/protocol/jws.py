"""Compact JWS: the one form we emit and a strict reader (RFC 7515, RFC 8037; specification 2.2 and 2.4 step 2)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, TypeAlias

from reference.protocol.canonical_json import NotJson, canonicalise, parse
from reference.protocol.keys import SigningKey, base64url, from_base64url

MAX_CHARACTERS = 16_384

# Of a compact JWS as it was sent, still encoded: the first two segments with their dot, which is what the signature
# covers (RFC 7515 section 5.1); then header, payload and signature.
Segments: TypeAlias = tuple[str, str, str, str]


class JwsFault(ValueError):
    """The text is no compact JWS that we read; the sentence says what to mend and repeats nothing of the text."""


@dataclass(frozen=True, slots=True)
class Header:
    """What a verifier may rely on in a protected header; `jwk`, `jku`, `x5c` and `x5u` are never looked at (P-RV-03).

    Attributes:
        alg: Member `alg`, or None when absent.
        kid: Member `kid`, or None when absent.
        extension: The member that would change how the token is read (`crit`, or `b64` other than true), or None.
    """

    alg: str | None
    kid: str | None
    extension: str | None


def sign_compact(payload: Mapping[str, Any], key: SigningKey) -> str:
    """Return the compact JWS of `payload`, signed with Ed25519 (2.2).

    The protected header is the RFC 8785 form of `{"alg":"EdDSA","kid":…,"typ":"JWT"}`, the payload that of `payload`.

    Raises:
        NotCanonical: The payload has no RFC 8785 form.
    """
    signing_input = f"{_protected_header(key.public.kid)}.{base64url(canonicalise(payload))}"
    return f"{signing_input}.{base64url(key.sign(signing_input.encode('ascii')))}"


def split_compact(text: str) -> Segments:
    """Return what is signed of a compact JWS, and its three segments; nothing is decoded.

    Raises:
        JwsFault: More than 16,384 characters, or not exactly three non-empty segments.
    """
    if len(text) > MAX_CHARACTERS:
        raise JwsFault(f"The receipt is longer than {MAX_CHARACTERS} characters; send one compact JWS.")
    signing_input, _, signature = text.rpartition(".")
    header, _, payload = signing_input.partition(".")
    if not (header and payload and signature) or "." in payload:
        raise JwsFault("A compact JWS is three non-empty segments with a dot between; send the receipt whole.")
    return signing_input, header, payload, signature


def decode_segment(text: str) -> bytes:
    """Return the bytes of one segment: canonical base64url without padding (P-CV-06).

    Raises:
        JwsFault: Padding, another alphabet, an impossible length, or spare bits that are not zero.
    """
    try:
        return from_base64url(text)
    except ValueError as fault:
        raise JwsFault("A segment is not canonical base64url; encode without padding, spare bits zero.") from fault


@lru_cache(maxsize=256)
def read_header(segment: str) -> Header:
    """Return what matters of a protected header.

    Raises:
        JwsFault: Not canonical base64url, not a JSON object, duplicate members, or an `alg` or `kid` that is no string.
    """
    try:
        members = parse(decode_segment(segment))
    except NotJson:
        members = None
    if not isinstance(members, dict):
        raise JwsFault("The protected header is not a JSON object with distinct members; ask for a new receipt.")
    extension = "crit" if "crit" in members else "b64" if members.get("b64", True) is not True else None
    return Header(alg=_text_or_none(members, "alg"), kid=_text_or_none(members, "kid"), extension=extension)


def _text_or_none(members: Mapping[str, object], name: str) -> str | None:
    if name not in members:
        return None
    value = members[name]
    if not isinstance(value, str):
        raise JwsFault(f"Header member {name} is not a string; ask for a new receipt.")
    return value


@lru_cache(maxsize=64)
def _protected_header(kid: str) -> str:
    return base64url(canonicalise({"alg": "EdDSA", "kid": kid, "typ": "JWT"}))
