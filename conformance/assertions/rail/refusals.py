"""Calls that must be refused, and the honest payment that serves as their control."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from conformance.discovery.rail import Operation
from conformance.engine.check import Case
from conformance.engine.quick_policy import one_of_several
from conformance.http.client import Answer
from conformance.outcome import Inconclusive, OpenPoint
from conformance.surfaces.rail.paid_answers import brief, find_goods
from conformance.surfaces.rail.purchase import Challenge, challenge, name_live_values, pay, present, redeem
from conformance.surfaces.rail.unpaid_answers import entries, find_leaks

# The fault of a node that does not answer at all.
AWAY = "unavailable"


async def judge_challenged_again(
    case: Case, row: str, operation: Operation, unpaid: Answer, value_name: str, values: tuple[str, ...]
) -> None:
    """Send the values as X-PAYMENT headers; judge that the answer is 402 with accepts and hands nothing over."""
    for value in values:
        case.client.names.name(value, "X_PAYMENT")
    # Several values are sent as several header fields, which servers and proxies combine differently.
    headers = [("X-PAYMENT", value) for value in values]
    answer = await case.client.call("POST", operation.url, json_body=operation.body, headers=headers)
    at = case.profile.rail_bindings.result_at
    leaks = sorted(set(find_leaks(answer, at)) - set(find_leaks(unpaid, at)))
    case.expect(
        row,
        is_challenged(answer) and not leaks,
        "402 with accepts",
        f"{answer.status} with {len(entries(answer))} accepts entries" + (f" and {leaks}" if leaks else ""),
        exchange=answer,
        where={"operation": operation.path, "X-PAYMENT": value_name},
    )


def is_challenged(answer: Answer) -> bool:
    """Return whether an answer is 402 with at least one entry."""
    return answer.status == 402 and bool(entries(answer))


async def require_honest_payment_served(case: Case, operation: Operation) -> Mapping[str, Any]:
    """Require that an honest payment is served, and return its proof: a rail that refuses everything must not pass.

    Raises:
        Inconclusive: It is not served.
    """
    # A real payment for each check, because a proof can be redeemed only once.
    proof = await pay(case, await challenge(case, operation), case.lane)
    assert_control_is_served(await redeem(case, operation, proof))
    return proof


async def judge_refused(
    case: Case,
    row: str | tuple[str, ...],
    quote: Challenge,
    proof: Mapping[str, Any],
    payment_name: str,
    *,
    operation: Operation | None = None,
    patient: bool = False,
    beyond: str | None = None,
) -> Answer:
    """Present a proof and judge by each row that it buys nothing; `patient`: after the rail stops saying "not yet".

    `beyond` is a point that the interface leaves open (`Case.expect`).
    """
    name_live_values(case, proof)
    target, send = operation or quote.operation, redeem if patient else present
    answer = await send(case, target, dict(proof), body=quote.body if operation is None else None)
    judge_refusal(case, row, quote, answer, payment_name, operation=target, beyond=beyond)
    return answer


def judge_refusal(
    case: Case,
    row: str | tuple[str, ...],
    quote: Challenge,
    answer: Answer,
    payment_name: str,
    *,
    operation: Operation | None = None,
    beyond: str | None = None,
) -> None:
    """Judge by each row that the answer to a proof hands over nothing that the challenge did not contain."""
    target = operation or quote.operation
    goods = [place for place in find_goods(case, answer) if place not in find_goods(case, quote.answer)]
    for row_id in (row,) if isinstance(row, str) else row:
        _judge_refusal(case, row_id, answer, goods, {"operation": target.path, "payment": payment_name}, beyond)


def _judge_refusal(
    case: Case, row: str, answer: Answer, goods: Sequence[str], where: Mapping[str, str], beyond: str | None = None
) -> None:
    """Judge that an answer hands nothing over, whatever its status. A server error decides nothing.

    `goods` are the places of the answer with goods that only a payment buys. The profile may name statuses for a chain
    that cannot be consulted; these do not count as server errors.
    """
    if answer.status >= 500 and answer.status not in case.profile.rail_bindings.chain_down_status and not goods:
        payment_name = ", ".join(where.values())
        case.mark_inconclusive(
            row,
            f"{payment_name}: answered {answer.status}; a server error does not count as a refusal",
            exchange=answer,
        )
        return
    if row == "RAIL-PAY-06" and answer.status >= 500 and not goods:
        payment_name = where.get("payment", "it")
        case.note(f"{row}: {payment_name} was answered {answer.status}, although its node is available")
    finding = brief(answer) + (f" with {', '.join(goods)}" if goods else "")
    # A redirect or an error without goods is a refusal, whatever its status: the interface leaves the status open here.
    holds = answer.status >= 300 and not goods
    case.expect(row, holds, "not served", finding, exchange=answer, where=where, beyond=beyond)


def judge_outage(case: Case, answer: Answer, where: Mapping[str, str]) -> None:
    """Judge that a call buys nothing while a node has the fault of `where` (RAIL-WELD-13).

    If the node does not answer at all, RAIL-WELD-16 names the statuses, and another status than the profile's only
    warns. A payer that is asked to pay again by mistake pays twice. 409 is for a payment in progress.
    """
    # Without goods to compare: while the node has a fault, any status below 300 counts as served.
    _judge_refusal(case, "RAIL-WELD-13", answer, (), where)
    down_statuses = case.profile.rail_bindings.chain_down_status
    if where["fault"] == AWAY:
        passing_statuses = sorted({402, 409, 503, *down_statuses})
        requirement, holds = (
            " or ".join(map(str, passing_statuses)),
            answer.status < 300 or answer.status in passing_statuses,
        )
        case.expect("RAIL-WELD-16", holds, requirement, brief(answer), exchange=answer, where=where)
    if where["fault"] == AWAY and answer.status < 500:
        case.expect(
            "RAIL-WELD-13",
            answer.status in {*down_statuses, 409},
            f"{' or '.join(map(str, down_statuses))}, as [rail] chain_down_status says",
            brief(answer),
            exchange=answer,
            where=where,
            beyond=OpenPoint("nothing was served, but the profile names another status", "P-ER-03"),
        )


# Each of these checks makes a hundred claims, so a quick look runs them on one lane only.
QUICK = one_of_several("claims that lock a payer out")


def assert_control_is_served(answer: Answer, control_name: str = "an honest payment") -> None:
    """Require that the control was served.

    Raises:
        Inconclusive: It was not served, so refusals prove nothing.
    """
    if answer.status != 200:
        raise Inconclusive(f"the control, {control_name}, was answered {brief(answer)}, not 200")
