"""RAIL-SVC-02: what the rail's own paid verification says of signed messages, forged ones among them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from conformance.checks.shared.agent_rail_agreement import FAMILY
from conformance.discovery.rail import Operation
from conformance.engine.check import Case, check
from conformance.engine.concurrency import run_concurrently
from conformance.http.client import Answer
from conformance.outcome import Inconclusive
from conformance.surfaces.agent import Agent, Subject, answers
from conformance.surfaces.agent import subject as signed
from conformance.surfaces.rail.paid_answers import ABSENT, brief, result_of
from conformance.surfaces.rail.purchase import purchase
from conformance.target import REFERENCE_AGENT

_OPEN = "what a result says of validity is in words that the interface leaves open, and cannot be read here"


@check(
    "RAIL-SVC-02",
    surface="rail",
    lane="each",
    fix="Verify the signature over the signature base of the message that came, under the key that the caller gave.",
)
async def sold_message_verification_verifies(case: Case) -> None:
    """The message verification that is sold tells a signed message from changed ones.

    Has a sound message verified, by the members that the published example has, and the same with another path and
    with another key. Where the result of the first is read as a pass, expects that those of the others are none.
    """
    operation = case.session.service("rfc9421-verify")
    if not dict(_members(operation)).keys() >= FAMILY:
        case.not_applicable("RAIL-SVC-02", f"how {operation.path} is given a message is not known")
        return
    agent, one = Agent(case, "", REFERENCE_AGENT, ours=True), signed(case)
    subjects = {
        "sound": one,
        "another path": one.changed(target="/elsewhere"),
        "another key": one.expecting(bytes(reversed(one.key or b""))),
    }
    bodies = {what: agent.verify_body(subject) for what, subject in subjects.items()}
    await _compared(case, "RAIL-SVC-02", operation, bodies)


@check(
    "RAIL-SVC-02",
    surface="rail",
    fix="Verify messages for pay as the free agent does: the key as hex or as did:key, the signature over the base.",
)
async def sound_messages_are_verified(case: Case) -> None:
    """The paid verification of messages finds a sound message sound, by either spelling of its key.

    Buys on one lane the verification of a message whose signature holds, its key given in hex and as did:key. Expects
    both valid. Where the service has names of its own for a message nothing is judged; what another target than the
    reference says warns, and a spelling that it refuses is left out.
    """
    operation, lanes = case.session.service("rfc9421-verify"), case.profile.claims.lanes
    if not dict(_members(operation)).keys() >= FAMILY or not operation.sure or not lanes:
        case.not_applicable("RAIL-SVC-02", "how this service takes a message is not known, and so not what it verifies")
        return
    agent, sound = Agent(case, "", REFERENCE_AGENT, ours=True), signed(case)
    spellings = {"its key in hex": sound, "its key as did:key": sound.expecting(sound.key, "did")}
    beyond = None if case.profile.target.defaults == "reference" else "the interface leaves open how it is asked"

    async def verified(what: str, subject: Subject) -> None:
        body = agent.verify_body(subject)
        try:
            answer = (await purchase(case, operation, lanes[0], body=body)).answer
        except Inconclusive as refusal:
            if beyond is None:
                raise
            case.not_applicable("RAIL-SVC-02", f"{operation.path}, {what}: {refusal}; {beyond}")
            return
        result = result_of(case, answer)
        said = None if result is ABSENT else answers.validity(result, None)
        found, where = f"{brief(answer)}, valid: {said}", {"message": what}
        case.expect("RAIL-SVC-02", said is True, "valid", found, exchange=answer, where=where, beyond=beyond)

    await run_concurrently(verified(*spelling) for spelling in spellings.items())


async def _compared(case: Case, row: str, operation: Operation, bodies: Mapping[str, Any]) -> None:
    """Judge that what is forged gets no pass, where the first body, which is sound, gets one."""
    passed: bool | None = None
    for what, body in bodies.items():
        try:
            answer = (await purchase(case, operation, case.lane, body=body)).answer
        except Inconclusive as reason:
            # Who refuses what is forged sells no pass for it; a sound one that is refused shows nothing.
            case.note(f"{operation.path}, {what}: {reason}")
            if passed is None:
                break
            continue
        said = _validity(case, answer)
        if passed is None:
            passed = said
            if passed is not True:
                break
            continue
        where = {"operation": operation.path, "verified": what}
        case.expect(row, said is not True, "no pass", f"{said}", exchange=answer, where=where)
    if passed is True:
        case.expect(row, True, "a pass for what is sound alone", "a pass", where={"operation": operation.path})
    else:
        case.not_applicable(row, _OPEN)


def _validity(case: Case, answer: Answer) -> bool | None:
    result = result_of(case, answer)
    return None if result is ABSENT else answers.validity(result, None)


def _members(operation: Operation) -> list[tuple[str, Any]]:
    return list(operation.body.items()) if isinstance(operation.body, Mapping) else []
