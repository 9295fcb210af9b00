"""Keyring: a surface's secrets on disk, which are its signing key, retired keys and others (P-KY-01, P-KY-08)."""

from __future__ import annotations

import hashlib
import os
import secrets
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import orjson

from reference.protocol.keys import PublicKey, SigningKey
from reference.web.clock import WpClock
from reference.web.reloaded_file import ReloadedFile

SECRET_BYTES = 32
_DAY = 86400


@dataclass(frozen=True, slots=True)
class Keyring:
    """The active key and the public halves that are still published, the active one first."""

    active: SigningKey
    published_keys: tuple[PublicKey, ...]


class KeyLost(ValueError):
    """A key that was in use is missing; a new one would be another identity."""


class KeyFile:
    """The keyring, read again when its file changes, so that a rotation needs no restart.

    While the file cannot be read the last good keyring stays in use, so that payers need not wait for an operator.

    Attributes:
        path: File of the active signing key.
        clock: Determines the age of a retired key.
        retired_days: How long it stays published.
    """

    def __init__(self, path: Path, clock: WpClock, retired_days: int) -> None:
        self.path = path
        self.clock = clock
        self.retired_days = retired_days
        self._file = ReloadedFile(path, self._open_ring)
        self._is_first = True

    def __call__(self) -> Keyring:
        """Return the keyring as it is now; the first call makes the key if there never was one."""
        return self._file()

    @property
    def fault(self) -> str:
        """What is wrong with the file now, for people; empty while nothing is."""
        return self._file.fault

    def _open_ring(self) -> Keyring:
        ring = open_keyring(self.path, now=self.clock.now(), retired_days=self.retired_days, may_make=self._is_first)
        self._is_first = False
        return ring


def open_keyring(signing_key_file: Path, *, now: int, retired_days: int, may_make: bool = True) -> Keyring:
    """Read the keyring, making the signing key on the first run (mode 0600).

    Raises:
        KeyLost: The file is missing, although keys that it retired exist.
        OSError: It cannot be read.
        ValueError: The file holds no Ed25519 key.
    """
    if may_make and not signing_key_file.exists():
        refuse_lost(signing_key_file, [str(entry["public_key_hex"]) for entry in _read_retired(signing_key_file)])
        make_secret(signing_key_file, SigningKey.from_seed(secrets.token_bytes(32)).to_pem())
    active = SigningKey.from_pem(signing_key_file.read_bytes())
    retired_keys = [
        PublicKey(bytes.fromhex(str(entry["public_key_hex"])))
        for entry in _read_retired(signing_key_file)
        if now - int(entry["retired_at"]) <= retired_days * _DAY
    ]
    # A rotation that was interrupted has retired a key that is still the active one; it is listed once.
    return Keyring(active, tuple(dict.fromkeys((active.public, *retired_keys))))


def refuse_lost(path: Path, known_ids: Sequence[str], name: str = "") -> None:
    """Refuse to continue if a file is missing whose key was in use; keys are made at a first start only.

    Args:
        path: File of the key.
        known_ids: Ids of the keys that it held before, if any.
        name: Name of those ids in the table `known_keys`, where they are kept there.

    Raises:
        KeyLost: The text says what to do.
    """
    if path.exists() or not known_ids:
        return
    begin = f"delete the rows of {name!r} from known_keys" if name else f"delete {_retired_file(path)}"
    raise KeyLost(
        f"{path} is gone, and this installation used a key from it before ({known_ids[-1]}). Put the file back; a "
        f"new one would be another identity. If it is lost for good, {begin} and start again"
    )


def refuse_other(path: Path, secret_id: str, first: str, name: str) -> None:
    """Refuse a secret that is not the one which this installation began with.

    Raises:
        KeyLost: What was issued under the other one would not be known any more; the text says what to do.
    """
    if secret_id != first:
        raise KeyLost(
            f"{path} holds another secret ({secret_id}) than this installation began with ({first}). Put that one "
            f"there; if it is lost for good, delete the rows of {name!r} from known_keys and start again"
        )


def secret_id(secret: bytes) -> str:
    """Return a name of a secret of 32 random bytes that reveals nothing of it."""
    # A prefix of its own, so that the id is not a hash that is used anywhere else.
    return hashlib.sha256(b"id of a secret:" + secret).hexdigest()[:32]


def rotate(signing_key_file: Path, *, now: int) -> PublicKey:
    """Replace the active key; the old one is published as retired from now on (P-KY-08).

    Returns:
        The new public key.
    """
    old = SigningKey.from_pem(signing_key_file.read_bytes())
    entries = [{"public_key_hex": old.public.raw.hex(), "retired_at": now}, *_read_retired(signing_key_file)]
    # The old key is retired before the new one is active: a crash in between leaves receipts of both verifiable.
    write_secret(_retired_file(signing_key_file), orjson.dumps(entries))
    fresh = SigningKey.from_seed(secrets.token_bytes(32))
    write_secret(signing_key_file, fresh.to_pem())
    return fresh.public


def secret_bytes(path: Path) -> bytes:
    """Return a 32-byte secret from its file in hex; it is made on the first run.

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
    _write_draft(path, data).replace(path)


def make_secret(path: Path, data: bytes) -> None:
    """Write a file of mode 0600 unless it exists: of workers that start together, one makes it for all."""
    draft = _write_draft(path, data)
    # A hard link is atomic and never replaces a file, unlike a rename.
    with suppress(FileExistsError):
        path.hardlink_to(draft)
    draft.unlink()


def _write_draft(path: Path, data: bytes) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    # A random name: workers in separate containers on one folder may all have the same process id.
    draft = path.with_name(f"{path.name}.{secrets.token_hex(8)}.draft")
    # Exclusive and with mode 0600 from the beginning: at no moment can others read the secret.
    descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(descriptor, "wb") as file:
        file.write(data)
        file.flush()
        # Before the file gets its name: after a power cut an empty key file would be another identity.
        os.fsync(file.fileno())
    return draft


def _retired_file(signing_key_file: Path) -> Path:
    return signing_key_file.with_name(signing_key_file.name + ".retired.json")


def _read_retired(signing_key_file: Path) -> list[dict[str, int | str]]:
    path = _retired_file(signing_key_file)
    entries: list[dict[str, int | str]] = orjson.loads(path.read_bytes()) if path.exists() else []
    if not isinstance(entries, list) or not all(
        isinstance(entry, dict)
        and isinstance(entry.get("public_key_hex"), str)
        and isinstance(entry.get("retired_at"), int)
        for entry in entries
    ):
        raise ValueError(f"{path} holds no list of retired keys")
    return entries
