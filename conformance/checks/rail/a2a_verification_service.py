"""RAIL-SVC-01 and -02 over A2A: a verification that is ordered by message rejects forgeries."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Final

from conformance.assertions.rail.paid_tasks import order_quoted_task, submit_payment
from conformance.checks.rail.receipt_verification import find_receipt_member
from conformance.checks.shared.agent_rail_agreement import FAMILY_MEMBERS
from conformance.discovery.rail import Operation
from conformance.engine.check import Case, check
from conformance.oracles.forging import compact
from conformance.oracles.jose import parse
from conformance.outcome import Inconclusive
from conformance.surfaces.agent import Agent, answer_reader, signer
from conformance.surfaces.agent import subject as signed
from conformance.surfaces.agent.subjects import raw_public
from conformance.surfaces.rail.a2a import Task
from conformance.surfaces.rail.paid_answers import extract_receipts, looks_payable
from conformance.surfaces.rail.purchase import pay
from conformance.target import REFERENCE_AGENT

_RECEIPT_ROW: Final = "RAIL-SVC-01"
_MESSAGE_ROW: Final = "RAIL-SVC-02"
_NO_READABLE_VERDICT: Final = "the task over A2A does not readably pass the sound one"


@check(
    _RECEIPT_ROW,
    _MESSAGE_ROW,
    surface="rail",
    fix="Run the same verification for an order over A2A as for a call by REST.",
)
async def verification_over_a2a_verifies(case: Case) -> None:
    """An order over A2A distinguishes a valid message from a forged one, as over REST (P-RA-05, 5.2).

    Orders on one lane, in the data part that the profile binds, the verification of a sound message and of one that is
    signed by another key. Then orders the verification of the first order's receipt, and of the same one with alg none.
    If the sound one passes, expects that the forged one does not. Nothing is judged if the profile lacks the option or
    does not bind how an order contains its request.
    """
    reason = _find_obstacle(case)
    if reason is not None:
        for row in (_RECEIPT_ROW, _MESSAGE_ROW):
            case.mark_not_applicable(row, reason)
        return
    task = await _judge_messages(case)
    await _judge_receipts(
        case, [] if task is None else [one for one in extract_receipts(task.answer) if looks_payable(one)]
    )


def _find_obstacle(case: Case) -> str | None:
    """Return why nothing can be ordered over A2A here, or None."""
    if not case.profile.claims.includes("rail.a2a"):
        return "the profile does not claim the option rail.a2a"
    # Only an order with a place for the whole request can carry a forged message. A fixed text always orders the
    # example.
    if "{body}" not in json.dumps(case.profile.rail_bindings.a2a_request) or not case.profile.claims.lanes:
        return "the profile does not bind how an order over A2A contains its request ([rail] a2a_request)"
    return None


async def _judge_messages(case: Case) -> Task | None:
    """Judge the verification of messages; return the sound one's task, or None if the service's form is unknown."""
    operation = case.session.catalog.find_service("rfc9421-verify")
    if (
        not isinstance(operation.body, Mapping)
        or not operation.body.keys() >= FAMILY_MEMBERS
        or not operation.is_accepted
    ):
        case.mark_not_applicable(
            _MESSAGE_ROW, "how this service takes a message is not known, and so not what it verifies"
        )
        return None
    agent, subject = Agent(case, "", REFERENCE_AGENT, is_reference=True), signed(case)
    forged_subject = subject.with_expected_key(raw_public(signer(case)))
    sound, sound_task = await _order_verification(case, operation, agent.verify_body(subject))
    # A service that never says "valid" in readable words would seem to reject every forgery. It is not judged.
    if sound is True:
        await _judge_forged(case, _MESSAGE_ROW, operation, agent.verify_body(forged_subject), "signed by another key")
    else:
        case.mark_not_applicable(_MESSAGE_ROW, _NO_READABLE_VERDICT)
    return sound_task


async def _judge_receipts(case: Case, tokens: list[str]) -> None:
    """Judge the verification of receipts. The first of the tokens is the sound one."""
    operation = case.session.catalog.find_service("receipt-verify")
    member = find_receipt_member(operation.body)
    if member is None or not operation.is_accepted or not tokens:
        case.mark_not_applicable(_RECEIPT_ROW, "how this service takes a receipt is not known, or no order brought one")
        return
    token = tokens[0]
    case.client.names.name(token, "RECEIPT")
    first = parse(token)
    forged_token = compact({**first.header, "alg": "none"}, first.payload, bytes(64))
    # A changed header alone must void the receipt: with alg none a careless library skips the signature.
    case.client.names.name(forged_token, "RECEIPT_WITH_ALG_NONE")
    sound, _ = await _order_verification(case, operation, {**operation.body, member: token})
    if sound is not True:
        case.mark_not_applicable(_RECEIPT_ROW, _NO_READABLE_VERDICT)
        return
    await _judge_forged(case, _RECEIPT_ROW, operation, {**operation.body, member: forged_token}, "alg none")


async def _judge_forged(case: Case, row: str, operation: Operation, body: Any, description: str) -> None:
    validity, forged_task = await _order_verification(case, operation, body)
    where = {"operation": operation.path, "door": "A2A", "verified": description}
    case.expect(row, validity is not True, "no pass", f"{validity}", exchange=forged_task.answer, where=where)


async def _order_verification(case: Case, operation: Operation, body: Any) -> tuple[bool | None, Task]:
    """Order a verification and pay it; return the validity that its artifacts state, and the task.

    Raises:
        Inconclusive: An honest payment did not complete the task.
    """
    task, quote = await order_quoted_task(case, replace(operation, body=body))
    paid_task = await submit_payment(case, task, await pay(case, quote, case.profile.claims.lanes[0]))
    if paid_task.state != "completed":
        raise Inconclusive(f"an honest payment over A2A became {paid_task.describe()}: its form is open")
    validities = (answer_reader.validity(one, None) for one in _list_artifact_data(paid_task))
    return next((one for one in validities if one is not None), None), paid_task


def _list_artifact_data(task: Task) -> list[Any]:
    """Return the data of a task's artifacts."""
    # The rest of the task may repeat the request, whose members must not be read as the result.
    artifacts = task.members.get("artifacts")
    parts = [one.get("parts") for one in artifacts if isinstance(one, Mapping)] if isinstance(artifacts, list) else []
    data_parts = [part for some in parts if isinstance(some, list) for part in some if isinstance(part, Mapping)]
    return [part["data"] for part in data_parts if "data" in part]
