"""Content-Digest: that the body is the one that was signed (RFC 9530; P-AG-06)."""

from __future__ import annotations

import base64
import hashlib
from dataclasses import dataclass
from typing import Any

import http_sf
from http_sf.errors import StructuredFieldError

from reference.protocol.message_signatures.faults import Fault
from reference.protocol.message_signatures.fields import Fields

ALGORITHMS = {"sha-256": "sha256", "sha-512": "sha512"}
FIELD = "content-digest"


@dataclass(frozen=True, slots=True)
class DigestReport:
    """What the digest says.

    Attributes:
        present: Whether the message has the field.
        covered: Whether the signature covers it.
        algorithm: The known algorithm that was compared, or None.
        provided: Its value in base64, or None.
        computed: The body's digest by that algorithm (sha-256 when there is none), in base64.
        match: Whether every known digest is the body's; None when none was compared.
        faults: What is wrong.
    """

    present: bool
    covered: bool
    algorithm: str | None
    provided: str | None
    computed: str
    match: bool | None
    faults: tuple[Fault, ...]


def judge(fields: Fields, body: bytes, *, covered: bool, required: bool) -> DigestReport:
    """Judge the digest of a body.

    Args:
        fields: The message's fields.
        body: Its content.
        covered: Whether the signature covers Content-Digest.
        required: Whether a non-empty body must have a covered digest.
    """
    text = fields.combined(FIELD)
    faults: list[Fault] = []
    if text is None:
        if required and body:
            faults.append(Fault("content_digest_missing", "the body is not covered: there is no Content-Digest"))
        return DigestReport(False, covered, None, None, compute("sha-256", body), None, tuple(faults))
    if required and body and not covered:
        faults.append(
            Fault("content_digest_not_covered", "Content-Digest is there and the signature does not cover it")
        )
    try:
        digests = _known(text)
    except Fault as fault:
        return DigestReport(True, covered, None, None, compute("sha-256", body), None, (*faults, fault))
    matches = all(compute(name, body) == value for name, value in digests.items())
    if not matches:
        faults.append(Fault("content_digest_mismatch", "the body is not the one whose digest was signed"))
    name = next(iter(digests))
    return DigestReport(True, covered, name, digests[name], compute(name, body), matches, tuple(faults))


def compute(algorithm: str, body: bytes) -> str:
    """Return the digest of a body in base64."""
    return base64.b64encode(hashlib.new(ALGORITHMS[algorithm], body).digest()).decode()


def _known(text: str) -> dict[str, str]:
    try:
        parsed: Any = http_sf.parse(text.encode("ascii"), tltype="dictionary")
    except (StructuredFieldError, UnicodeEncodeError, ValueError) as fault:
        raise Fault("content_digest_malformed", "Content-Digest is no structured dictionary") from fault
    known: dict[str, str] = {}
    for name, member in parsed.items():
        value = member[0] if isinstance(member, tuple) else None
        if not isinstance(value, bytes):
            raise Fault("content_digest_malformed", "a digest is no byte sequence")
        encoded = base64.b64encode(value).decode()
        if name in ALGORITHMS:
            if f":{encoded}:" not in text:
                raise Fault("content_digest_malformed", "a digest is not canonical base64")
            known[name] = encoded
    if not known:
        raise Fault("content_digest_unsupported", "no digest of a known algorithm (sha-256, sha-512)")
    return known
