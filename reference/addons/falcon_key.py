"""The Falcon key of an issuing addon: made on the first run; only its public half is published (P-AD-05, 8.3)."""

from __future__ import annotations

import asyncio
import base64
from dataclasses import dataclass, field
from pathlib import Path

import orjson

from reference.protocol import falcon
from reference.protocol.keys import falcon_kid
from reference.protocol.time_text import unix_of, utc_text
from reference.web.errors import Refused
from reference.web.keyring import make_secret
from reference.web.settings import name_setting

_PROBE = b"these two halves belong together"


@dataclass(frozen=True, slots=True)
class FalconKey:
    """A key pair.

    Attributes:
        did: DID of its owner.
        public: The 1793 bytes of its public half.
        made_at: The time at which it was made (P-CV-04).
    """

    did: str
    public: bytes
    made_at: str
    _secret: bytes = field(repr=False)
    _library: falcon.Library | None = field(repr=False)

    @property
    def kid(self) -> str:
        """Its key id (P-KY-09)."""
        return falcon_kid(self.public)

    @property
    def public_key_b64(self) -> str:
        """Its public half, standard base64."""
        return falcon.public_key_text(self.public)

    async def sign(self, message: bytes) -> bytes:
        """Return a signature.

        Raises:
            Refused: 503: the library is missing or fails (P-AD-05).
        """
        if self._library is None:
            raise build_unavailable()
        try:
            # In a thread, because the eight milliseconds would hold up every other call.
            return await asyncio.to_thread(self._library.sign, self._secret, message)
        # The library is foreign code and raises what it likes; the addon reports each failure as unavailable (P-AD-05).
        except Exception as fault:
            raise build_unavailable() from fault


def build_unavailable() -> Refused:
    """Return the refusal to sign anything."""
    return Refused(503, "falcon_unavailable", "falcon_unavailable")


def open_falcon_key(path: Path, did: str, library: falcon.Library | None, *, now: int) -> FalconKey | None:
    """Read the key, which is made on the first run (mode 0600); None without a key and a library to make one.

    Raises:
        Misconfigured: The file cannot be used, or does not hold a key pair.
    """
    with name_setting("WP_ADDON_DATA_DIR"):
        if not path.exists():
            if library is None:
                return None
            # Of workers that start together one makes the key; all read the same file afterwards.
            make_secret(path, _make_key(library, now))
        return _read_key(path, did, library)


def _make_key(library: falcon.Library, now: int) -> bytes:
    public, secret = library.generate_keypair()
    members = {
        "alg": falcon.ALGORITHM,
        "public_key_b64": falcon.public_key_text(public),
        "secret_key_b64": base64.b64encode(secret).decode(),
        "made_at": utc_text(now),
    }
    return orjson.dumps(members)


def _read_key(path: Path, did: str, library: falcon.Library | None) -> FalconKey:
    try:
        members = orjson.loads(path.read_bytes())
        public = falcon.public_key_of(members["public_key_b64"])
        secret = base64.b64decode(members["secret_key_b64"], validate=True)
        unix_of(members["made_at"])
        # A signature that verifies is the only proof that both halves belong together; without a library the addon
        # signs nothing anyway.
        whole = library is None or falcon.verify(library, public, _PROBE, library.sign(secret, _PROBE))
    except (KeyError, TypeError, ValueError, RuntimeError) as fault:
        raise ValueError(f"{path} does not hold a Falcon-1024 key pair") from fault
    if not whole:
        raise ValueError(f"the halves of the key in {path} do not belong together")
    return FalconKey(did, public, members["made_at"], secret, library)
