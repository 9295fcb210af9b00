"""A refused payment at a target that claims the specification: status, code and members, by REST and over A2A."""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any, Final

from conformance.assertions.rail.paid_tasks import order_task
from conformance.engine.check import Case
from conformance.http.client import Answer
from conformance.oracles.member_rules import Rules, equals, find_member_faults, is_an, one_of
from conformance.oracles.rail_members import find_failure_faults
from conformance.surfaces.rail import a2a
from conformance.surfaces.rail.challenge_faults import find_402_faults, find_origin_faults
from conformance.surfaces.rail.paid_answers import find_goods
from conformance.surfaces.rail.purchase import Challenge, name_live_values, present
from conformance.surfaces.rail.unpaid_answers import entries, references

ROW: Final = "RAIL-402-25"
# Refusals that time can mend. Every other refusal is final, and `Retry-After` there would send a client in circles.
_RETRY_SECONDS: Final = {"tx_not_found": 2, "tx_not_confirmed": 2, "payment_in_progress": 1, "chain_unavailable": 5}
_OTHER_STATUSES: Final = {
    "payment_already_spent": 409,
    "payment_in_progress": 409,
    "unsupported_media_type": 415,
    "payload_too_large": 413,
    "chain_unavailable": 503,
}
# P-RA-09: the payment extension's names.
_NAMES: Final = {
    "invalid_signature": "INVALID_SIGNATURE",
    "weld_mismatch": "INVALID_SIGNATURE",
    "challenge_expired": "EXPIRED_PAYMENT",
    "authorization_expired": "EXPIRED_PAYMENT",
    "payment_already_spent": "DUPLICATE_NONCE",
    "payment_refunded": "DUPLICATE_NONCE",
    "authorization_used": "DUPLICATE_NONCE",
    "lane_mismatch": "NETWORK_MISMATCH",
    "wrong_amount": "INVALID_AMOUNT",
    "insufficient_funds": "INSUFFICIENT_FUNDS",
}
_OTHER_NAME: Final = "SETTLEMENT_FAILED"
_HEX_ID: Final = re.compile("0x[0-9a-f]{64}")


@dataclass(frozen=True, slots=True)
class WrongPayment:
    """A payment with one fault.

    Attributes:
        name: The fault in words.
        quote: The challenge that it is presented for.
        proof: The proof, or the raw text of the header.
        code: The code of the first step of 5.7 that fails.
        body: The body of the request that presents it; the quoted one if None.
        query: The query of that request.
        names_lane: Whether its token names its lane.
    """

    name: str
    quote: Challenge
    proof: Mapping[str, Any] | str
    code: str
    body: Any = None
    query: str = ""
    names_lane: bool = True


async def judge_wrong_payment(case: Case, wrong: WrongPayment) -> None:
    """Present a wrong payment by REST, and over A2A if it is a proof without a query; judge both answers."""
    await judge_over_rest(case, wrong)
    if isinstance(wrong.proof, Mapping) and not wrong.query and case.profile.claims.includes("rail.a2a"):
        await judge_over_a2a(case, wrong)


async def judge_over_rest(case: Case, wrong: WrongPayment) -> None:
    """Present a wrong payment by REST, and judge the answer."""
    quote, operation = wrong.quote, wrong.quote.operation
    proof = dict(wrong.proof) if isinstance(wrong.proof, Mapping) else wrong.proof
    if isinstance(proof, dict):
        name_live_values(case, proof)
    body = quote.body if wrong.body is None else wrong.body
    answer = await present(case, operation, proof, body=body, query=wrong.query)
    expect_refusal(case, wrong, answer, body)


def expect_refusal(case: Case, wrong: WrongPayment, answer: Answer, body: Any) -> None:
    """Judge the answer to a wrong payment by REST; `body` is the request's."""
    status = _OTHER_STATUSES.get(wrong.code, 402)
    seconds = _RETRY_SECONDS.get(wrong.code)
    faults = [] if answer.status == status else [f"status {answer.status} {answer.read_object().get('error')}"]
    if not faults and status == 402:
        operation = wrong.quote.operation
        quoted_operation = operation.with_query(wrong.query) if wrong.query else operation
        faults = find_402_faults(case, quoted_operation, answer, body, error=wrong.code, is_refusal=True)
        faults += find_failure_faults(
            answer.headers.get("PAYMENT-RESPONSE"),
            wrong.code,
            _list_networks(case, wrong),
            _list_transactions(wrong) | _find_settlement(wrong, answer),
        )
        # A refusal must offer a fresh challenge. The old token is the one that the wrong payment named.
        if references(answer) & references(wrong.quote.answer):
            faults.append("tokens that were issued before")
    elif not faults:
        faults = find_error_faults(answer, wrong.code)
    if answer.headers.get("Retry-After") != (None if seconds is None else str(seconds)):
        faults.append(f"Retry-After {answer.headers.get('Retry-After')}")
    faults += [f"it contains {place}" for place in find_goods(case, answer)]
    where = {"operation": wrong.quote.operation.path, "payment": wrong.name}
    expectation = f"{status} {wrong.code}, as 5.7 says"
    case.expect(ROW, not faults, expectation, "; ".join(faults) or "so", exchange=answer, where=where)


