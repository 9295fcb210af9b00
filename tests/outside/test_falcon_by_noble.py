"""Three readings of Falcon-1024 agree: pqcrypto, npm's @noble/post-quantum, and the suite's oracle.

Each signer's signatures hold in all three, and each altered one fails in all; the suite's own keys for one signature
are signers, too.
"""

from __future__ import annotations

import json
import random
import subprocess
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

from conformance.oracles import falcon, falcon_making
from localnet.npm import node_modules
from programs.node import node

FOLDER = Path(__file__).parent / "falcon"
pqcrypto: Any = import_module("pqcrypto.sign.falcon_1024")
SignedMessage = tuple[bytes, bytes, bytes]
MESSAGES = [b"", b"a credential", bytes(range(256)) * 5, '{"ä":1}'.encode()]


def noble(questions: list[dict[str, Any]]) -> list[Any]:
    """Return what noble answers."""
    words = [str(node().path), str(FOLDER / "opinion.mjs"), str(node_modules(FOLDER).parent)]
    question_text = json.dumps(questions)
    result = subprocess.run(words, input=question_text, capture_output=True, text=True, timeout=600, check=True)
    answers: list[Any] = json.loads(result.stdout)
    return answers


def by_noble(signed_messages: list[SignedMessage]) -> list[bool]:
    """Return what noble says of signatures."""
    return noble(
        [
            {"op": "verify", "key": key.hex(), "message": message.hex(), "signature": signature.hex()}
            for key, message, signature in signed_messages
        ]
    )


def by_pqcrypto(signed_messages: list[SignedMessage]) -> list[bool]:
    """Return what pqcrypto says of signatures, a refusal to look being a no."""

    def holds(key: bytes, message: bytes, signature: bytes) -> bool:
        try:
            return bool(pqcrypto.verify(key, message, signature))
        except (ValueError, RuntimeError):
            return False

    return [holds(*each) for each in signed_messages]


def by_the_oracle(signed_messages: list[SignedMessage]) -> list[bool]:
    """Return what the oracle says of signatures."""
    return [falcon.holds(*each) for each in signed_messages]


@pytest.fixture(scope="module")
def corpora() -> dict[str, list[SignedMessage]]:
    """Signatures of each signer."""
    key, secret = pqcrypto.generate_keypair()
    (theirs,) = noble([{"op": "sign", "messages": [one.hex() for one in MESSAGES]}])
    own_signatures = [(one, falcon_making.sign_once(one, random.Random(number))) for number, one in enumerate(MESSAGES)]
    return {
        "pqcrypto": [(key, one, pqcrypto.sign(secret, one)) for one in MESSAGES],
        "noble": [
            (bytes.fromhex(theirs["key"]), message, bytes.fromhex(signature))
            for message, signature in zip(MESSAGES, theirs["signatures"], strict=True)
        ],
        "the suite": [(each.public_key, message, each.signature) for message, each in own_signatures],
    }


def alter(signed_messages: list[SignedMessage]) -> Iterator[SignedMessage]:
    """Yield altered copies: another message, a bit in salt or vector, another's key, a shorter signature."""
    rng = random.Random(3)
    for key, message, signature in signed_messages:
        yield key, message + b".", signature
        for place in (rng.randrange(1, 41), rng.randrange(41, len(signature) - 1)):
            altered_bytes = bytearray(signature)
            altered_bytes[place] ^= 1 << rng.randrange(8)
            yield key, message, bytes(altered_bytes)
        yield falcon_making.any_public_key(rng), message, signature
        yield key, message, signature[:-1]
        yield key, message, b"\x39" + signature[1:]


@pytest.mark.parametrize("signer", ["pqcrypto", "noble", "the suite"])
def test_a_signature_holds_in_all_three(signer: str, corpora: dict[str, list[SignedMessage]]) -> None:
    """Noble, pqcrypto and the oracle all accept the signature of each signer."""
    signed_messages = corpora[signer]
    assert (
        by_noble(signed_messages)
        == by_pqcrypto(signed_messages)
        == by_the_oracle(signed_messages)
        == [True] * len(MESSAGES)
    )


@pytest.mark.parametrize("signer", ["pqcrypto", "noble", "the suite"])
def test_an_altered_one_fails_in_all_three(signer: str, corpora: dict[str, list[SignedMessage]]) -> None:
    """The control: with one thing changed, each of the three says no."""
    altered_messages = list(alter(corpora[signer]))
    assert len(altered_messages) == 6 * len(MESSAGES)
    assert (
        by_noble(altered_messages)
        == by_pqcrypto(altered_messages)
        == by_the_oracle(altered_messages)
        == [False] * len(altered_messages)
    )
