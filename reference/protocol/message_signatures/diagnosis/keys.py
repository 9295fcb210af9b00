"""Suspects among keys: the expected key in another form, or a key that the message names (P-KY-10)."""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Iterator

from nacl.signing import SigningKey

from reference.protocol.keys import KEY_BYTES, public_key_from_did_key
from reference.protocol.message_signatures.algorithms import ED25519, ExpectedKey
from reference.protocol.message_signatures.diagnosis.suspect_trial import Case, Suspect, clip

_FIELD_PRIME = 2**255 - 19
_HEX_KEY = re.compile(r"[0-9a-fA-F]{64}")
_BASE64_KEY = re.compile(r"[A-Za-z0-9+/_-]{43}=?")
_DID_KEY = re.compile(r"did:key:z[1-9A-HJ-NP-Za-km-z]+")


def forms(case: Case) -> Iterator[Suspect]:
    """The key's bytes in another form."""
    if case.key.algorithm != ED25519 or len(case.key.material) != KEY_BYTES:
        return
    raw = case.key.material
    yield _with_key(
        case,
        raw[::-1],
        "The signature holds with the expected key's bytes in reverse order: give the 32 bytes as RFC 8032 has them,"
        " little-endian.",
    )
    yield _with_key(
        case,
        bytes(SigningKey(raw).verify_key),
        "The signature holds with the public key that belongs to the expected key taken as a private seed: what was"
        " given is the private key. Treat it as disclosed, make a new one, and give the public key only.",
    )
    yield _with_key(
        case,
        raw[:31] + bytes([raw[31] ^ 0x80]),
        "The signature holds with the key's last bit, the sign, flipped. Give the 32 bytes as RFC 8032 has them.",
    )
    for sign in (0, 0x80):
        edwards = _edwards(raw, sign)
        yield _with_key(
            case,
            edwards,
            "The signature holds with the Ed25519 form of the expected key, which is an X25519 key: give the Ed25519"
            f" key {edwards.hex()}.",
        )


def named_keys(case: Case) -> Iterator[Suspect]:
    """The key that `keyid` or another parameter holds."""
    if case.key.algorithm != ED25519:
        return
    # A key from the message explains the signature and never makes it valid: the caller's key decides (P-AG-04).
    for name, value in case.signature_input.parameters.items():
        if type(value) is not str:
            continue
        for text, raw in _keys_in(value):
            yield _with_key(
                case,
                raw,
                f"The signature holds under the key that {name} names, {clip(text)}, which is not the expected one."
                " Either it is from another signer, or the key to expect is out of date; learn the signer's key from a"
                " source that you trust, never from the message (RFC 9421 section 3.2).",
            )


def _with_key(case: Case, raw: bytes, note: str) -> Suspect:
    return Suspect(note, case.base.text, None, ExpectedKey(ED25519, raw))


def _keys_in(text: str) -> Iterator[tuple[str, bytes]]:
    for key_text in _DID_KEY.findall(text)[:2]:
        try:
            yield key_text, public_key_from_did_key(key_text).raw
        except ValueError:
            continue
    for key_text in _HEX_KEY.findall(text)[:2]:
        yield key_text, bytes.fromhex(key_text)
    for key_text in _BASE64_KEY.findall(text)[:2]:
        try:
            raw = base64.urlsafe_b64decode(key_text.rstrip("=").replace("+", "-").replace("/", "_") + "=")
        except binascii.Error:
            continue
        if len(raw) == KEY_BYTES:
            yield key_text, raw


def _edwards(montgomery: bytes, sign: int) -> bytes:
    """Return the Edwards point that an X25519 key came from, by its sign bit (RFC 7748 section 4.1)."""
    u = (int.from_bytes(montgomery, "little") & (2**255 - 1)) % _FIELD_PRIME
    y = (u - 1) * pow(u + 1, -1, _FIELD_PRIME) % _FIELD_PRIME if u != _FIELD_PRIME - 1 else 0
    raw = bytearray(y.to_bytes(KEY_BYTES, "little"))
    raw[31] |= sign
    return bytes(raw)
