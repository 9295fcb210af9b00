"""The envelope of credentials, tokens and ZK receipts: a payload and a Falcon signature over its JCS (P-AD-06)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from reference.protocol import falcon
from reference.protocol.canonical_json import NotCanonical, NotJson, canonicalise, parse
from reference.protocol.keys import base64url, from_base64url

DECODE = "envelope_decode"
SHAPE = "envelope_shape"


class EnvelopeFault(ValueError):
    """The text is not an envelope.

    Attributes:
        reason: `envelope_decode` or `envelope_shape`.
    """

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


@dataclass(frozen=True, slots=True)
class Envelope:
    """An envelope that was opened. Nothing in it is verified yet.

    Attributes:
        payload: What is signed.
        alg: Algorithm that it names.
        kid: Key that it names.
        signature: The signature's bytes.
        signed_bytes: The bytes that the signature covers: JCS of the payload.
    """

    payload: Mapping[str, Any]
    alg: str
    kid: str
    signature: bytes = field(repr=False)
    signed_bytes: bytes = field(repr=False)


def open_envelope(text: str) -> Envelope:
    """Open an envelope.

    Args:
        text: Base64url without padding of `{"payload":{…},"alg":…,"kid":…,"sig":<base64url>}`.

    Raises:
        EnvelopeFault: It is not base64url of JSON (`envelope_decode`), or not of that shape (`envelope_shape`).
    """
    try:
        members = parse(from_base64url(text))
    # Two codes: a text that is not base64url of JSON has another cause, a damaged transport, than JSON of the wrong
    # shape.
    except (NotJson, ValueError) as fault:
        raise EnvelopeFault(DECODE) from fault
    if not isinstance(members, dict):
        raise EnvelopeFault(SHAPE)
    # Other members are ignored, because no signature covers them (P-AD-06).
    payload, alg, kid, sig = (members.get(name) for name in ("payload", "alg", "kid", "sig"))
    if not (isinstance(payload, dict) and isinstance(alg, str) and isinstance(kid, str) and isinstance(sig, str)):
        raise EnvelopeFault(SHAPE)
    try:
        canonicalise([alg, kid])  # an answer repeats both, so they must be writable as UTF-8
        return Envelope(payload, alg, kid, from_base64url(sig), canonicalise(payload))
    except (NotCanonical, ValueError) as fault:
        raise EnvelopeFault(SHAPE) from fault


def signed_bytes(payload: Mapping[str, Any]) -> bytes:
    """Return what a signature over a payload covers: its JCS.

    Raises:
        NotCanonical: The payload has no RFC 8785 form.
    """
    return canonicalise(payload)


def with_signature(payload: Mapping[str, Any], kid: str, signature: bytes) -> str:
    """Return the envelope of a payload that was signed with Falcon-1024.

    Raises:
        NotCanonical: The payload has no RFC 8785 form.
    """
    members = {"payload": payload, "alg": falcon.ALGORITHM, "kid": kid, "sig": base64url(signature)}
    return base64url(canonicalise(members))
