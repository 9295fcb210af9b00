"""Addresses of the lanes' chains, by their own checksums."""

from __future__ import annotations

import base64
import random

import pytest
from algosdk import encoding

from conformance.oracles.addresses import is_address

_BASE32 = "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567"


@pytest.mark.parametrize("seed", range(20))
def test_an_algorand_address_is_what_the_sdk_writes(seed: int) -> None:
    """Its one spelling is an address; with another letter, other spare bits, or in lower case it is invalid."""
    rng = random.Random(seed)
    raw = rng.randbytes(32)
    text: str = encoding.encode_address(raw)
    assert is_address("algorand", text)
    place = rng.randrange(57)
    other_letter = rng.choice([one for one in _BASE32 if one != text[place]])
    last = _BASE32.index(text[-1])
    for wrong in (
        text[:place] + other_letter + text[place + 1 :],
        text[:-1] + _BASE32[last | 1],
        *(text.lower(), text[:-1], text + "A", text + "=", text[:-1] + "é", text[:-1] + "1"),
    ):
        assert not is_address("algorand", wrong), wrong


def test_texts_that_are_no_algorand_address() -> None:
    """Nothing, and 36 bytes whose last four are no checksum."""
    assert not is_address("algorand", "")
    assert not is_address("algorand", base64.b32encode(bytes(36)).decode().rstrip("="))
