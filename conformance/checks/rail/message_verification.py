"""RAIL-SVC-02: what the rail's own paid verification says of signed messages, forged ones among them."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from typing import Any, Final

from conformance.checks.shared.agent_rail_agreement import FAMILY_MEMBERS
from conformance.discovery.rail import Operation
from conformance.engine.check import Case, check
from conformance.engine.concurrency import run_concurrently
from conformance.engine.quick_policy import sample
from conformance.http.client import Answer
from conformance.oracles.message_signatures import keys
from conformance.oracles.message_signatures.digests import digest_value
from conformance.outcome import Inconclusive
from conformance.surfaces.agent import Agent, Subject, answers, signer
from conformance.surfaces.agent import subject as signed
from conformance.surfaces.agent.subjects import BODY, raw_public
from conformance.surfaces.rail.described_members import described_members
from conformance.surfaces.rail.paid_answers import ABSENT, brief, result_of
from conformance.surfaces.rail.purchase import purchase
from conformance.target import REFERENCE_AGENT

_ROW: Final = "RAIL-SVC-02"
_OPEN: Final = "what a result says of validity is in words that the interface leaves open, and cannot be read here"
_CONTENT: Final = "body_b64"
_OTHER_BODY: Final = BODY.replace(b"7", b"8")
_A_DAY: Final = 86_400
# Forgeries that go beyond what the interface says of a message, by what it leaves open of them.
_LEFT_OPEN: Final[Mapping[str, str]] = {
    "expired a day ago": "how far the clocks of two servers may differ is left open"
}


@check(
    _ROW,
    surface="rail",
    fix="Verify messages for pay as the free agent does: under the key that the caller expects, given as hex or as "
    "did:key, and no other; the signature over the base of the message that came; Content-Digest against the content.",
    quick=sample("forged messages"),
)
async def sold_messages_are_verified(case: Case) -> None:
    """The message verification that is sold finds a sound message valid, and no forged one.

    Buys on one lane the verification of a message whose signature holds, its key given in hex and as did:key, and
    expects both valid (6.3). Where one is, buys that of forged ones and expects none valid: with another path; with
    another content under the Content-Digest that was signed, and under one of its own (6.3, P-AG-06); signed by another
    key than the expected one, which keyid names (P-AG-04); with an alg that is not the key's (RFC 9421, 3.2); expired a
    day ago (P-AG-05), which warns. Where the service has names of its own for a message nothing is judged; what another
    target than the reference says of a sound one warns, and what it refuses is left out.
    """
    operation, lanes = case.session.catalog.find_service("rfc9421-verify"), case.profile.claims.lanes
    if not dict(_members(operation)).keys() >= FAMILY_MEMBERS or not operation.sure or not lanes:
        case.mark_not_applicable(_ROW, "how this service takes a message is not known, and so not what it verifies")
        return
    owner = signer(case)
    sound = signed(case, owner)
    spellings = {"its key in hex": sound, "its key as did:key": sound.expecting(sound.key, "did")}
    told = await run_concurrently(_sound(case, operation, *spelling) for spelling in spellings.items())
    if True not in told:
        case.mark_not_applicable(_ROW, _OPEN)
        return
    form = sound if told[0] is True else spellings["its key as did:key"]
    trials = dict(forged(case, owner, form))
    if not await _takes_content(case, operation):
        del trials["another content"]
        reason = f"nobody says that {operation.path} is given the content of a message as {_CONTENT}"
        case.mark_documented(_ROW, f"{reason}; bind [rail.bodies] {operation.role} with it")
    tried = case.sample(list(trials.items()), few=2)
    await run_concurrently(_refused(case, operation, *trial) for trial in tried)


def forged(case: Case, owner: Any, sound: Subject) -> Iterator[tuple[str, Subject]]:
    """Yield messages that must not be valid, by what is wrong with each.

    Args:
        case: Gives keys, and keeps live values out of the log.
        owner: The key that the caller expects.
        sound: A message that it signed.
    """

    def again(key: Any, **parameters: Any) -> Subject:
        return signed(case, key, parameters=parameters).expecting(sound.key, sound.form)

    stranger = signer(case)
    expired = int(time.time()) - _A_DAY
    case.client.names.name(str(expired), "EXPIRES")
    yield "another path", sound.changed(target="/elsewhere")
    yield "another content", sound.changed(body=_OTHER_BODY)
    digest = digest_value(_OTHER_BODY, "sha-256")
    yield "another content and its digest", sound.with_field("Content-Digest", digest).changed(body=_OTHER_BODY)
    yield "another signer, whom keyid names", again(stranger, keyid=keys.did_key(raw_public(stranger)))
    yield "an alg that is not the key's", again(owner, alg="rsa-v1_5-sha256")
    yield "expired a day ago", again(owner, expires=expired)


async def _takes_content(case: Case, operation: Operation) -> bool:
    """Return whether the service is known to be given a message's content by the family's name."""
    if case.profile.is_reference or _CONTENT in dict(_members(operation)):
        return True
    return _CONTENT in await described_members(case, operation)


async def _sound(case: Case, operation: Operation, what: str, subject: Subject) -> bool | None:
    """Judge that a sound message is valid; return what is said of it, None where nothing is."""
    beyond = None if case.profile.is_reference else "the interface leaves open how it is asked"
    try:
        answer, said = await _verified(case, operation, subject)
    except Inconclusive as refusal:
        if beyond is None:
            raise
        case.note(f"{operation.path}, {what}: {refusal}; {beyond}")
        return None
    found, where = f"{brief(answer)}, valid: {said}", {"message": what}
    case.expect(_ROW, said is True, "valid", found, exchange=answer, where=where, beyond=beyond)
    return said


async def _refused(case: Case, operation: Operation, what: str, subject: Subject) -> None:
    """Judge that a forged message is not valid; who refuses to look at it sells no pass for it."""
    try:
        answer, said = await _verified(case, operation, subject)
    except Inconclusive as reason:
        case.note(f"{operation.path}, {what}: {reason}")
        return
    where = {"operation": operation.path, "message": what}
    beyond = None if case.profile.is_reference else _LEFT_OPEN.get(what)
    case.expect(_ROW, said is not True, "not valid", f"valid: {said}", exchange=answer, where=where, beyond=beyond)


async def _verified(case: Case, operation: Operation, subject: Subject) -> tuple[Answer, bool | None]:
    """Buy the verification of a message; return the answer and what it says of validity.

    Raises:
        Inconclusive: It was not served.
    """
    body = Agent(case, "", REFERENCE_AGENT, ours=True).verify_body(subject)
    answer = (await purchase(case, operation, case.profile.claims.lanes[0], body=body)).answer
    result = result_of(case, answer)
    return answer, None if result is ABSENT else answers.validity(result, None)


def _members(operation: Operation) -> list[tuple[str, Any]]:
    return list(operation.body.items()) if isinstance(operation.body, Mapping) else []
