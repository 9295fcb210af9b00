"""Secrets that are encrypted at rest (P-AU-02, P-ID-03)."""

from __future__ import annotations

import pytest

from reference.web.sealing import Seal, SealBroken

SEAL = Seal(bytes(range(32)))


def test_a_sealed_secret_is_opened_at_its_own_place_only() -> None:
    """Another place, another key or one changed byte opens nothing."""
    sealed_secret = SEAL.seal(b"secret", b"here")
    assert SEAL.open(sealed_secret, b"here") == b"secret"
    changed_secret = sealed_secret[:-1] + bytes([sealed_secret[-1] ^ 1])
    for seal, data, place in (
        (SEAL, sealed_secret, b"there"),
        (Seal(bytes(32)), sealed_secret, b"here"),
        (SEAL, changed_secret, b"here"),
    ):
        with pytest.raises(SealBroken):
            seal.open(data, place)
    with pytest.raises(SealBroken):
        SEAL.open(b"", b"here")


def test_the_same_secret_is_sealed_differently_each_time() -> None:
    """The seals do not show that two secrets are equal, and do not show the key."""
    assert SEAL.seal(b"secret", b"here") != SEAL.seal(b"secret", b"here")
    assert b"secret" not in SEAL.seal(b"secret", b"here")
    assert repr(bytes(range(32))) not in repr(SEAL)
