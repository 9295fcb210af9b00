"""A surface's own secrets on disk: its signing key, retired keys, and keys of its own (P-KY-01, P-KY-04, P-KY-08)."""

from __future__ import annotations

import os
import secrets
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

import orjson

from reference.protocol.keys import PublicKey, SigningKey
from reference.web.clock import WpClock

SECRET_BYTES = 32
_DAY = 86400


@dataclass(frozen=True, slots=True)
class Keyring:
    """The active key and the public halves that are still published, the active one first."""

    active: SigningKey
    published: tuple[PublicKey, ...]


@dataclass(slots=True)
class KeyFile:
    """The keyring, read again when its file changes, so that a rotation needs no restart.

    Attributes:
        path: File of the active signing key.
        clock: Tells how old a retired key is.
        retired_days: How long it stays published.
    """

    path: Path
    clock: WpClock
    retired_days: int
    _read: tuple[int, int] | None = field(default=None, init=False)
    _keyring: Keyring | None = field(default=None, init=False)

    def __call__(self) -> Keyring:
        """Return the keyring as it is now."""
        there = self._there()
        if self._keyring is None or there != self._read:
            self._keyring = open_keyring(self.path, now=self.clock.now(), retired_days=self.retired_days)
            # What was there before it was read: a rotation meanwhile is noticed by the next call.
            self._read = there
        return self._keyring

    def _there(self) -> tuple[int, int] | None:
        """Tell this file from another one; by its time alone, two that were written in one tick would be the same."""
        try:
            told = os.stat(self.path)  # noqa: PTH116 - asked for every receipt, so plainly
        except FileNotFoundError:
            return None
        return told.st_ino, told.st_mtime_ns


def open_keyring(signing_key_file: Path, *, now: int, retired_days: int) -> Keyring:
    """Read the keyring, making the signing key on the first run (mode 0600).

    Raises:
        ValueError: The file holds no Ed25519 key.
    """
    if not signing_key_file.exists():
        make_secret(signing_key_file, SigningKey.from_seed(secrets.token_bytes(32)).to_pem())
    active = SigningKey.from_pem(signing_key_file.read_bytes())
    kept = [
        PublicKey(bytes.fromhex(str(entry["public_key_hex"])))
        for entry in _retired(signing_key_file)
        if now - int(entry["retired_at"]) <= retired_days * _DAY
    ]
    # A rotation that was cut off has retired a key that is still the active one.
    return Keyring(active, tuple(dict.fromkeys((active.public, *kept))))


def rotate(signing_key_file: Path, *, now: int) -> PublicKey:
    """Replace the active key; the old one is published as retired from now on (P-KY-08).

    Returns:
        The new public key.
    """
    old = SigningKey.from_pem(signing_key_file.read_bytes())
    entries = [{"public_key_hex": old.public.raw.hex(), "retired_at": now}, *_retired(signing_key_file)]
    write_secret(_retired_file(signing_key_file), orjson.dumps(entries))
    fresh = SigningKey.from_seed(secrets.token_bytes(32))
    write_secret(signing_key_file, fresh.to_pem())
    return fresh.public


def secret_bytes(path: Path) -> bytes:
    """Return a 32-byte secret kept as hex, made on the first run; what depends on it outlives a restart.

    Raises:
        ValueError: The file holds something else.
    """
    if not path.exists():
        make_secret(path, secrets.token_bytes(SECRET_BYTES).hex().encode())
    secret = bytes.fromhex(path.read_text("ascii").strip())
    if len(secret) != SECRET_BYTES:
        raise ValueError(f"{path} does not hold {SECRET_BYTES} bytes in hex")
    return secret


def write_secret(path: Path, data: bytes) -> None:
    """Write a file of mode 0600 in one step: a reader sees the old content or the new."""
    _draft(path, data).replace(path)


def make_secret(path: Path, data: bytes) -> None:
    """Write a file of mode 0600 unless it is there: of workers that start at once, one makes it for all."""
    draft = _draft(path, data)
    with suppress(FileExistsError):
        path.hardlink_to(draft)
    draft.unlink()


def _draft(path: Path, data: bytes) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    # Of a name by chance: workers in containers of their own, on one folder, may all have the same process number.
    draft = path.with_name(f"{path.name}.{secrets.token_hex(8)}.draft")
    descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(descriptor, "wb") as file:
        file.write(data)
        file.flush()
        os.fsync(file.fileno())
    return draft


def _retired_file(signing_key_file: Path) -> Path:
    return signing_key_file.with_name(signing_key_file.name + ".retired.json")


def _retired(signing_key_file: Path) -> list[dict[str, int | str]]:
    path = _retired_file(signing_key_file)
    entries: list[dict[str, int | str]] = orjson.loads(path.read_bytes()) if path.exists() else []
    return entries
