"""Content-Digest (RFC 9530) compared with the content; verifying a signature does not do that (RFC 9421, 7.2.8)."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from conformance.oracles.message_signatures import structured
from conformance.oracles.message_signatures.components import Component
from conformance.oracles.message_signatures.faults import Code, Fault
from conformance.oracles.message_signatures.message import Message

FIELD: Final = "content-digest"
HASHES_BY_NAME: Final = {"sha-256": hashlib.sha256, "sha-512": hashlib.sha512}


@dataclass(frozen=True, slots=True)
class DigestReport:
    """What a message's Content-Digest says and what its content gives.

    Attributes:
        is_present: Whether the message has the field.
        is_covered: Whether the signature covers it.
        algorithm: The algorithm compared; sha-256 if there is no digest to compare.
        field_digest: The digest that the field gives for it, in base64; None if it gives no digest.
        content_digest: The content's digest, in base64.
        match: Whether every known digest matches; None if no digest was compared.
        faults: What is wrong.
    """

    is_present: bool
    is_covered: bool
    algorithm: str
    field_digest: str | None
    content_digest: str
    match: bool | None
    faults: tuple[Fault, ...] = ()


def digest_value(body: bytes, algorithm: str = "sha-256") -> str:
    """Return the Content-Digest field's value for a content."""
    digest = structured.Item(HASHES_BY_NAME[algorithm](body).digest())
    return structured.write_dictionary({algorithm: digest})


def compare(message: Message, components: Sequence[Component], *, is_required: bool) -> DigestReport:
    """Compare a message's Content-Digest with its content.

    Args:
        message: The message.
        components: What the signature covers.
        is_required: Whether a content that is not empty needs a covered digest.
    """
    # RFC 9421, 7.2.8: a signature over Content-Digest says nothing about the content. The
    # verifier must compare them itself.
    value = message.field(FIELD)
    is_covered = any(one.name == FIELD and not one.flags & {"req", "tr"} for one in components)
    if value is None:
        missing_faults = [_fault(Code.CONTENT_DIGEST_MISSING, "the message has content and no Content-Digest")]
        faults = missing_faults if is_required and message.body else []
        return DigestReport(False, is_covered, "sha-256", None, _text(_digest("sha-256", message)), None, tuple(faults))
    report = _compare_field(message, value, is_covered=is_covered)
    if is_required and message.body and not is_covered:
        text = "Content-Digest is present but not covered: it could be replaced together with the content"
        report = _with(report, _fault(Code.CONTENT_DIGEST_NOT_COVERED, text))
    return report


def _compare_field(message: Message, value: str, *, is_covered: bool) -> DigestReport:
    def report(algorithm: str, field_digest: bytes | None, match: bool | None, *faults: Fault) -> DigestReport:
        digest_text = None if field_digest is None else _text(field_digest)
        content_digest = _text(_digest(algorithm, message))
        return DigestReport(True, is_covered, algorithm, digest_text, content_digest, match, faults)

    try:
        digests = _read(value)
    except structured.Malformed as reason:
        text = f"Content-Digest is no dictionary of byte sequences: {reason}"
        return report("sha-256", None, None, _fault(Code.CONTENT_DIGEST_MALFORMED, text))
    # Unknown and insecure algorithms such as md5 prove nothing and are skipped.
    known_digests = {name: digest for name, digest in digests.items() if name in HASHES_BY_NAME}
    if not known_digests:
        text = f"Content-Digest has none of {', '.join(HASHES_BY_NAME)}: {', '.join(digests) or 'it is empty'}"
        return report("sha-256", None, None, _fault(Code.CONTENT_DIGEST_UNSUPPORTED, text))
    # RFC 9530 allows several digests. Every known one must match, so that an attacker cannot
    # hide behind a second one.
    for name, digest in known_digests.items():
        if digest != _digest(name, message):
            text = f"the content's {name} is {_text(_digest(name, message))}, the field says {_text(digest)}"
            return report(name, digest, False, _fault(Code.CONTENT_DIGEST_MISMATCH, text))
    name = next(iter(known_digests))
    return report(name, known_digests[name], True)


def _read(value: str) -> dict[str, bytes]:
    digests = {}
    for name, member in structured.read_dictionary(value, unique=True, canonical=HASHES_BY_NAME).items():
        if not isinstance(member, structured.Item) or not isinstance(member.value, bytes):
            raise structured.Malformed(f"{name} is not a byte sequence such as :…base64…:")
        digests[name] = member.value
    return digests


def _digest(algorithm: str, message: Message) -> bytes:
    return HASHES_BY_NAME[algorithm](message.body).digest()


def _text(raw: bytes) -> str:
    return structured.write_bare(raw).strip(":")


def _fault(code: Code, text: str) -> Fault:
    return Fault(code, text, f'"{FIELD}"')


def _with(report: DigestReport, fault: Fault) -> DigestReport:
    return DigestReport(
        report.is_present,
        report.is_covered,
        report.algorithm,
        report.field_digest,
        report.content_digest,
        report.match,
        (*report.faults, fault),
    )
