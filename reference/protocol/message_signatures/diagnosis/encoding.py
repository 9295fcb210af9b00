"""The signature's octets in another encoding than a byte sequence of them (RFC 9421 section 4.2)."""

from __future__ import annotations

import base64
import binascii
from collections.abc import Iterator
from itertools import islice

from reference.protocol.message_signatures import structured
from reference.protocol.message_signatures.diagnosis.suspect_trial import Case, Suspect, clip

_SIGNATURE_BYTES = 64
_MOST_LABELS = 16
_ADVICE = "Send the 64 octets of the signature as one byte sequence, :BASE64: (RFC 9421 section 4.2)."


def encodings(case: Case) -> Iterator[Suspect]:
    """The signature as it was sent, decoded once more or split."""
    signature = case.signature_input.signature
    for reading, octets in _readings(signature):
        yield Suspect(f"The signature holds when {reading}. {_ADVICE}", case.base.text, octets)


def of_other_labels(case: Case) -> Iterator[Suspect]:
    """The signature that was sent under another label of the same message."""
    try:
        signatures = structured.read_dictionary(case.message.fields.combine("signature") or "")
    except ValueError:
        return
    for label, member in islice(signatures.items(), _MOST_LABELS):
        value = member[0] if isinstance(member, tuple) else None
        if label != case.signature_input.label and isinstance(value, bytes):
            yield Suspect(
                f"The signature holds that was sent under label {clip(label)}: the labels of Signature-Input and"
                " Signature are mixed up. Give both the same label (RFC 9421 section 4.2).",
                case.base.text,
                value,
            )


def _readings(signature: bytes) -> Iterator[tuple[str, bytes]]:
    text = signature.decode("latin-1")
    yield "its base64 text is read as hex", _unhex(base64.b64encode(signature).decode().rstrip("="))
    yield "its octets are read as hex", _unhex(text)
    yield "its octets are read as base64", _unbase64(text)
    yield "its octets are read as base64url", _unbase64(text.translate(str.maketrans("-_", "+/")))
    yield "its octets are read in reverse order", signature[::-1]
    if len(signature) > _SIGNATURE_BYTES:
        yield "only its first 64 octets are taken, as from a signed message of NaCl", signature[:_SIGNATURE_BYTES]
        yield "only its last 64 octets are taken", signature[-_SIGNATURE_BYTES:]
    yield "its two halves change places", signature[32:] + signature[:32]


def _unhex(text: str) -> bytes:
    try:
        return bytes.fromhex(text)
    except ValueError:
        return b""


def _unbase64(text: str) -> bytes:
    try:
        return base64.b64decode(text + "=" * (-len(text) % 4), validate=True)
    except (binascii.Error, ValueError):
        return b""
