"""The verdict on a signed message: one core for verify, explain and the paid rail (6.3, P-AG-08)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import http_sf

from reference.protocol.keys import KeyRejected
from reference.protocol.message_signatures import base, content_digest, parameter_policy
from reference.protocol.message_signatures.algorithms import ED25519, ExpectedKey
from reference.protocol.message_signatures.base import Base
from reference.protocol.message_signatures.content_digest import DigestReport
from reference.protocol.message_signatures.faults import DIGEST, Fault
from reference.protocol.message_signatures.message import Message
from reference.protocol.message_signatures.parameter_policy import CREATED_FAULTS, EXPIRES_FAULTS, Check
from reference.protocol.message_signatures.policy import Demands
from reference.protocol.message_signatures.request import MessageRequest
from reference.protocol.message_signatures.signature_input import Component, SignatureInput, select_signature

SKEW_SECONDS = 60
_IN_JSON = frozenset({bool, int, str})
SPEC = "https://www.rfc-editor.org/rfc/rfc9421"
DIGEST_SPEC = "https://www.rfc-editor.org/rfc/rfc9530"


@dataclass(slots=True)
class MessageVerdict:
    """The verdict on one message, with the data it is based on.

    Attributes:
        message: The message.
        digest: What Content-Digest says.
        signature_input: The signature that was judged, or None when the headers hold none to judge.
        base: Its base, or None without a signature.
        signature_valid: Whether the equation holds; None if it was not checked.
        faults: Reasons against the message.
    """

    message: Message
    digest: DigestReport
    signature_input: SignatureInput | None = None
    base: Base | None = None
    signature_valid: bool | None = None
    faults: list[Fault] = field(default_factory=list)

    @property
    def codes(self) -> list[str]:
        """The code of each fault, in order."""
        return [fault.code for fault in self.faults]


def judge(request: MessageRequest, *, now: int, skew: int = SKEW_SECONDS) -> MessageVerdict:
    """Judge the request of verify or explain; the request's `now` goes before the clock's."""
    moment = now if request.now is None else request.now
    return judge_message(request.message(), request, request.expected_key(), now=moment, skew=skew)


def judge_message(
    message: Message, demands: Demands, expected_key: ExpectedKey | None, *, now: int, skew: int = SKEW_SECONDS
) -> MessageVerdict:
    """Judge a message. A fault in the two headers stops the work; all later faults are collected.

    Args:
        message: The message, with the request that it answers or its trailers where a signature covers them.
        demands: What the caller demands.
        expected_key: The key that the signer must hold; without a key the equation is not checked.
        now: Unix seconds.
        skew: Seconds by which clocks may differ.
    """
    try:
        signature_input = select_signature(message.fields, demands.label)
    except Fault as fault:
        digest = content_digest.judge(message.fields, message.content, is_covered=False, is_required=False)
        return MessageVerdict(message, digest, faults=[fault])
    signature_base = base.build(message, signature_input)
    is_digest_covered = content_digest.is_covered(signature_input.components)
    digest = content_digest.judge(
        message.fields, message.content, is_covered=is_digest_covered, is_required=demands.require_content_digest
    )
    verdict = MessageVerdict(message, digest, signature_input, signature_base)
    algorithm = ED25519 if expected_key is None else expected_key.algorithm
    verdict.faults += signature_base.faults
    # All faults after the headers are collected, so that a signer can mend everything in one go (6.3).
    if demands.required_components:
        verdict.faults += _find_uncovered(demands, signature_input)
    verdict.faults += parameter_policy.judge(demands, signature_input, algorithm=algorithm, now=now, skew=skew)
    verdict.faults += digest.faults
    if expected_key is not None:
        _decide(expected_key, signature_input, signature_base, verdict)
    return verdict


def _find_uncovered(demands: Demands, signature_input: SignatureInput) -> Iterator[Fault]:
    covered_identities = {component.identity for component in signature_input.components}
    for name in demands.required_components:
        try:
            is_missing = Component.from_text(name).identity not in covered_identities
        except ValueError:
            is_missing = True
        if is_missing:
            yield Fault("required_component_missing", f"{name} must be covered and is not")


def _decide(
    expected_key: ExpectedKey, signature_input: SignatureInput, signature_base: Base, verdict: MessageVerdict
) -> None:
    try:
        holds = expected_key.verify(signature_base.text.encode("ascii"), signature_input.signature)
    except KeyRejected as fault:
        verdict.faults.append(Fault("key_rejected", str(fault)))
        return
    # 6.3: "the equation is not asked over" a base that lacks a line. A base of parameters alone lacks no line.
    if any(fault.code != "empty_components" for fault in signature_base.faults):
        return
    verdict.signature_valid = holds
    if not holds:
        verdict.faults.append(Fault("signature_mismatch", "the signature is not this key's over this message"))


def result(request: MessageRequest, verdict: MessageVerdict) -> dict[str, Any]:
    """Return the members that verify and explain share (6.3)."""
    signature_input = verdict.signature_input
    codes = verdict.codes
    # A fault in the headers leaves base, components and parameters empty, because nothing of the signature could be
    # read (6.3).
    code_set = set(codes)
    text = "" if verdict.base is None else verdict.base.text
    return {
        "valid": None if request.expected_key() is None else verdict.signature_valid is True and not codes,
        "errors": [fault.sentence for fault in verdict.faults],
        "error_codes": codes,
        "checked": _describe_checks(verdict, code_set),
        "signature_valid": verdict.signature_valid,
        "content_digest_valid": _digest_valid(verdict, code_set),
        "signature_base": text,
        "signing_base": text,
        "covered_components": [component.plain for component in signature_input.components] if signature_input else [],
        "parameters": {name: _json(value) for name, value in signature_input.parameters.items()}
        if signature_input
        else {},
        "label": signature_input.label if signature_input else None,
        "spec_ref": SPEC,
        "digest_spec_ref": DIGEST_SPEC,
    }


def _digest_valid(verdict: MessageVerdict, codes: set[str]) -> bool | None:
    if verdict.signature_input is None:
        return None
    return verdict.digest.match if codes.isdisjoint(DIGEST) else False


def _describe_checks(verdict: MessageVerdict, codes: set[str]) -> dict[str, Check]:
    signature_parameters = verdict.signature_input.parameters if verdict.signature_input else {}
    is_digest_compared = verdict.signature_input is not None and verdict.digest.match is not None
    return {
        "signature": _check(has_run=verdict.signature_valid is not None, has_failed=verdict.signature_valid is False),
        "content_digest": _check(has_run=is_digest_compared, has_failed=not codes.isdisjoint(DIGEST)),
        "created": _check(has_run="created" in signature_parameters, has_failed=not codes.isdisjoint(CREATED_FAULTS)),
        "expires": _check(has_run="expires" in signature_parameters, has_failed=not codes.isdisjoint(EXPIRES_FAULTS)),
    }


def _check(*, has_run: bool, has_failed: bool) -> Check:
    if has_failed:
        return "fail"
    return "pass" if has_run else "skipped"


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
