"""The signature of one webhook attempt: HMACs over its time and the bytes of its body (P-WH-04 to P-WH-06)."""

from __future__ import annotations

import hmac
from functools import lru_cache

from Crypto.Hash import SHA256
from Crypto.Protocol.KDF import HKDF

from reference.protocol.service_word import ServiceWord

_V2_KEY_BYTES = 48
_V2_INFO = b"hmac-sha384-outbound"


def header_name(word: ServiceWord) -> str:
    """Return the name of the header, `X-<Service>-Signature`."""
    return f"X-{word.word}-Signature"


def header_value(secret: str, body: bytes, *, t: int, word: ServiceWord | None = None) -> str:
    """Return `t=<unix>,v1=<hex>`, with `,v2=<hex>` behind it when a service word is given, whose salt v2 needs.

    Args:
        secret: The destination's secret, its whole text.
        body: The bytes that are sent.
        t: Unix seconds of the attempt.
        word: The service word, for v2; None leaves v2 out.
    """
    value = f"t={t},v1={v1(secret, body, t=t)}"
    return value if word is None else f"{value},v2={v2(secret, body, t=t, word=word)}"


def v1(secret: str, body: bytes, *, t: int) -> str:
    """Return HMAC-SHA256 under the secret's UTF-8 bytes, 64 lower-case hex digits (P-WH-05)."""
    hmac_state = _v1_hmac(secret).copy()
    hmac_state.update(signed_bytes(body, t=t))
    return hmac_state.hexdigest()


@lru_cache(maxsize=256)
def _v1_hmac(secret: str) -> hmac.HMAC:
    """Return the keyed HMAC of v1, to be copied: hashing the key is half of the work."""
    return hmac.new(secret.encode(), digestmod="sha256")


def v2(secret: str, body: bytes, *, t: int, word: ServiceWord) -> str:
    """Return HMAC-SHA384 under the derived key, 96 lower-case hex digits (P-WH-06)."""
    return hmac.digest(v2_key(secret, word), signed_bytes(body, t=t), "sha384").hex()


@lru_cache(maxsize=256)
def v2_key(secret: str, word: ServiceWord) -> bytes:
    """Return the 48-byte key of v2: HKDF-SHA256 of the secret's bytes."""
    # A key derived separately, so that v1 and v2 never share one, although the receiver holds one secret (P-WH-06).
    salt = f"{word.lower}-webhook-v2-pqc".encode()
    key = HKDF(secret.encode(), _V2_KEY_BYTES, salt, SHA256, context=_V2_INFO)
    if not isinstance(key, bytes):
        raise TypeError("one key was asked for")
    return key


def signed_bytes(body: bytes, *, t: int) -> bytes:
    """Return what is signed: the decimal time, a full stop, the body."""
    # The time is part of the message, so that a captured delivery cannot be presented later with a new time.
    return b"%d.%b" % (t, body)
