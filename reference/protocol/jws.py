"""Compact JWS: what we emit, and a strict reader (RFC 7515, RFC 8037; profile 2.2)."""

from __future__ import annotations

import base64
import re
from collections.abc import Mapping
from typing import Any

from reference.protocol.canonical_json import canonicalise
from reference.protocol.keys import SigningKey, base64url

_BASE64URL = re.compile(r"[A-Za-z0-9_-]+")


def sign_compact(payload: Mapping[str, Any], key: SigningKey) -> str:
    """Return the compact JWS of `payload`: header and payload are RFC 8785 bytes, signed with Ed25519."""
    header = canonicalise({"alg": "EdDSA", "kid": key.public.kid, "typ": "JWT"})
    signing_input = f"{base64url(header)}.{base64url(canonicalise(payload))}"
    return f"{signing_input}.{base64url(key.sign(signing_input.encode('ascii')))}"


def decode_segment(text: str) -> bytes:
    """Return the bytes of one segment: canonical base64url without padding.

    Raises:
        ValueError: Padding, another alphabet, an impossible length, or non-zero spare bits.
    """
    if _BASE64URL.fullmatch(text) is None or len(text) % 4 == 1:
        raise ValueError("not canonical base64url")
    raw = base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))
    if base64url(raw) != text:
        raise ValueError("spare bits are not zero")
    return raw
