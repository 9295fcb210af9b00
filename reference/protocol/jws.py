"""Compact JWS: the signer of receipts and a strict reader (RFC 7515, RFC 8037; specification 2.2 and 2.4 step 2)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, TypeAlias

from reference.protocol.canonical_json import NotJson, canonicalise, parse
from reference.protocol.keys import SigningKey, base64url, from_base64url

# The bound of step 2. It is checked before anything is decoded.
MAX_CHARACTERS = 16_384

# A compact JWS as it was sent, still encoded: the first two segments with their dot, which the signature covers
# (RFC 7515 section 5.1); then header, payload and signature.
Segments: TypeAlias = tuple[str, str, str, str]


class JwsFault(ValueError):
    """The text is not a compact JWS of this form; the sentence says what to mend and repeats nothing of the text."""


@dataclass(frozen=True, slots=True)
class Header:
    """The members of a protected header that a verifier uses.

    Attributes:
        alg: Member `alg`, or None when absent.
        kid: Member `kid`, or None when absent.
        extension: The member that would change how the token is read (`crit`, or `b64` other than true), or None.
    """

    # `jwk`, `jku`, `x5c` and `x5u` are not read (P-RV-03): a key that the token itself contains or names proves nothing
    # about the issuer.

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
    """Return the signing input of a compact JWS and its three segments, without decoding them.

    Raises:
        JwsFault: More than 16,384 characters, or not exactly three non-empty segments.
    """
    if len(text) > MAX_CHARACTERS:
        raise JwsFault(f"The receipt is longer than {MAX_CHARACTERS} characters; send one compact JWS.")
    # Splitting from the right keeps the signing input in one piece, so that it is not joined again for the check
    # (decision 0033).
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
    """Return the members of a protected header that a verifier uses.

    Raises:
        JwsFault: Not canonical base64url, not a JSON object, duplicate members, or an `alg` or `kid` that is not a
            string.
    """
    try:
        members = parse(decode_segment(segment))
    except NotJson:
        members = None
    if not isinstance(members, dict):
        raise JwsFault("The protected header is not a JSON object with distinct members; ask for a new receipt.")
    # RFC 7515 4.1.11: a recipient that does not understand a critical extension must reject the token. No extension
    # is supported here. `b64: false` (RFC 7797) would change which bytes are signed.
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
