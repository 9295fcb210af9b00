"""Keccak-256 as the oracles compute it."""

from __future__ import annotations

import hashlib
import random

import pytest
from Crypto.Hash import keccak

from conformance.oracles.keccak import keccak256, sponge

# None, a block less one byte, a block, one more, and several.
LENGTHS = (0, 1, 31, 32, 134, 135, 136, 137, 271, 272, 500)


def test_known_answers() -> None:
    """The hash of nothing and of "abc", as every EVM client has them."""
    assert keccak256(b"").hex() == "c5d2460186f7233c927e7db2dcc703c0e500b653ca82273b7bfad8045d85a470"
    assert keccak256(b"abc").hex() == "4e03657aea45a94fc7d47ba826c8d667c0d1e6e33a64a036ec44f58fa12d6c45"


@pytest.mark.parametrize("length", LENGTHS)
def test_it_is_what_libraries_compute(length: int) -> None:
    """With its own padding it is PyCryptodome's Keccak, and with that of FIPS 202 it is SHA3-256."""
    data = random.Random(length).randbytes(length)
    assert keccak256(data) == keccak.new(data=data, digest_bits=256).digest()
    assert sponge(data, 0x06) == hashlib.sha3_256(data).digest()
