"""Messages signed by hand: a signature base written out in the test, and a key of another library."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Callable
from typing import Any

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

HandSigner = Callable[..., dict[str, Any]]

_KEY = Ed25519PrivateKey.from_private_bytes(bytes(range(32)))


@pytest.fixture
def signed_by_hand() -> HandSigner:
    """Return a signer of GET https://example.com/a at time 1000, of lines that the test writes out itself."""

    def sign(
        lines: tuple[str, ...] = ('"@method": GET',),
        parameters: str = ";created=1000",
        *,
        components: str | None = None,
        headers: dict[str, Any] | None = None,
        body: bytes = b"",
        **members: Any,
    ) -> dict[str, Any]:
        if components is None:
            components = " ".join(line.split(": ")[0] for line in lines)
        base = "\n".join([*lines, f'"@signature-params": ({components}){parameters}'])
        signature = base64.b64encode(_KEY.sign(base.encode())).decode()
        return {
            "method": "GET",
            "authority": "example.com",
            "path": "/a",
            "headers": {
                **(headers or {}),
                "Signature-Input": f"sig=({components}){parameters}",
                "Signature": f"sig=:{signature}:",
            },
            "body_b64": base64.b64encode(body).decode(),
            "public_key_hex": _KEY.public_key().public_bytes_raw().hex(),
            **members,
        }

    return sign


@pytest.fixture
def digest_of() -> Callable[[bytes], str]:
    """Return Content-Digest by sha-256 of a body."""

    def digest(body: bytes) -> str:
        return f"sha-256=:{base64.b64encode(hashlib.sha256(body).digest()).decode()}:"

    return digest
