"""RAIL-SVC-02: the rail's paid verification accepts a sound signed message and rejects forged ones."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from typing import Any, Final

from conformance.checks.shared.agent_rail_agreement import FAMILY_MEMBERS
from conformance.discovery.rail import Operation
from conformance.engine import clock
from conformance.engine.check import Case, check
from conformance.engine.concurrent_check_steps import run_concurrently
from conformance.engine.quick_policy import sample
from conformance.http.client import Answer
from conformance.oracles.message_signatures import keys
from conformance.oracles.message_signatures.digests import digest_value
from conformance.outcome import Inconclusive, OpenPoint
from conformance.surfaces.agent import Agent, Subject, answer_reader, signer
from conformance.surfaces.agent import subject as signed
from conformance.surfaces.agent.subjects import BODY, raw_public
from conformance.surfaces.rail.documented_request_members import described_members
from conformance.surfaces.rail.paid_answers import ABSENT, brief, result_of
from conformance.surfaces.rail.purchase import purchase
from conformance.target import REFERENCE_AGENT

_ROW: Final = "RAIL-SVC-02"
_UNREADABLE_VALIDITY: Final = (
    "the result states validity in words that the interface leaves open, and the suite cannot read them"
)
_CONTENT_MEMBER: Final = "body_b64"
_OTHER_BODY: Final = BODY.replace(b"7", b"8")
_DAY_SECONDS: Final = 86_400
# Seconds by which clocks may differ (P-AG-05), where the profile binds no other number for the free verification.
_SKEW_SECONDS: Final = 60
# A shorter skew cannot be distinguished from the time that a call takes.
_LEAST_SKEW_SECONDS: Final = 10
_CLOCKS_ARE_OPEN: Final = OpenPoint("how far the clocks of two servers may differ is left open", "P-AG-05")
# Forgeries that the interface does not surely forbid, with what it leaves open. They only warn.
_OPEN_POINTS: Final[Mapping[str, str]] = {
    "expired a day ago": "how far the clocks of two servers may differ is left open"
}


@check(
    _ROW,
    surface="rail",
    fix="Verify paid messages as the free agent does. Use only the key that the caller expects, given as hex or "
    "did:key. Build the signature base from the received message. Compare Content-Digest with the content.",
    quick=sample("forged messages"),
)
async def sold_messages_are_verified(case: Case) -> None:
    """The paid message verification finds a sound message valid, and no forged one.

    Buys on one lane the verification of a soundly signed message, with its key in hex and as did:key. Expects both
    valid (6.3). If one is, buys the verification of forged ones and expects none valid: another path; other content
    with the signed Content-Digest, and with its own (6.3, P-AG-06); another signer, whom keyid names (P-AG-04); an alg
    that does not fit the key (RFC 9421, 3.2); and expired a day ago (P-AG-05), which only warns. Then buys that of
    messages made or expired within the skew of clocks, and beyond it. Expects that the former are valid and the latter
    are not, which decides at a target that claims the specification.

    A service with unknown names for the members of a message is not judged. On another target than the reference, a
    sound message that is not valid only warns, and one that is refused is not judged.
    """
    operation, lanes = case.session.catalog.find_service("rfc9421-verify"), case.profile.claims.lanes
    if not dict(_list_members(operation)).keys() >= FAMILY_MEMBERS or not operation.is_accepted or not lanes:
        case.mark_not_applicable(_ROW, "how this service takes a message is not known, and so not what it verifies")
        return
    owner = signer(case)
    sound = signed(case, owner)
    spellings = {"its key in hex": sound, "its key as did:key": sound.with_expected_key(sound.key, "did")}
    validities = await run_concurrently(_judge_sound(case, operation, *spelling) for spelling in spellings.items())
    # No sound message was accepted, so a rejected forgery would prove nothing.
    if True not in validities:
        case.mark_not_applicable(_ROW, _UNREADABLE_VALIDITY)
        return
    form = sound if validities[0] is True else spellings["its key as did:key"]
    # Forgeries use the spelling of the key that the service accepted, so that the key's form cannot be the reason of a
    # refusal.
    trials = dict(list_forgeries(case, owner, form))
    if not await _takes_content(case, operation):
        # Without the content the service can check only the signature, which still holds for this forgery.
        del trials["another content"]
        reason = f"no document says that {operation.path} accepts the content of a message as {_CONTENT_MEMBER}"
        case.mark_documented(_ROW, f"{reason}; bind [rail.bodies] {operation.role} with it")
    trial_sample = case.sample(list(trials.items()), few=2)
    await run_concurrently(_judge_forged(case, operation, *trial) for trial in trial_sample)
    await _judge_times(case, operation, owner, form)


async def _judge_times(case: Case, operation: Operation, owner: Any, sound: Subject) -> None:
    """Judge that times within the skew of clocks are accepted, and later ones are not (P-AG-05)."""
    bound_skew = case.profile.agent_bindings.skew
    skew = _SKEW_SECONDS if bound_skew is None else bound_skew
    now, within_seconds, beyond_seconds = clock.now(case), skew // 2, 2 * skew + 60
    trials = [
        ("created beyond the skew ahead of now", {"created": now + beyond_seconds}, False),
        ("expired beyond the skew before now", {"expires": now - beyond_seconds}, False),
    ]
    if skew >= _LEAST_SKEW_SECONDS:
        trials.append(("created within the skew ahead of now", {"created": now + within_seconds}, True))
        trials.append(("expired within the skew before now", {"expires": now - within_seconds}, True))

    async def judge(description: str, times: Mapping[str, int], is_valid: bool) -> None:
        for name, value in times.items():
            case.client.names.name(str(value), name.upper())
        subject = signed(case, owner, parameters=times).with_expected_key(sound.key, sound.form)
        try:
            answer, validity = await _buy_verification(case, operation, subject)
        except Inconclusive as reason:
            case.note(f"{operation.path}, {description}: {reason}")
            return
        if is_valid and clock.now(case) - now > within_seconds:
            case.note(f"{description}: the call took longer than {within_seconds} s, so its verdict shows nothing")
            return
        expectation, where = "valid" if is_valid else "not valid", {"operation": operation.path, "message": description}
        holds, finding = (validity is True) == is_valid, f"valid: {validity}"
        case.expect(_ROW, holds, expectation, finding, exchange=answer, where=where, beyond=_CLOCKS_ARE_OPEN)

    await run_concurrently(judge(*trial) for trial in case.sample(trials, lambda trial: trial[2]))


def list_forgeries(case: Case, owner: Any, sound: Subject) -> Iterator[tuple[str, Subject]]:
    """Yield messages that must not be valid, with a description of the fault.

    Args:
        case: Makes keys, and hides live values in the log.
        owner: The key that the caller expects.
        sound: A message that this key signed.
    """

    def sign_again(key: Any, **parameters: Any) -> Subject:
        return signed(case, key, parameters=parameters).with_expected_key(sound.key, sound.form)

    stranger = signer(case)
    expiry_time = int(time.time()) - _DAY_SECONDS
    case.client.names.name(str(expiry_time), "EXPIRES")
    yield "another path", sound.with_changes(target="/elsewhere")
    yield "another content", sound.with_changes(body=_OTHER_BODY)
    digest = digest_value(_OTHER_BODY, "sha-256")
    yield "another content and its digest", sound.with_field("Content-Digest", digest).with_changes(body=_OTHER_BODY)
    # The attack on a verifier that takes the key from the message itself: an attacker names any key there.
    yield "another signer, whom keyid names", sign_again(stranger, keyid=keys.did_key(raw_public(stranger)))
    yield "an alg that is not the key's", sign_again(owner, alg="rsa-v1_5-sha256")
    # A day is beyond any difference of clocks that an honest service allows for.
    yield "expired a day ago", sign_again(owner, expires=expiry_time)


async def _takes_content(case: Case, operation: Operation) -> bool:
    """Return whether the service is known to accept a message's content as `body_b64`."""
    if case.profile.is_reference or _CONTENT_MEMBER in dict(_list_members(operation)):
        return True
    return _CONTENT_MEMBER in await described_members(case, operation)


