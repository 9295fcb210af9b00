"""Wrong constructions of v1, tried on a signature so that a breach can name its cause.

Pure. A construction is a key, a message and how they are joined. No construction here makes a signature valid.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import hmac
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from conformance.oracles.webhook_signature import SignatureHeader

# Signed strings over the raw body. The first is the most common one.
USUAL_STRINGS = (
    "{t}.{body}",
    "{body}",
    "{t}{body}",
    "{t}:{body}",
    "{t},{body}",
    "{t}\n{body}",
    "{body}.{t}",
    "{body}{t}",
)


@dataclass(frozen=True, slots=True)
class Construction:
    """A construction of v1.

    Attributes:
        description: The construction in words.
        is_raw: Whether it covers every byte of the body as delivered.
    """

    description: str
    is_raw: bool


def find_usual_string(header: SignatureHeader, key: bytes, body: bytes) -> str | None:
    """Return the usual signed string that a signature covers under a key, or None."""
    for string in USUAL_STRINGS:
        if _fits(header, key, _fill_string(string, str(header.t), body)):
            return string
    return None


def find_construction(
    header: SignatureHeader, secret: str, body: bytes, other_secrets: Mapping[str, str] | None = None
) -> Construction | None:
    """Return the first known construction of a signature, or None.

    Args:
        header: The parsed header.
        secret: The destination's secret.
        body: The body as delivered.
        other_secrets: Secrets of the tenant's other destinations, by their names.
    """
    for key_words, key in _keys(secret, other_secrets or {}):
        for message_words, message, is_raw in _messages(str(header.t), body):
            if _fits(header, key, message):
                return Construction(f"v1 is over {message_words}{key_words}", is_raw)
    return None


def _fits(header: SignatureHeader, key: bytes, message: bytes) -> bool:
    # A common mistake is a plain hash over key and message instead of an HMAC.
    digests = {hmac.new(key, message, hashlib.sha256).hexdigest(), hashlib.sha256(key + message).hexdigest()}
    return any(given.lower() in digests for given in header.v1)


def _fill_string(string: str, t: str, body: bytes) -> bytes:
    return string.replace("{t}", t).encode().replace(b"{body}", body)


def _keys(secret: str, other_secrets: Mapping[str, str]) -> Iterator[tuple[str, bytes]]:
    yield "", secret.encode()
    for name, other_secret in other_secrets.items():
        yield f", with the secret of the destination {name}", other_secret.encode()
    _, mark, without_prefix = secret.partition("_")
    bare = without_prefix if mark else secret
    if mark:
        yield ", with the secret without its prefix as the key", without_prefix.encode()
    for encoding, decode in (("hexadecimal", bytes.fromhex), ("base64", _base64)):
        try:
            yield f", with the secret read as {encoding} as the key", decode(bare)
        except (ValueError, binascii.Error):
            continue
    yield ", with the SHA-256 of the secret as the key", hashlib.sha256(secret.encode()).digest()
    yield (
        ", with the SHA-256 of the secret in hexadecimal as the key",
        hashlib.sha256(secret.encode()).hexdigest().encode(),
    )
    # A secret that was never configured signs with an empty key, which anyone can do.
    yield ", with an empty key", b""
    yield ", with the secret and a line end as the key", secret.encode() + b"\n"


def _base64(text: str) -> bytes:
    return base64.b64decode(text + "=" * (-len(text) % 4), altchars=b"-_" if {"-", "_"} & set(text) else None)


def _messages(t: str, body: bytes) -> Iterator[tuple[str, bytes, bool]]:
    for string in USUAL_STRINGS:
        yield f"the string {string!r}", _fill_string(string, t, body), True
    yield "the body and a line end after it", f"{t}.".encode() + body + b"\n", True
    yield "the body without white space around it", f"{t}.".encode() + body.strip(), False
    yield "the time alone", t.encode(), False
    yield "the time and a point alone", f"{t}.".encode(), False
    yield "the SHA-256 of the body in hexadecimal", f"{t}.{hashlib.sha256(body).hexdigest()}".encode(), False
    for place, value in _parts(body):
        for how, text in _texts(value):
            description = f"{place} {how}"
            yield f"the time, a point and {description}", f"{t}.".encode() + text, False
            yield description, text, False
            yield f"the time and {description}", t.encode() + text, False


def _parts(body: bytes) -> Iterator[tuple[str, Any]]:
    """Yield values that an implementation may have signed instead of the bytes: the event, and its members."""
    try:
        event = json.loads(body)
    except (ValueError, RecursionError):
        return
    yield "the event", event
    if isinstance(event, dict):
        for name in ("data", "id", "type"):
            if name in event:
                yield f"its member {name}", event[name]


def _texts(value: Any) -> Iterator[tuple[str, bytes]]:
    if isinstance(value, str):
        yield "as it is", value.encode("utf-8", "surrogatepass")
        return
    # An implementation that parses and serialises the event again signs other bytes. These are the
    # usual forms of serialisers.
    for order in (False, True):
        for ascii_only in (False, True):
            for how, separators, indent in (
                ("without white space", (",", ":"), None),
                ("with spaces", (", ", ": "), None),
                ("indented", (",", ": "), 2),
            ):
                form = f"{how}{', members sorted' if order else ''}{', ASCII only' if ascii_only else ''}"
                text = json.dumps(value, separators=separators, indent=indent, sort_keys=order, ensure_ascii=ascii_only)
                yield f"serialised again, {form}", text.encode("utf-8", "surrogatepass")
