"""The expected key as text: faults of a key in hex and of a did:key (6.2, P-KY-10)."""

from __future__ import annotations

import re
from functools import lru_cache

import base58

from reference.protocol.keys import KEY_BYTES, KeyRejected, public_key_from_did_key

_CACHE_SIZE = 512
_LONGEST_DID = 200
_HEX = re.compile(r"[0-9a-fA-F]*")
_BASE64 = re.compile(r"[A-Za-z0-9+/_-]{43}=?")
_SPKI = "302a300506032b6570032100"
_OTHER_KEYS = {
    b"\xec\x01": "X25519",
    b"\xe7\x01": "secp256k1",
    b"\x80\x24": "P-256",
    b"\x81\x24": "P-384",
    b"\x82\x24": "P-521",
    b"\x85\x24": "RSA",
    b"\xea\x01": "BLS12-381",
    b"\xeb\x01": "BLS12-381",
    b"\x80\x26": "Ed25519, and its private half at that",
}
_HEX_WANTED = "give the 32 bytes of an Ed25519 public key as 64 hex digits"
_DID_WANTED = "give did:key:z… of an Ed25519 key"


def fault_of_hex(text: str) -> str | None:
    """Return the fault of a key in hex, without repeating it, or None if it has the form of a key."""
    if len(text) == 2 * KEY_BYTES and _HEX.fullmatch(text):
        return None
    if text[:2].lower() == "0x":
        return f"{_HEX_WANTED}, without 0x"
    if _HEX.fullmatch(text) and text.lower().startswith(_SPKI):
        return f"{_HEX_WANTED}; this is a SubjectPublicKeyInfo, whose last 32 bytes are the key"
    if _HEX.fullmatch(text) and len(text) == 4 * KEY_BYTES:
        return f"{_HEX_WANTED}; these are 64 bytes, which may be a private key: keep it to yourself"
    if _BASE64.fullmatch(text):
        return f"{_HEX_WANTED}; this looks like base64 of 32 bytes"
    if text.startswith("did:"):
        return f"{_HEX_WANTED}; a DID goes into did_key"
    return _HEX_WANTED


def fault_of_did_key(text: str) -> str | None:
    """Return the fault of a did:key, without repeating it, or None if it holds 32 bytes of an Ed25519 key."""
    return _DID_WANTED + _what_it_is(text) if len(text) > _LONGEST_DID else _fault_of_short(text)


@lru_cache(maxsize=_CACHE_SIZE)
def _fault_of_short(text: str) -> str | None:
    try:
        public_key_from_did_key(text)
    except ValueError as fault:
        # A bad point is not a fault of the request. It leads to 200 with `key_rejected`, as with a key in hex
        # (6.3).
        if isinstance(fault, KeyRejected) and len(did_bytes(text)) == KEY_BYTES:
            return None
        return _DID_WANTED + _what_it_is(text)
    return None


@lru_cache(maxsize=_CACHE_SIZE)
def did_bytes(did_key: str) -> bytes:
    """Return the 32 bytes that a well-formed did:key holds, whether or not they are a good point."""
    return base58.b58decode(did_key.removeprefix("did:key:z"))[2:]


def _what_it_is(text: str) -> str:
    if "#" in text:
        return "; leave the fragment behind # away"
    if text.startswith("did:") and not text.startswith("did:key:"):
        return "; other DID methods would have to be resolved, which needs the network"
    if not text.startswith("did:key:z") or len(text) > 1000:
        return ""
    try:
        raw = base58.b58decode(text.removeprefix("did:key:z"))
    except ValueError:
        return "; what follows z is no base58"
    kind = next((name for prefix, name in _OTHER_KEYS.items() if raw.startswith(prefix)), None)
    return "" if kind is None else f"; this one is of a key of type {kind}"
