"""RAIL-SVC-02: what the rail's paid verification says of signed messages that are sound, and of one that is not."""

from __future__ import annotations

from collections.abc import Mapping

from conformance.checks.shared.agent_rail_agreement import FAMILY, paid_validity
from conformance.engine.check import Case, check
from conformance.engine.concurrency import run_concurrently
from conformance.surfaces.agent import Agent, Subject
from conformance.surfaces.agent import subject as signed
from conformance.surfaces.rail.paid_answers import ABSENT, brief, result_of
from conformance.surfaces.rail.purchase import challenge, pay, redeem
from conformance.target import REFERENCE_AGENT


@check(
    "RAIL-SVC-02",
    surface="rail",
    fix="Verify messages for pay as the free agent does: the key as hex or as did:key, the signature over the base.",
)
async def messages_are_verified(case: Case) -> None:
    """The paid verification of messages finds a sound message sound, by either spelling of its key, and no other.

    Buys on one lane the verification of a message whose signature holds, its key given in hex and as did:key, and of
    the same message for another path. Expects the first two valid and the third not. Where the service has names of its
    own for a message nothing is judged; what another target than the reference says warns.
    """
    operation = case.session.service("rfc9421-verify")
    lanes = case.profile.claims.lanes
    if (
        not isinstance(operation.body, Mapping)
        or not operation.body.keys() >= FAMILY
        or not operation.sure
        or not lanes
    ):
        case.not_applicable("RAIL-SVC-02", "how this service takes a message is not known, and so not what it verifies")
        return
    agent = Agent(case, "", REFERENCE_AGENT, ours=True)
    one = signed(case)
    subjects = {
        "its key in hex": (True, one),
        "its key as did:key": (True, one.expecting(one.key, "did")),
        "another path": (False, one.changed(target="/elsewhere")),
    }
    beyond = None if case.profile.target.defaults == "reference" else "the interface leaves open how it is asked"

    async def verified(what: str, valid: bool, subject: Subject) -> None:
        body = agent.verify_body(subject)
        quote = await challenge(case, operation, body=body)
        answer = await redeem(case, operation, await pay(case, quote, lanes[0]), body=body)
        result = result_of(case, answer)
        said = None if answer.status != 200 or result is ABSENT else paid_validity(agent, result)
        told, found = "valid" if valid else "not valid", f"{brief(answer)}, valid: {said}"
        where = {"message": what}
        case.expect("RAIL-SVC-02", said is valid, told, found, exchange=answer, where=where, beyond=beyond)

    await run_concurrently(verified(what, *given) for what, given in subjects.items())
