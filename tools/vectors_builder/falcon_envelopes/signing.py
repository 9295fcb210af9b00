"""Falcon-1024 keys and signatures of a family, drawn once with pqcrypto and kept.

pqcrypto is what many targets verify with. Here it only signs, and says beside the suite's own verifier what it thinks
of a signature: no verdict of the suite rests on it. It comes without types, so it is imported by its name.
"""

from __future__ import annotations

import base64
import hashlib
from importlib import import_module
from pathlib import Path
from typing import Any, Final

from conformance.oracles.credentials.judging import kid_of
from tools.vectors_builder.falcon_envelopes.recordings import Entry, Recorded

_PUBLISHED_NOTE: Final = "Published test keys: anybody can sign with them. Trust them nowhere."
_ONCE: Final = "Falcon signatures are randomised. These were made once, by key and SHA-256 of the message."


class Signer:
    """Signs in the names of a family's issuers."""

    def __init__(self, folder: Path) -> None:
        """Read what a folder keeps: `keys.json`, `signatures.json`."""
        self.keys = Recorded(folder / "keys.json", _PUBLISHED_NOTE)
        self.signatures = Recorded(folder / "signatures.json", _ONCE)

    def public(self, name: str) -> bytes:
        """Return the public key of an issuer, 1793 bytes."""
        return base64.b64decode(self._pair(name)["public_key_b64"])

    def public_text(self, name: str) -> str:
        """Return it as a trust set has it."""
        return self._pair(name)["public_key_b64"]

    def kid(self, name: str) -> str:
        """Return the name of an issuer's key."""
        return kid_of(self.public(name))

    def sign(self, name: str, message: bytes) -> bytes:
        """Return an issuer's signature over a message: header, salt, compressed vector."""
        entry = f"{name} {hashlib.sha256(message).hexdigest()}"
        return base64.b64decode(self.signatures.of(entry, lambda: self._sign_once(name, message))["signature_b64"])

    def _pair(self, name: str) -> Entry:
        return self.keys.of(name, _draw_keys)

    def _sign_once(self, name: str, message: bytes) -> Entry:
        secret = base64.b64decode(self._pair(name)["secret_key_b64"])
        return {"signature_b64": base64.b64encode(library().sign(secret, message)).decode()}


def library() -> Any:
    """Return pqcrypto's Falcon-1024."""
    return import_module("pqcrypto.sign.falcon_1024")


def _draw_keys() -> Entry:
    public, secret = (base64.b64encode(one).decode() for one in library().generate_keypair())
    return {"public_key_b64": public, "secret_key_b64": secret}


def pqcrypto_holds(public_key: bytes, message: bytes, signature: bytes) -> bool:
    """Return what pqcrypto says of a signature; a refusal to look at it is a no."""
    try:
        return bool(library().verify(public_key, message, signature))
    except (ValueError, RuntimeError):
        return False
