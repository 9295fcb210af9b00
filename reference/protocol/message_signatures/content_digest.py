"""Content-Digest: whether the body is the one that was signed (RFC 9530; P-AG-06)."""

from __future__ import annotations

import base64
import hashlib
import re
from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

from reference.protocol.message_signatures import structured
from reference.protocol.message_signatures.faults import Fault
from reference.protocol.message_signatures.fields import Fields
from reference.protocol.message_signatures.signature_input import Component

ALGORITHMS = {"sha-256": hashlib.sha256, "sha-512": hashlib.sha512}
FIELD = "content-digest"
_QUOTED_STRING = re.compile(r'"(?:[^"\\]|\\.)*"')
_DIGEST_MEMBER = re.compile(r"(?:^|,)[ \t]*([a-z*][a-z0-9_.*-]*)=:([A-Za-z0-9+/=]*):")


class DigestReport(NamedTuple):
    """The result of comparing the digest with the body.

    Attributes:
        present: Whether the message has the field.
        is_covered: Whether the signature covers it.
        algorithm: The known algorithm that was compared, or None.
        provided_digest: Its value in base64, or None.
        computed_digest: The body's digest by that algorithm (sha-256 without `algorithm`), in base64.
        match: Whether every known digest is the body's; None when none was compared.
        faults: What is wrong.
    """

    present: bool
    is_covered: bool
    algorithm: str | None
    provided_digest: str | None
    computed_digest: str
    match: bool | None
    faults: tuple[Fault, ...]


def judge(fields: Fields, body: bytes, *, is_covered: bool, is_required: bool) -> DigestReport:
    """Judge the digest of a body.

    Args:
        fields: The message's fields.
        body: Its content.
        is_covered: Whether the signature covers Content-Digest.
        is_required: Whether a non-empty body must have a covered digest.
    """
    text = fields.combine(FIELD)
    faults: list[Fault] = []
    if text is None:
        if is_required and body:
            faults.append(Fault("content_digest_missing", "the body is not covered: there is no Content-Digest"))
        return DigestReport(False, is_covered, None, None, compute("sha-256", body), None, tuple(faults))
    if is_required and body and not is_covered:
        faults.append(
            Fault("content_digest_not_covered", "Content-Digest is there and the signature does not cover it")
        )
    # Nearly every message has one SHA-256 digest. It is compared as text, without parsing the field.
    everyday = compute("sha-256", body)
    if text == f"sha-256=:{everyday}:":
        return DigestReport(True, is_covered, "sha-256", everyday, everyday, True, tuple(faults))
    try:
        digests = _parse_digests(text)
    except Fault as fault:
        return DigestReport(True, is_covered, None, None, everyday, None, (*faults, fault))
    body_digests = {name: compute(name, body) for name in digests}
    # Every known digest must match, and not only the strongest: two verifiers that know different algorithms would
    # see different bodies (P-AG-06).
    if body_digests != digests:
        faults.append(Fault("content_digest_mismatch", "the body is not the one whose digest was signed"))
    name = next(iter(digests))
    return DigestReport(
        True, is_covered, name, digests[name], body_digests[name], body_digests == digests, tuple(faults)
    )


def is_covered(components: Iterable[Component]) -> bool:
    """Return whether one of the covered components protects the body: the whole field, or a known digest in it."""
    for component in components:  # noqa: SIM110 - a generator costs more than what it asks
        if component.name == FIELD and _protects(component.parameters):
            return True
    return False


def _protects(parameters: Mapping[str, Any]) -> bool:
    # With `req` the digest is that of the related request, and with `tr` that of a trailer. Neither protects this
    # body.
    return not parameters or (
        parameters.get("key", "sha-256") in ALGORITHMS and parameters.keys().isdisjoint({"req", "tr"})
    )


def compute(algorithm: str, body: bytes) -> str:
    """Return the digest of a body in base64."""
    return base64.b64encode(ALGORITHMS[algorithm](body).digest()).decode()


def _parse_digests(text: str) -> dict[str, str]:
    try:
        members = structured.read_dictionary(text)
    except ValueError as fault:
        raise Fault(
            "content_digest_malformed", "Content-Digest is not a structured dictionary, or it names an algorithm twice"
        ) from fault
    if not all(isinstance(value, bytes) for value, _ in members.values()):
        raise Fault("content_digest_malformed", "a digest is not a byte sequence")
    digests = {name: base64.b64encode(value).decode() for name, (value, _) in members.items() if name in ALGORITHMS}
    if not _is_canonical(text, digests):
        raise Fault("content_digest_malformed", "a digest is not canonical base64")
    if not digests:
        raise Fault("content_digest_unsupported", "no digest of a known algorithm (sha-256, sha-512)")
    return digests


def _is_canonical(text: str, digests: Mapping[str, str]) -> bool:
    """Return whether the field writes each digest as an encoder would."""
    # One digest has one text here. The parser also accepts missing padding and spare bits, as RFC 8941 requires
    # (decision 0005).
    if text == ", ".join([f"{name}=:{value}:" for name, value in digests.items()]):
        return True
    written_digests = dict(_DIGEST_MEMBER.findall(_QUOTED_STRING.sub("", text)))
    return all(written_digests.get(name) == value for name, value in digests.items())