def find_error_faults(answer: Answer, code: str) -> list[str]:
    """Return what of a refusal that is neither 402 nor 422 is not as P-ER-04 says, in words."""
    rules: Rules = {"error": equals(code), "message": is_an(str), "request_id": is_an(str)}
    return [*find_member_faults(answer.read_object(), rules, "the body"), *find_origin_faults(answer)]


def _list_networks(case: Case, wrong: WrongPayment) -> set[Any]:
    """Return the network that a refusal must name: that of the token, else the first one that is offered (P-ER-01)."""
    if wrong.names_lane:
        return {wrong.quote.entry(case.lane).get("network")}
    return {entry.get("network") for entry in entries(wrong.quote.answer)[:1] or wrong.quote.accepts[:1]}


def _list_transactions(wrong: WrongPayment) -> set[str]:
    tx_id = wrong.proof.get("tx_id") if isinstance(wrong.proof, Mapping) else None
    return {tx_id} if isinstance(tx_id, str) else set()


def _find_settlement(wrong: WrongPayment, answer: Answer) -> set[str]:
    """Return the transaction that settles a waiting authorization: only the rail knows it, so its form must do."""
    if wrong.code != "tx_not_confirmed" or not isinstance(wrong.proof, Mapping) or "authorization" not in wrong.proof:
        return set()
    with suppress(ValueError):
        settlement = json.loads(base64.b64decode(answer.headers.get("PAYMENT-RESPONSE", "")))
        tx_id = settlement.get("transaction") if isinstance(settlement, dict) else None
        return {tx_id} if isinstance(tx_id, str) and _HEX_ID.fullmatch(tx_id) else set()
    return set()


async def judge_over_a2a(case: Case, wrong: WrongPayment) -> None:
    """Pay a task with a wrong payment, and judge the task (P-RA-08, P-RA-09)."""
    operation = wrong.quote.operation
    order = operation if wrong.body is None else replace(operation, body=wrong.body)
    task = await order_task(case, order)
    assert isinstance(wrong.proof, Mapping)  # noqa: S101 - a header's text is not presented over A2A
    refused_task = await a2a.pay_task(case, task.id or "", wrong.proof)
    faults = _find_task_faults(case, wrong, task, refused_task)
    where = {"operation": operation.path, "payment": wrong.name, "door": "A2A"}
    expectation = f"a task that reports {wrong.code}, as P-RA-08 says"
    case.expect(ROW, not faults, expectation, "; ".join(faults) or "so", exchange=refused_task.answer, where=where)


def _find_task_faults(case: Case, wrong: WrongPayment, task: a2a.Task, refused_task: a2a.Task) -> list[str]:
    is_undecided = wrong.code in _RETRY_SECONDS
    status = "payment-submitted" if is_undecided else "payment-failed"
    faults = [] if refused_task.state == "input-required" else [f"state {refused_task.state}"]
    if refused_task.payment_status != status:
        faults.append(f"{a2a.STATUS_KEY} {refused_task.payment_status}")
    metadata = refused_task.members.get("metadata")
    members = metadata if isinstance(metadata, Mapping) else {}
    if is_undecided:
        seconds = members.get("retry_after_seconds")
        if not isinstance(seconds, int) or isinstance(seconds, bool) or seconds < 1:
            faults.append(f"task.metadata.retry_after_seconds {seconds!r}")
        return [*faults, "task.metadata.payment_state"] if "payment_state" in members else faults
    if members.get("payment_state") != "a2a-x402":
        faults.append(f"task.metadata.payment_state {members.get('payment_state')!r}")
    name, reported_name = _NAMES.get(wrong.code, _OTHER_NAME), refused_task.of_status(a2a.ERROR_KEY)
    if reported_name != name:
        faults.append(f"{a2a.ERROR_KEY} {reported_name!r}, not {name}")
    receipts = refused_task.of_status(a2a.RECEIPTS_KEY)
    rules: Rules = {
        "success": equals(False),
        "errorReason": equals(wrong.code),
        "transaction": one_of({"", *_list_transactions(wrong)}),
        "network": one_of(_list_networks(case, wrong)),
    }
    last = receipts[-1] if isinstance(receipts, list) and receipts else None
    faults += find_member_faults(last, rules, a2a.RECEIPTS_KEY)
    terms = refused_task.payment_terms or {}
    # Codes of other statuses than 402 are not codes of a 402's body, which the task repeats.
    error = "payment_required" if wrong.code in _OTHER_STATUSES else wrong.code
    if terms.get("error") != error:
        faults.append(f"{a2a.REQUIRED_KEY}.error {terms.get('error')!r}")
    if not refused_task.references or refused_task.references & task.references:
        faults.append("no fresh tokens")
    return faults
