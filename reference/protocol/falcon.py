"""Falcon-1024 as this family speaks it: round 3, unpadded compressed signatures (P-KY-09, P-AD-05)."""

from __future__ import annotations

import base64
import binascii
from typing import Protocol

from reference.protocol.keys import FALCON_KEY_BYTES, FALCON_KEY_HEADER

ALGORITHM = "Falcon-1024"
SIGNATURE_HEADER = 0x3A
# Only the compressed form is spoken. The padded form of the same signature would be a second text for one
# statement.
MIN_SIGNATURE_BYTES = 1 + 40 + 1024 * 9 // 8  # header, salt, and no coefficient shorter than 9 bits
MAX_SIGNATURE_BYTES = 1462


class Library(Protocol):
    """An implementation of Falcon's arithmetic. It may accept zeros after a signature; `verify` below does not."""

    def generate_keypair(self) -> tuple[bytes, bytes]:
        """Return a fresh public key of 1793 bytes and its secret key."""

    def sign(self, secret_key: bytes, message: bytes) -> bytes:
        """Return a compressed signature; it takes milliseconds."""

    def verify(self, public_key: bytes, message: bytes, signature: bytes) -> bool:
        """Return whether the signature is the key's."""


def public_key_of(text: object) -> bytes:
    """Return the public key that padded standard base64 holds (P-CP-01, P-CV-06).

    Raises:
        ValueError: It is not a text in canonical base64, or not 1793 bytes with 0x0a first.
    """
    if not isinstance(text, str) or not text.isascii():
        raise ValueError("a public key is a text in base64")
    try:
        key = binascii.a2b_base64(text, strict_mode=True)
    except binascii.Error as fault:
        raise ValueError("the public key is not base64 with padding") from fault
    if len(key) != FALCON_KEY_BYTES or key[0] != FALCON_KEY_HEADER:
        raise ValueError(f"a Falcon-1024 public key is {FALCON_KEY_BYTES} bytes, the first 0x0a")
    # Python's reader ignores spare bits even in strict mode. A key has one spelling here (P-CP-01).
    if public_key_text(key) != text:
        raise ValueError("the public key's base64 has spare bits that are not zero")
    return key


def public_key_text(key: bytes) -> str:
    """Return a public key as padded standard base64."""
    return base64.b64encode(key).decode("ascii")


def ends_where_it_should(signature: bytes) -> bool:
    """Return whether bytes can be one compressed signature and nothing after it."""
    # The last bit of a coefficient is a one, and fewer than eight padding bits follow it. So the last byte of a whole
    # encoding is never zero. The library decodes the rest: some libraries accept zero bytes after an encoding, and no
    # others.
    return (
        MIN_SIGNATURE_BYTES <= len(signature) <= MAX_SIGNATURE_BYTES
        and signature[0] == SIGNATURE_HEADER
        and signature[-1] != 0
    )


def verify(library: Library, public_key: bytes, message: bytes, signature: bytes) -> bool:
    """Return whether `signature` is this key's over `message`, in the one form that is spoken."""
    return ends_where_it_should(signature) and library.verify(public_key, message, signature)