async def _judge_sound(case: Case, operation: Operation, description: str, subject: Subject) -> bool | None:
    """Judge that a sound message is valid; return the stated validity, or None if none is stated."""
    # The suite guesses the member names of another target, so a refusal may be the suite's fault.
    beyond = None if case.profile.is_reference else "the interface leaves open the form of the request"
    try:
        answer, validity = await _buy_verification(case, operation, subject)
    except Inconclusive as refusal:
        if beyond is None:
            raise
        case.note(f"{operation.path}, {description}: {refusal}; {beyond}")
        return None
    finding, where = f"{brief(answer)}, valid: {validity}", {"message": description}
    case.expect(_ROW, validity is True, "valid", finding, exchange=answer, where=where, beyond=beyond)
    return validity


async def _judge_forged(case: Case, operation: Operation, description: str, subject: Subject) -> None:
    """Judge that a forged message is not valid. A service that refuses the request does not certify it either."""
    try:
        answer, validity = await _buy_verification(case, operation, subject)
    except Inconclusive as reason:
        case.note(f"{operation.path}, {description}: {reason}")
        return
    where = {"operation": operation.path, "message": description}
    beyond = None if case.profile.is_reference else _OPEN_POINTS.get(description)
    case.expect(
        _ROW, validity is not True, "not valid", f"valid: {validity}", exchange=answer, where=where, beyond=beyond
    )


async def _buy_verification(case: Case, operation: Operation, subject: Subject) -> tuple[Answer, bool | None]:
    """Buy the verification of a message; return the answer and the validity that it states.

    Raises:
        Inconclusive: The call was not served.
    """
    body = Agent(case, "", REFERENCE_AGENT, is_reference=True).verify_body(subject)
    answer = (await purchase(case, operation, case.profile.claims.lanes[0], body=body)).answer
    result = result_of(case, answer)
    return answer, None if result is ABSENT else answer_reader.validity(result, None)


def _list_members(operation: Operation) -> list[tuple[str, Any]]:
    return list(operation.body.items()) if isinstance(operation.body, Mapping) else []
