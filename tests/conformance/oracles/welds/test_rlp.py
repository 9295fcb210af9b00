"""RLP as the oracles read and write it, beside the library of the Ethereum Foundation."""

from __future__ import annotations

import random
from typing import Any

import pytest
import rlp as library

from conformance.oracles.welds import rlp


def item(rng: random.Random, depth: int = 0) -> Any:
    """Draw bytes, or a list of items."""
    if depth < 4 and rng.random() < 0.4:
        return [item(rng, depth + 1) for _ in range(rng.choice((0, 1, 3, 20)))]
    return rng.randbytes(rng.choice((0, 1, 1, 2, 20, 54, 55, 56, 57, 255, 256, 300)))


@pytest.mark.parametrize("seed", range(40))
def test_whatever_is_written_is_read_as_the_library_has_it(seed: int) -> None:
    """Items are written in the library's bytes, and read from them."""
    drawn_item = item(random.Random(seed))
    raw = rlp.encode(drawn_item)
    assert raw == library.encode(drawn_item)
    assert rlp.decode(raw) == drawn_item == library.decode(raw, strict=True)


@pytest.mark.parametrize(
    "raw",
    [
        *(b"", b"\x81\x7f", b"\x81", b"\x83ab", b"\xb8\x37" + bytes(55), b"\xb9\x00\x38" + bytes(56), b"\xb8"),
        *(b"\xc1", b"\xc2\x81\x01", b"\xf8\x37" + bytes(55), b"\xc1\x80\x80", b"a ", b"\xc3\x82a", b"\xf9\x01"),
        b"\xbf" + b"\xff" * 8 + b"a",
    ],
)
def test_another_spelling_is_refused(raw: bytes) -> None:
    """What is cut off, followed by more, or not in its shortest form is no item, to the library either."""
    with pytest.raises(rlp.Malformed):
        rlp.decode(raw)
    with pytest.raises(library.exceptions.DecodingError):
        library.decode(raw, strict=True)


@pytest.mark.parametrize("seed", range(200))
def test_spoiled_bytes_are_judged_as_the_library_judges_them(seed: int) -> None:
    """One byte changed, taken out or put in: both read the same, or neither reads anything."""
    rng = random.Random(seed)
    raw = bytearray(rlp.encode(item(rng)))
    place = rng.randrange(len(raw))
    raw[place : place + rng.choice((0, 1))] = rng.randbytes(rng.choice((0, 1)))
    try:
        theirs: Any = library.decode(bytes(raw), strict=True)
    except library.exceptions.DecodingError:
        theirs = None
    try:
        ours: Any = rlp.decode(bytes(raw))
    except rlp.Malformed:
        ours = None
    assert ours == theirs


def test_depth_is_bounded() -> None:
    """Lists in lists beyond what any transaction has are refused, not followed."""
    raw = b"\xc0"
    for _ in range(200):
        raw = rlp.encode([rlp.decode(raw)]) if len(raw) < 50 else rlp._head(len(raw), 0xC0) + raw
    with pytest.raises(rlp.Malformed, match="too deep"):
        rlp.decode(raw)
