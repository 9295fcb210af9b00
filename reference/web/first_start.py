"""First start: keys are made only then; the database remembers which keys were used (P-KY-01)."""

from __future__ import annotations

from pathlib import Path
from typing import Protocol

from reference.web.keyring import KeyFile, refuse_lost, refuse_other, secret_bytes, secret_id


class KnownKeys(Protocol):
    """Remembers the ids of keys by their purpose."""

    async def ids(self, name: str) -> list[str]:
        """Return the ids of every key that was used under a name, the first one first."""

    async def add(self, name: str, key_id: str, *, now: int) -> str:
        """Note that a key is used, and return the id of the first one under this name."""


async def open_signing_key(known_keys: KnownKeys, surface: str, key_file: KeyFile) -> None:
    """Read a surface's signing key, made if this is its first start, and note its id.

    Raises:
        KeyLost: Its file is gone.
        OSError: It cannot be read.
        ValueError: It holds no key.
    """
    name = f"{surface} signing key"
    # A new key in place of a lost one would be another identity: receipts of the old one would no longer verify
    # (decision 0044).
    refuse_lost(key_file.path, await known_keys.ids(name), name)
    await known_keys.add(name, key_file().active.public.kid, now=key_file.clock.now())


async def open_secret(known_keys: KnownKeys, name: str, path: Path, *, now: int, is_kept: bool = True) -> bytes:
    """Return a 32-byte secret, made if this is the first start, and note its id.

    Args:
        known_keys: The keys that were used before.
        name: What the secret is for, with the surface.
        path: Its file.
        now: Unix seconds.
        is_kept: Whether another secret in its place is refused.

    Raises:
        KeyLost: The file is gone, or holds another secret.
        OSError: It cannot be read.
        ValueError: It holds no secret.
    """
    refuse_lost(path, await known_keys.ids(name), name)
    secret = secret_bytes(path)
    # Of workers that start together, the first one in the database decides which secret is the right one.
    first = await known_keys.add(name, secret_id(secret), now=now)
    if is_kept:
        refuse_other(path, secret_id(secret), first, name)
    return secret
