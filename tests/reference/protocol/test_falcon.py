"""Falcon-1024 keys and signatures by their form (P-KY-09, P-CP-01)."""

from __future__ import annotations

import base64
import random
import re

import pytest

from reference.protocol import falcon
from tests.reference.falcon_issuer import FALCON, key_pair

MESSAGE = b"a message"
_PADDED_BYTES = 1280
_ENCODING = re.compile(r"(?:[01]{8}0*1){1024}(0{0,7})")


def is_whole(signature: bytes) -> bool:
    """A second opinion: 1024 coefficients of a sign, seven low bits and a unary rest, and padding within one byte."""
    bits = "".join(f"{byte:08b}" for byte in signature[41:])
    return len(signature) <= 1462 and signature[:1] == b"\x3a" and _ENCODING.fullmatch(bits) is not None


class Accepting:
    """A library that takes everything, so that only our own check is seen."""

    def generate_keypair(self) -> tuple[bytes, bytes]:
        raise NotImplementedError

    def sign(self, secret_key: bytes, message: bytes) -> bytes:
        raise NotImplementedError

    def verify(self, public_key: bytes, message: bytes, signature: bytes) -> bool:  # noqa: ARG002 - by its protocol
        return True


@pytest.fixture(scope="module")
def signature() -> bytes:
    return bytes(FALCON.sign(key_pair(1)[1], MESSAGE))


def test_a_signature_verifies_and_no_altered_one(signature: bytes) -> None:
    """One bit anywhere, another message, another key: no."""
    public, other_key = key_pair(1)[0], key_pair(2)[0]
    draws = random.Random(7)
    assert falcon.verify(FALCON, public, MESSAGE, signature)
    assert not falcon.verify(FALCON, public, MESSAGE + b" ", signature)
    assert not falcon.verify(FALCON, other_key, MESSAGE, signature)
    for place in [0, 1, 40, 41, len(signature) - 1, *draws.sample(range(len(signature)), 100)]:
        altered_signature = bytearray(signature)
        altered_signature[place] ^= 1 << draws.randrange(8)
        assert not falcon.verify(FALCON, public, MESSAGE, bytes(altered_signature)), place


def test_the_library_takes_zeros_after_a_signature_and_we_do_not() -> None:
    """P-KY-09: any byte after its end is refused, whatever the library says (the control: it says yes).

    It takes zeros up to 1280 bytes. One signature in some hundred is as long by itself.
    """
    public, secret = key_pair(1)
    signatures = (bytes(FALCON.sign(secret, MESSAGE)) for _ in range(20))
    padded_signature = next(one for one in signatures if len(one) < _PADDED_BYTES).ljust(_PADDED_BYTES, b"\0")
    assert FALCON.verify(public, MESSAGE, padded_signature)
    assert not falcon.verify(FALCON, public, MESSAGE, padded_signature)
    assert not falcon.verify(Accepting(), public, MESSAGE, padded_signature)


@pytest.mark.parametrize("tail", [b"\x00", b"\x01", b"\x80", b"\x00" * 5, b"\x00\x01", b"\xff" * 40, b"\x00" * 180])
def test_nothing_may_follow(signature: bytes, tail: bytes) -> None:
    """Neither a zero nor anything else, at any length."""
    assert not falcon.verify(FALCON, key_pair(1)[0], MESSAGE, signature + tail)


def test_padding_bits_are_zero() -> None:
    """The bits after the last coefficient's one."""
    trials = 0
    for number in range(20):
        message = b"%d" % number
        padding_signature = bytes(FALCON.sign(key_pair(1)[1], message))
        lowest_bit = padding_signature[-1] & -padding_signature[-1]
        if lowest_bit > 1:
            trials += 1
            assert not falcon.verify(
                FALCON, key_pair(1)[0], message, padding_signature[:-1] + bytes([padding_signature[-1] | 1])
            )
    assert trials


def test_what_is_accepted_is_one_whole_encoding(signature: bytes) -> None:
    """Over cut, lengthened and altered signatures: whatever verifies is a whole encoding by a second reading."""
    draws, public = random.Random(11), key_pair(1)[0]
    assert is_whole(signature)
    assert falcon.ends_where_it_should(signature)
    for _ in range(300):
        signature_bytes = bytearray(signature)
        for _ in range(draws.randrange(3)):
            signature_bytes[draws.randrange(len(signature_bytes))] ^= 1 << draws.randrange(8)
        changed_signature = bytes(signature_bytes)[
            : draws.choice([len(signature_bytes), len(signature_bytes), draws.randrange(len(signature_bytes))])
        ]
        changed_signature += bytes(
            draws.choice([0, 0, 1, 3, 1280 - len(changed_signature) if len(changed_signature) < 1280 else 0])
        )
        if falcon.verify(FALCON, public, MESSAGE, changed_signature):
            assert changed_signature == signature
            assert is_whole(changed_signature)


@pytest.mark.parametrize("made", [b"", b"\x3a", b"\x3a" + bytes(1461), b"\x3a" * 1192, b"\x3a" * 1463, b"\xba" * 1280])
def test_bytes_of_another_form_are_not_shown_to_the_library(made: bytes) -> None:
    """Length and header are looked at first."""
    assert not falcon.verify(Accepting(), key_pair(1)[0], MESSAGE, made)


def test_a_key_is_canonical_base64_of_1793_bytes() -> None:
    """P-CP-01, and the text is what it is published as."""
    raw = key_pair(1)[0]
    text = base64.b64encode(raw).decode()
    assert falcon.public_key_of(text) == raw
    assert falcon.public_key_text(raw) == text


@pytest.mark.parametrize(
    "text",
    [
        *("", "é", " ", None, 5, ["a"], "AA==", "\ud800"),
        base64.b64encode(b"\x0a" + bytes(1791)).decode(),
        base64.b64encode(b"\x0a" + bytes(1793)).decode(),
        base64.b64encode(b"\x09" + bytes(1792)).decode(),
        base64.b64encode(b"\x0a" + bytes(1792)).decode().rstrip("="),
        base64.b64encode(b"\x0a" + bytes(1792)).decode() + "\n",
        base64.b64encode(b"\x0a" + bytes(1792)).decode().replace("A=", "B="),
        base64.urlsafe_b64encode(b"\x0a" + b"\xff" * 1792).decode(),
    ],
)
def test_what_is_no_key(text: object) -> None:
    """Padding, alphabet, spare bits, size and header byte."""
    with pytest.raises(ValueError, match="key"):
        falcon.public_key_of(text)
