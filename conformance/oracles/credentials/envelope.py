"""The envelope that every credential, token and ZK receipt comes in (P-AD-06), opened and not yet believed."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any, Final

from conformance.oracles.ed25519_keys import KeyFault, decode_base64url
from conformance.oracles.hash_recipes import jcs_bytes
from conformance.oracles.json_acceptance import has_large_integer, parse_json

DECODE: Final = "envelope_decode"
SHAPE: Final = "envelope_shape"
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
# Python's parser accepts more forms than RFC 3339, such as a date alone.
_INSTANT = re.compile(
    r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d{1,9})?(?:Z|[+-]\d\d:\d\d)",
    re.ASCII,
)


class NoEnvelope(ValueError):
    """A text is no envelope; the words are `envelope_decode` or `envelope_shape`."""


@dataclass(frozen=True, slots=True)
class Envelope:
    """An envelope by its members.

    Attributes:
        payload: What is signed, as JSON.
        alg: The algorithm that it names.
        kid: The key that it names.
        signature: Bytes of the signature, whatever they are.
        signed_bytes: The payload's RFC 8785 form, which a signature must cover.
    """

    payload: Mapping[str, Any]
    alg: str
    kid: str
    signature: bytes = field(repr=False)
    signed_bytes: bytes = field(repr=False)

    @property
    def content_hash(self) -> str:
        """SHA-256 of what is signed, hex (P-CV-06)."""
        return hashlib.sha256(self.signed_bytes).hexdigest()


def open_envelope(text: str) -> Envelope:
    """Return the envelope that a text contains; members other than the four are not signed and are ignored.

    Raises:
        NoEnvelope: The text is not base64url of JSON by P-CV-02, or the JSON has not the shape of P-AD-06.
    """
    try:
        # Decoding and shape have different reasons, because the two faults have different
        # causes for an issuer.
        members = parse_json(decode_base64url(text), duplicates=False)
    except (KeyFault, ValueError) as fault:
        raise NoEnvelope(DECODE) from fault
    envelope_members = members if isinstance(members, dict) else {}
    payload, texts = envelope_members.get("payload"), [envelope_members.get(name) for name in ("alg", "kid", "sig")]
    if not isinstance(payload, dict) or not all(isinstance(one, str) for one in texts):
        raise NoEnvelope(SHAPE)
    alg, kid, sig = (str(one) for one in texts)
    try:
        # The texts must be valid Unicode: half of a surrogate pair has no canonical form.
        jcs_bytes([alg, kid])
        # Nothing at all is a signature of no bytes.
        return Envelope(payload, alg, kid, decode_base64url(sig) if sig else b"", _canonical(payload))
    except (KeyFault, ValueError) as fault:
        raise NoEnvelope(SHAPE) from fault


def _canonical(payload: Mapping[str, Any]) -> bytes:
    """Return the RFC 8785 form of a payload.

    Raises:
        ValueError: It has none (P-CV-20).
    """
    # The JCS library would round such an integer, and the signature would cover another number.
    if has_large_integer(payload):
        raise ValueError("an integer beyond 2^53 - 1")
    return jcs_bytes(payload)


def unix_of(text: str) -> int:
    """Return the whole Unix seconds of an instant as RFC 3339 writes it; a time without a zone is not one (P-CV-04).

    Raises:
        ValueError: It is not an instant.
    """
    if _INSTANT.fullmatch(text) is None:
        raise ValueError("no instant")
    return (datetime.fromisoformat(text) - _EPOCH) // timedelta(seconds=1)
