"""Whether a signed message is valid: one core for verify, explain and the paid rail (profile 6.3, P-AG-08)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from reference.protocol.keys import KeyRejected, PublicKey
from reference.protocol.message_signatures import base, content_digest, signature_input
from reference.protocol.message_signatures.content_digest import DigestReport
from reference.protocol.message_signatures.faults import DIGEST, Fault
from reference.protocol.message_signatures.fields import Fields
from reference.protocol.message_signatures.request import MessageRequest
from reference.protocol.message_signatures.signature_input import SignatureInput

ALGORITHM = "ed25519"
SKEW_SECONDS = 60
SPEC = "https://www.rfc-editor.org/rfc/rfc9421"
DIGEST_SPEC = "https://www.rfc-editor.org/rfc/rfc9530"


@dataclass(slots=True)
class Judged:
    """Everything that was found about one message."""

    faults: list[Fault] = field(default_factory=list)
    chosen: SignatureInput | None = None
    base: str = ""
    signature_valid: bool | None = None
    digest: DigestReport | None = None
    checked: dict[str, str] = field(
        default_factory=lambda: dict.fromkeys(("signature", "content_digest", "created", "expires"), "skipped")
    )


def judge(request: MessageRequest, *, now: int, skew: int = SKEW_SECONDS) -> Judged:
    """Judge a message. A fault in the two headers stops the work; all later faults are collected.

    Args:
        request: Message, key and policy.
        now: Unix seconds; the request's own `now` wins.
        skew: Seconds by which clocks may differ.
    """
    judged = Judged()
    fields = Fields(request.headers)
    try:
        chosen = signature_input.read(fields, request.label)
    except Fault as fault:
        judged.faults.append(fault)
        return judged
    judged.chosen = chosen
    built = base.build(request, fields, chosen)
    judged.base = built.text
    judged.faults += built.faults
    judged.faults += _required(request, chosen)
    judged.faults += _parameters(request, chosen, judged, request.now if request.now is not None else now, skew)
    covered = any(component.name == content_digest.FIELD for component in chosen.components)
    judged.digest = content_digest.judge(fields, request.body, covered=covered, required=request.require_content_digest)
    judged.faults += judged.digest.faults
    if judged.digest.faults or judged.digest.match is not None:
        judged.checked["content_digest"] = "fail" if judged.digest.faults else "pass"
    _equation(request, chosen, built, judged)
    return judged


def _required(request: MessageRequest, chosen: SignatureInput) -> Iterator[Fault]:
    covered = {component.name for component in chosen.components}
    covered |= {component.identifier for component in chosen.components}
    for name in request.required_components:
        if name not in covered:
            yield Fault("required_component_missing", f"{name} must be covered and is not")


def _parameters(
    request: MessageRequest, chosen: SignatureInput, judged: Judged, now: int, skew: int
) -> Iterator[Fault]:
    given = chosen.parameters
    if given.get("alg", ALGORITHM) != ALGORITHM or ALGORITHM not in request.allowed_algorithms:
        yield Fault("alg_not_allowed", "the signature's algorithm is not among those allowed")
    if request.expected_tag is not None and given.get("tag") != request.expected_tag:
        yield Fault("tag_mismatch", "the signature's tag is not the expected one")
    if "created" in given:
        future = given["created"] > now + skew
        old = request.max_age_seconds is not None and now - given["created"] > request.max_age_seconds
        judged.checked["created"] = "fail" if future or old else "pass"
        if future:
            yield Fault("created_in_future", "the signature was created in the future; compare the clocks")
        if old:
            yield Fault("too_old", "the signature is older than max_age_seconds")
    elif request.max_age_seconds is not None:
        judged.checked["created"] = "fail"
        yield Fault("too_old", "the signature bears no created time, so its age is unknown")
    if "expires" in given:
        expired = given["expires"] < now - skew
        judged.checked["expires"] = "fail" if expired else "pass"
        if expired:
            yield Fault("expired", "the signature has expired")


def _equation(request: MessageRequest, chosen: SignatureInput, built: base.Base, judged: Judged) -> None:
    raw = request.key_bytes()
    if raw is None:
        return
    try:
        key = PublicKey(raw)
    except KeyRejected as fault:
        judged.faults.append(Fault("key_rejected", str(fault)))
        judged.signature_valid = False
        judged.checked["signature"] = "fail"
        return
    if built.faults:
        judged.checked["signature"] = "fail"
        judged.signature_valid = False
        return
    judged.signature_valid = key.verify(judged.base.encode(), chosen.signature)
    judged.checked["signature"] = "pass" if judged.signature_valid else "fail"
    if not judged.signature_valid:
        judged.faults.append(Fault("signature_mismatch", "the signature is not this key's over this message"))


def result(request: MessageRequest, judged: Judged) -> dict[str, Any]:
    """Return the members that verify and explain share (profile 6.3)."""
    digest_faults = [fault for fault in judged.faults if fault.code in DIGEST]
    digest_valid = None if judged.digest is None else judged.digest.match
    has_key = request.key_bytes() is not None
    return {
        "valid": not judged.faults and judged.signature_valid is True if has_key or judged.faults else None,
        "errors": [fault.sentence for fault in judged.faults],
        "error_codes": [fault.code for fault in judged.faults],
        "checked": judged.checked,
        "signature_valid": judged.signature_valid,
        "content_digest_valid": False if digest_faults else digest_valid,
        "signature_base": judged.base,
        "signing_base": judged.base,
        "covered_components": [] if judged.chosen is None else [one.identifier for one in judged.chosen.components],
        "parameters": {} if judged.chosen is None else dict(judged.chosen.parameters),
        "label": None if judged.chosen is None else judged.chosen.label,
        "spec_ref": SPEC,
        "digest_spec_ref": DIGEST_SPEC,
    }


def verify(request: MessageRequest, *, now: int) -> dict[str, Any]:
    """Return the verify result: validity and a list of errors, never an exception for a bad signature."""
    return result(request, judge(request, now=now))
