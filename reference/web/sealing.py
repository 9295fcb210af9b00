"""Secrets that must stay readable, encrypted at rest under a key of the data directory (P-AU-02, P-ID-03)."""

from __future__ import annotations

import secrets
from dataclasses import dataclass

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

# The length that GCM is made for; a random nonce is safe for the few secrets under one key.
_NONCE_BYTES = 12


class SealBroken(Exception):
    """A sealed secret cannot be opened: another key, another place, or changed bytes."""


@dataclass(frozen=True, slots=True, repr=False)
class Seal:
    """AES-256-GCM under one key. It shows nothing of itself."""

    _key: bytes

    def seal(self, secret: bytes, place: bytes) -> bytes:
        """Return a secret encrypted, and bound to the place where it is stored."""
        nonce = secrets.token_bytes(_NONCE_BYTES)
        # The place is authenticated with the text: a sealed secret that is copied to another row does not open there.
        return nonce + AESGCM(self._key).encrypt(nonce, secret, place)

    def open(self, sealed_secret: bytes, place: bytes) -> bytes:
        """Return the secret that was sealed for this place.

        Raises:
            SealBroken: It cannot be opened.
        """
        try:
            return AESGCM(self._key).decrypt(sealed_secret[:_NONCE_BYTES], sealed_secret[_NONCE_BYTES:], place)
        except (InvalidTag, ValueError) as fault:
            raise SealBroken("the stored secret cannot be opened with this key") from fault


def webhook_place(destination_id: str) -> bytes:
    """Return the place of a webhook destination's secret: sealed for one destination, it opens for no other."""
    return b"webhook:" + destination_id.encode()
