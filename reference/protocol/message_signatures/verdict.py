"""Whether a signed message is valid: one core for verify, explain and the paid rail (6.3, P-AG-08)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import http_sf

from reference.protocol.keys import KeyRejected
from reference.protocol.message_signatures import base, content_digest, parameters
from reference.protocol.message_signatures.algorithms import ED25519, ExpectedKey
from reference.protocol.message_signatures.base import Base
from reference.protocol.message_signatures.content_digest import DigestReport
from reference.protocol.message_signatures.faults import DIGEST, Fault
from reference.protocol.message_signatures.message import Message
from reference.protocol.message_signatures.parameters import CREATED, EXPIRES, Check
from reference.protocol.message_signatures.policy import Demands
from reference.protocol.message_signatures.request import MessageRequest
from reference.protocol.message_signatures.signature_input import Component, SignatureInput, read

SKEW_SECONDS = 60
_IN_JSON = frozenset({bool, int, str})
SPEC = "https://www.rfc-editor.org/rfc/rfc9421"
DIGEST_SPEC = "https://www.rfc-editor.org/rfc/rfc9530"


@dataclass(slots=True)
class Judged:
    """Everything that was found about one message.

    Attributes:
        message: The message.
        digest: What Content-Digest says.
        chosen: The signature that was judged, or None when the headers hold none to judge.
        base: Its base, or None without a signature.
        signature_valid: Whether the equation holds; None when it was not asked.
        faults: Reasons against the message.
    """

    message: Message
    digest: DigestReport
    chosen: SignatureInput | None = None
    base: Base | None = None
    signature_valid: bool | None = None
    faults: list[Fault] = field(default_factory=list)

    @property
    def codes(self) -> list[str]:
        """The code of each fault."""
        return [fault.code for fault in self.faults]


def judge(request: MessageRequest, *, now: int, skew: int = SKEW_SECONDS) -> Judged:
    """Judge what verify and explain are asked; the request's own `now` wins."""
    moment = now if request.now is None else request.now
    return judge_message(request.message(), request, request.expected_key(), now=moment, skew=skew)


def judge_message(
    message: Message, demands: Demands, expected: ExpectedKey | None, *, now: int, skew: int = SKEW_SECONDS
) -> Judged:
    """Judge a message. A fault in the two headers stops the work; all later faults are collected.

    Args:
        message: The message, with the request that it answers or its trailers where a signature covers them.
        demands: What the caller demands.
        expected: The key that the signer must hold; without one the equation is not asked.
        now: Unix seconds.
        skew: Seconds by which clocks may differ.
    """
    try:
        chosen = read(message.fields, demands.label)
    except Fault as fault:
        digest = content_digest.judge(message.fields, message.content, covered=False, required=False)
        return Judged(message, digest, faults=[fault])
    built = base.build(message, chosen)
    covered = content_digest.is_covered(chosen.components)
    digest = content_digest.judge(
        message.fields, message.content, covered=covered, required=demands.require_content_digest
    )
    judged = Judged(message, digest, chosen, built)
    algorithm = ED25519 if expected is None else expected.algorithm
    judged.faults += built.faults
    if demands.required_components:
        judged.faults += _required(demands, chosen)
    judged.faults += parameters.judge(demands, chosen, algorithm=algorithm, now=now, skew=skew)
    judged.faults += digest.faults
    if expected is not None:
        _decide(expected, chosen, built, judged)
    return judged


def _required(demands: Demands, chosen: SignatureInput) -> Iterator[Fault]:
    covered = {component.identity for component in chosen.components}
    for name in demands.required_components:
        try:
            missing = Component.named(name).identity not in covered
        except ValueError:
            missing = True
        if missing:
            yield Fault("required_component_missing", f"{name} must be covered and is not")


def _decide(expected: ExpectedKey, chosen: SignatureInput, built: Base, judged: Judged) -> None:
    try:
        holds = expected.verify(built.text.encode("ascii"), chosen.signature)
    except KeyRejected as fault:
        judged.signature_valid = False
        judged.faults.append(Fault("key_rejected", str(fault)))
        return
    # A base with nothing but parameters is a base; one that lacks a line is not, whatever holds over it.
    whole = not built.faults or all(fault.code == "empty_components" for fault in built.faults)
    judged.signature_valid = holds and whole
    if whole and not holds:
        judged.faults.append(Fault("signature_mismatch", "the signature is not this key's over this message"))


def result(request: MessageRequest, judged: Judged) -> dict[str, Any]:
    """Return the members that verify and explain share (6.3)."""
    chosen = judged.chosen
    codes = judged.codes
    failed = set(codes)
    text = "" if judged.base is None else judged.base.text
    return {
        "valid": None if request.expected_key() is None else judged.signature_valid is True and not codes,
        "errors": [fault.sentence for fault in judged.faults],
        "error_codes": codes,
        "checked": _checked(judged, failed),
        "signature_valid": judged.signature_valid,
        "content_digest_valid": _digest_valid(judged, failed),
        "signature_base": text,
        "signing_base": text,
        "covered_components": [component.plain for component in chosen.components] if chosen else [],
        "parameters": {name: _json(value) for name, value in chosen.parameters.items()} if chosen else {},
        "label": chosen.label if chosen else None,
        "spec_ref": SPEC,
        "digest_spec_ref": DIGEST_SPEC,
    }


def _digest_valid(judged: Judged, codes: set[str]) -> bool | None:
    if judged.chosen is None:
        return None
    return judged.digest.match if codes.isdisjoint(DIGEST) else False


def _checked(judged: Judged, codes: set[str]) -> dict[str, Check]:
    given = judged.chosen.parameters if judged.chosen else {}
    compared = judged.chosen is not None and judged.digest.match is not None
    return {
        "signature": _check(asked=judged.signature_valid is not None, failed=judged.signature_valid is False),
        "content_digest": _check(asked=compared, failed=not codes.isdisjoint(DIGEST)),
        "created": _check(asked="created" in given, failed=not codes.isdisjoint(CREATED)),
        "expires": _check(asked="expires" in given, failed=not codes.isdisjoint(EXPIRES)),
    }


def _check(*, asked: bool, failed: bool) -> Check:
    if failed:
        return "fail"
    return "pass" if asked else "skipped"


def _json(value: Any) -> bool | int | str:
    """Return a parameter as JSON has it; if JSON has no type for it, the text from the field."""
    return value if type(value) in _IN_JSON else str(http_sf.ser(value))


def verify(request: MessageRequest, *, now: int, skew: int = SKEW_SECONDS) -> dict[str, Any]:
    """Return the verify result: validity and a list of errors, never an exception for a bad signature.

    Args:
        request: Message, key and policy.
        now: Unix seconds; the request's own `now` wins.
        skew: Seconds by which clocks may differ (P-CV-09).
    """
    return result(request, judge(request, now=now, skew=skew))
