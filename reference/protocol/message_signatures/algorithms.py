"""The signature algorithms that are known, by their name in RFC 9421 section 6.2."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from reference.protocol.keys import public_key

ED25519 = "ed25519"


def _ed25519(key: bytes, message: bytes, signature: bytes) -> bool:
    return public_key(key).verify(message, signature)


# From key, signature base and signature to whether they agree; `keys.KeyRejected` for a key that is not acceptable.
ALGORITHMS: Mapping[str, Callable[[bytes, bytes, bytes], bool]] = {ED25519: _ed25519}
