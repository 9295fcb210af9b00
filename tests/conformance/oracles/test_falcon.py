"""The Falcon-1024 oracle says what pqcrypto says, of signatures that hold and of changed ones."""

from __future__ import annotations

import random
from collections.abc import Iterator
from importlib import import_module
from typing import Any

import pytest

from conformance.oracles import falcon, falcon_making

# Without types of its own.
falcon_1024: Any = import_module("pqcrypto.sign.falcon_1024")

SignedMessage = tuple[bytes, bytes, bytes]


@pytest.fixture(scope="module")
def corpus() -> list[SignedMessage]:
    """Three hundred signatures of pqcrypto under six keys: (public key, message, signature)."""
    rng = random.Random(8)
    signatures = []
    for _ in range(6):
        public, secret = falcon_1024.generate_keypair()
        for length in rng.choices([0, 1, 32, 135, 136, 137, 500, 5000], k=50):
            message = rng.randbytes(length)
            signatures.append((public, message, falcon_1024.sign(secret, message)))
    return signatures


def flip_bit(data: bytes, bit: int) -> bytes:
    """Return data with one bit turned."""
    changed_bytes = bytearray(data)
    changed_bytes[bit // 8] ^= 1 << bit % 8
    return bytes(changed_bytes)


def changes(signed_message: SignedMessage, rng: random.Random) -> Iterator[SignedMessage]:
    """Yield altered copies: a bit in each part, other lengths, other headers, parts of others."""
    public, message, signature = signed_message
    yield public, message + b"!", signature
    yield public, message, flip_bit(signature, rng.randrange(8))
    yield public, message, flip_bit(signature, rng.randrange(8, 8 * 41))
    yield public, message, flip_bit(signature, rng.randrange(8 * 41, 8 * len(signature)))
    yield public, message, flip_bit(signature, 8 * len(signature) - 8 + rng.randrange(8))
    yield public, message, signature[: rng.randrange(len(signature))]
    yield public, message, signature[:41] + rng.randbytes(len(signature) - 41)
    yield flip_bit(public, rng.randrange(8)), message, signature
    yield flip_bit(public, rng.randrange(8, 8 * len(public))), message, signature


def theirs(signed_message: SignedMessage) -> bool:
    """Return what pqcrypto says, a refusal to look being a no."""
    public, message, signature = signed_message
    try:
        return bool(falcon_1024.verify(public, message, signature))
    except (ValueError, RuntimeError):
        return False


def test_what_pqcrypto_signs_holds(corpus: list[SignedMessage]) -> None:
    """Every signature of three hundred holds."""
    assert [falcon.fault_of(*one) for one in corpus] == [None] * 300


def test_agreement_on_altered_signatures(corpus: list[SignedMessage]) -> None:
    """Over nine hundred altered copies the oracle and pqcrypto say the same; nearly all are refused."""
    rng = random.Random(1024)
    altered_messages = [change for one in corpus[::3] for change in changes(one, rng)]
    ours = [falcon.holds(*one) for one in altered_messages]
    assert ours == [theirs(one) for one in altered_messages]
    assert ours.count(True) < 10
    assert len(altered_messages) == 900


def test_a_padded_signature_is_another_coding(corpus: list[SignedMessage]) -> None:
    """A signature padded to 1280 bytes is taken by pqcrypto; the oracle takes the shortest coding only."""
    public, message, signature = next(one for one in corpus if len(one[2]) < 1280)
    padded_signature = signature.ljust(1280, b"\0")
    assert theirs((public, message, padded_signature))
    assert falcon.fault_of(public, message, padded_signature) is falcon.FalconFault.INVALID_CODING


@pytest.mark.parametrize(
    ("change", "fault"),
    [
        (lambda p, s: (p[:-1], s), falcon.FalconFault.KEY_LENGTH),
        (lambda p, s: (b"\x09" + p[1:], s), falcon.FalconFault.KEY_HEADER),
        (lambda p, s: (p[:1] + b"\xff" * 7 + p[8:], s), falcon.FalconFault.KEY_RANGE),
        (lambda p, s: (p, s[:41]), falcon.FalconFault.LENGTH),
        (lambda p, s: (p, s + bytes(1463 - len(s))), falcon.FalconFault.LENGTH),
        (lambda p, s: (p, b"\x39" + s[1:]), falcon.FalconFault.HEADER),
        (lambda p, s: (p, b"\xba" + s[1:]), falcon.FalconFault.HEADER),
        (lambda p, s: (p, s[:-1]), falcon.FalconFault.INVALID_CODING),
        (lambda p, s: (p, s[:41] + b"\x80\x80" + s[43:]), falcon.FalconFault.INVALID_CODING),
        (lambda p, s: (p, s[:41] + b"\x00\x00\x00\x08" + s[45:]), falcon.FalconFault.INVALID_CODING),
    ],
)
def test_each_refusal_has_its_reason(change: object, fault: falcon.FalconFault, corpus: list[SignedMessage]) -> None:
    """Malformed keys and signatures are distinguished from those that do not hold."""
    public, message, signature = corpus[0]
    assert callable(change)
    public, signature = change(public, signature)
    assert falcon.fault_of(public, message, signature) is fault


def test_a_key_made_for_one_signature(corpus: list[SignedMessage]) -> None:
    """It holds here and in pqcrypto, as long as the message is that one; one draw gives one key."""
    for seed in range(5):
        forged_signature = falcon_making.sign_once(b"credential", random.Random(seed))
        assert theirs((forged_signature.public_key, b"credential", forged_signature.signature))
        assert falcon.holds(forged_signature.public_key, b"credential", forged_signature.signature)
        assert (
            falcon.fault_of(forged_signature.public_key, b"Credential", forged_signature.signature)
            is falcon.FalconFault.NORM
        )
        assert forged_signature == falcon_making.sign_once(b"credential", random.Random(seed))
    _, message, signature = corpus[0]
    stranger = falcon_making.any_public_key(random.Random(3))
    assert falcon.fault_of(stranger, message, signature) is falcon.FalconFault.NORM
    assert not theirs((stranger, message, signature))
