"""PyPI http-message-signatures on a signed request with a body, a round for each line read.

usage: message_turns.py SECONDS GIVEN
"""

from __future__ import annotations

import base64
import hashlib
import json
import sys
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey
from http_message_signatures import HTTPMessageVerifier, HTTPSignatureKeyResolver, algorithms


class Key(HTTPSignatureKeyResolver):
    """One key for every key id, parsed once."""

    def __init__(self, raw: bytes) -> None:
        self._key = Ed25519PublicKey.from_public_bytes(raw)

    def resolve_public_key(self, key_id: str) -> Ed25519PublicKey:
        """Return the key."""
        del key_id
        return self._key


class Message:
    """A request as the library wants it."""

    def __init__(self, material: Mapping[str, Any]) -> None:
        self.method: str = material["method"]
        self.url = f"{material['scheme']}://{material['authority']}{material['path']}"
        self.headers: dict[str, str] = dict(material["headers"])
        self.body = base64.b64decode(material["body_b64"])


def verify(message: Message, verifier: HTTPMessageVerifier) -> None:
    """Verify signature and digest.

    Raises:
        ValueError: The digest differs; the library's own exceptions for the signature.
    """
    verifier.verify(message)
    digest = base64.b64encode(hashlib.sha256(message.body).digest()).decode()
    if message.headers["Content-Digest"] != f"sha-256=:{digest}:":
        raise ValueError("the digest differs")


def main() -> None:
    """Answer each line with the CPU microseconds of a verification."""
    seconds, material = float(sys.argv[1]), json.loads(Path(sys.argv[2]).read_text("utf-8"))
    key = Key(bytes.fromhex(material["public_key_hex"]))
    verifier = HTTPMessageVerifier(signature_algorithm=algorithms.ED25519, key_resolver=key)

    def measure(count: int) -> float:
        messages = [Message(material) for _ in range(count)]
        before = time.process_time()
        for message in messages:
            verify(message, verifier)
        return (time.process_time() - before) / count

    count = 64
    while measure(count) * count < seconds / 4:
        count *= 4
    count = max(1, round(seconds / measure(count)))
    print(json.dumps({"ready": True}), flush=True)  # noqa: T201 - the answer to the parent process
    for _ in sys.stdin:
        print(measure(count) * 1e6, flush=True)  # noqa: T201 - same


if __name__ == "__main__":
    main()
