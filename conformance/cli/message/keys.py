"""Keys for `weldproof message`. Secrets come from files or the environment, since other users see arguments."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

from conformance.cli.usage import UsageFault
from conformance.oracles.ed25519_keys import KeyFault
from conformance.oracles.message_signatures import keys
from conformance.oracles.message_signatures.algorithms import SigningKey, VerifyingKey
from conformance.text.files import TooLarge, read_file

SECRET_VARIABLE = "WELDPROOF_HMAC_SECRET"  # noqa: S105 - the variable's name
SIGNING_VARIABLE = "WELDPROOF_SIGNING_KEY"


@dataclass(frozen=True, slots=True)
class KeyOptions:
    """The options that give an expected key, each None if absent."""

    public_key_hex: str | None
    did_key: str | None
    key_file: Path | None
    secret_file: Path | None


def choose_verifying_key(options: KeyOptions) -> VerifyingKey | None:
    """Return the expected key; None if no option gives one.

    Raises:
        UsageFault: A given key is invalid, or the options give different keys.
    """
    candidates: list[tuple[str, VerifyingKey]] = []
    for option, text, parse in (
        ("--public-key-hex", options.public_key_hex, keys.of_hex),
        ("--did-key", options.did_key, keys.of_did_key),
    ):
        try:
            candidates += [] if text is None else [(option, parse(text))]
        except KeyFault as fault:
            raise UsageFault(f"{option}: {fault}") from fault
    if options.key_file is not None:
        candidates.append(("--key-file", _read_key_file(options.key_file)))
    # A variable that is set for another purpose must not contradict a key on the command line.
    secret = _read_secret(options.secret_file, use_environment=not candidates)
    if secret is not None:
        candidates.append(("the shared secret", secret.public))
    # The same key in two options is harmless. Two keys would make the verdict depend on their
    # order.
    if len({_comparable(key) for _, key in candidates}) > 1:
        raise UsageFault(
            f"different keys are given: {' and '.join(name for name, _ in candidates)}; give the expected one"
        )
    return candidates[0][1] if candidates else None


def choose_signing_key(key_file: Path | None, secret_file: Path | None) -> tuple[SigningKey, bool]:
    """Return the key to sign with, and whether it was generated for this call.

    Raises:
        UsageFault: A given key is invalid, or more than one is given.
    """
    if key_file is not None and secret_file is not None:
        raise UsageFault("give --key-file or --secret-file, not both")
    if key_file is not None:
        try:
            return keys.read_private(_read_bytes(key_file, "--key-file")), False
        except KeyFault as fault:
            raise UsageFault(f"--key-file {key_file}: {fault}") from fault
    secret = _read_secret(secret_file, use_environment=SIGNING_VARIABLE not in os.environ)
    if secret is not None:
        return secret, False
    text = os.environ.get(SIGNING_VARIABLE)
    if text is None:
        return keys.generate(), True
    try:
        return keys.read_private(text.encode("utf-8", "surrogateescape")), False
    except KeyFault as fault:
        raise UsageFault(f"{SIGNING_VARIABLE}: {fault}") from fault


def _read_key_file(path: Path) -> VerifyingKey:
    try:
        return keys.read_public(_read_bytes(path, "--key-file"))
    except KeyFault as fault:
        raise UsageFault(f"--key-file {path}: {fault}") from fault


def _read_secret(path: Path | None, *, use_environment: bool) -> SigningKey | None:
    """Return the shared secret in a file, or in the environment if that may be used; None without one."""
    place = f"--secret-file {path}" if path is not None else SECRET_VARIABLE
    text = os.environ.get(SECRET_VARIABLE) if path is None and use_environment else None
    if path is not None:
        text = _read_bytes(path, "--secret-file").decode("ascii", "replace")
    if text is None:
        return None
    try:
        return keys.shared_secret(keys.decode_secret(text))
    except KeyFault as fault:
        raise UsageFault(f"{place}: {fault}; encode raw bytes with `base64 -w0` first") from fault


def _read_bytes(path: Path, option: str) -> bytes:
    try:
        return read_file(path)
    except OSError as fault:
        raise UsageFault(f"{option} {path}: {fault.strerror}") from fault
    except TooLarge as fault:
        raise UsageFault(f"{option} {path}: {fault}") from fault


def _comparable(key: VerifyingKey) -> object:
    material = key.material
    # Keys of other algorithms than Ed25519 are compared by their public numbers.
    return (key.algorithms, material if isinstance(material, bytes) else material.public_numbers())
