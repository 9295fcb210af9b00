"""X-DIFF-01: the free agent and the paid rail return the same validity for the same signed message."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from conformance.engine.check import Case, check
from conformance.engine.concurrent_check_steps import run_concurrently
from conformance.outcome import Inconclusive
from conformance.surfaces.agent import Agent, Subject, agent_of, answer_reader
from conformance.surfaces.agent import subject as signed
from conformance.surfaces.rail.paid_answers import ABSENT, result_of
from conformance.surfaces.rail.purchase import challenge, pay, redeem
from conformance.target import REFERENCE_AGENT

_ROW = "X-DIFF-01"
FAMILY_MEMBERS = frozenset({"method", "authority", "path", "headers"})


def body_for_rail(agent: Agent, example: Any, subject: Subject) -> dict[str, Any]:
    """Return the body of a paid verification of a message.

    Its member names are those of the reference if the operation's example uses them, else those of the agent.
    """
    if isinstance(example, Mapping) and example.keys() >= FAMILY_MEMBERS:
        agent = replace(agent, bindings=REFERENCE_AGENT)
    # The interface names no member of the paid call. Without an example the best guess is that one service names its
    # members the same way at both endpoints.
    return agent.verify_body(subject)


def read_paid_validity(agent: Agent, result: Any) -> bool | None:
    """Return the validity that a paid result states, or None if it states none.

    Raises:
        Inconclusive: The result states it in a word whose meaning is unknown.
    """
    bindings = agent.bindings
    validity = answer_reader.validity(result, bindings.validity_at, bindings.validity_words)
    # The reference promises one place for the verdict. A search elsewhere would hide that it moved.
    if validity is not None or agent.is_reference:
        return validity
    # Another service may wrap the agent's result for the paid call, so the verdict may be at any place.
    validity = answer_reader.validity(result, None)
    unknown_word = answer_reader.unknown_word(result, None)
    if validity is None and unknown_word is not None and bindings.validity_words is None:
        where, word = unknown_word
        raise Inconclusive(f"unbound: {where} says {word[:80]!r}; give [agent] validity_words what each word means")
    return validity


@check(_ROW, surface="rail", fix="Verify messages with one core, for the agent and for the paid call.")
async def agent_and_rail_judge_alike(case: Case) -> None:
    """The free agent and the paid rail give the same validity for the same signed message and key.

    Verifies a sound message, and messages with another path, another body and another key. Each is verified by the
    agent and by a paid call of the rail on one lane. The reference also verifies a message whose key is a did:key.
    Expects the same validity from both.
    """
    agent = await agent_of(case)
    operation = case.session.catalog.find_service("rfc9421-verify")
    lanes = case.profile.claims.lanes
    if not lanes:
        raise Inconclusive("the profile claims no lane to pay on")
    sound = signed(case)
    subjects = {
        "sound": sound,
        "another path": sound.with_changes(target="/elsewhere"),
        "another body": sound.with_changes(body=b"{}"),
        "another key": sound.with_expected_key(bytes(reversed(sound.key or b""))),
    }
    # The interface does not say that a paid call accepts a key as did:key. Only the reference promises it.
    if case.profile.is_reference:
        subjects["a key as did:key"] = sound.with_expected_key(sound.key, "did")

    async def compare_validity(name: str) -> None:
        body = body_for_rail(agent, operation.body, subjects[name])
        free_answer = await agent.verify(subjects[name])
        quote = await challenge(case, operation, body=body)
        answer = await redeem(case, operation, await pay(case, quote, lanes[0]), body=body)
        result: Any = result_of(case, answer)
        if answer.status != 200 or result is ABSENT:
            raise Inconclusive(f"the paid verification was answered {answer.status}; RAIL-SVC judges that")
        free_validity, sold_validity = agent.validity(free_answer), read_paid_validity(agent, result)
        where = {"message": name}
        # Two answers without a verdict do not agree on one: a service that says nothing at either endpoint must not
        # pass.
        case.expect(
            _ROW,
            free_validity is sold_validity and free_validity is not None,
            f"{free_validity}",
            f"{sold_validity}",
            exchange=answer,
            where=where,
        )

    await run_concurrently(map(compare_validity, subjects))
