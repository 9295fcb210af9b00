"""A paid call that must be served, and the contents of its answer."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Final

from conformance.discovery.rail import Operation
from conformance.engine.check import Case
from conformance.engine.concurrent_check_steps import run_concurrently
from conformance.oracles import jose
from conformance.oracles.ed25519_keys import Ed25519Key
from conformance.outcome import Inconclusive
from conformance.surfaces.rail.keys import published_keys
from conformance.surfaces.rail.paid_answers import brief, receipts_in
from conformance.surfaces.rail.purchase import challenge, pay, redeem
from conformance.surfaces.rail.unpaid_answers import cache_control, is_shareable

# A query that no service reads, unusual but valid: it contains an encoded delimiter as data.
QUERY: Final = "asked=with%26a-query"


async def judge_operations_served(case: Case, rows: tuple[str, ...]) -> None:
    """Pay every operation, or some in a quick look, and judge the answers as `judge_served_calls` does."""
    keys = [key for published in await published_keys(case) for key in published]
    await run_concurrently(
        judge_served_calls(case, operation, keys, rows) for operation in case.sample(case.session.catalog.operations)
    )


async def judge_served_calls(case: Case, operation: Operation, keys: list[Ed25519Key], rows: tuple[str, ...]) -> None:
    """Pay calls on the check's lane and judge the answers: `rows` by their status, RAIL-PAY-05 and -16 by the rest.

    Every operation is bought with its usual body, and with another body if one is documented. A rail that quotes
    another request than the one sent can sell only its usual request. The first operation is also bought with a query,
    if it is quoted with it.
    """
    other_bodies = () if operation.is_guess else operation.other_bodies[:1]
    for body in (operation.body, *other_bodies):
        await _judge_served_call(case, replace(operation, body=body), keys, rows)
    # One operation is enough: whether a query is welded does not depend on the operation.
    if operation == case.session.catalog.operations[0]:
        await _judge_query_call(case, operation.with_query(QUERY), rows)


async def _judge_query_call(case: Case, operation: Operation, rows: tuple[str, ...]) -> None:
    try:
        quote = await challenge(case, operation)
    except Inconclusive:  # a rail that quotes no price for it does not sell it
        return
    answer = await redeem(case, operation, await pay(case, quote, case.lane))
    beyond = None if case.profile.is_reference else "whether a call may have a query is left open"
    requirement, where = (
        "200 for a payment of the very call that was quoted",
        {"operation": operation.path, "query": QUERY},
    )
    for row in rows:
        case.expect(row, answer.status == 200, requirement, brief(answer), exchange=answer, where=where, beyond=beyond)


async def _judge_served_call(case: Case, operation: Operation, keys: list[Ed25519Key], rows: tuple[str, ...]) -> None:
    where = {"operation": operation.path}
    quote = await challenge(case, operation)
    proof: dict[str, Any] = await pay(case, quote, case.lane)
    answer = await redeem(case, operation, proof)
    for row in rows:
        case.expect(row, answer.status == 200, "200 for a welded payment", brief(answer), exchange=answer, where=where)
    if answer.status != 200:
        return
    receipt_place = case.profile.rail_bindings.receipt_at
    places = [
        place
        for place, token in receipts_in(answer, receipt_place)
        if receipt_place is not None or jose.fault_of(token, keys) is None
    ]
    requirement = f"a compact JWS at {receipt_place}" if receipt_place else "a compact JWS that the rail signed"
    case.expect("RAIL-PAY-05", bool(places), requirement, places or "none", exchange=answer, where=where)
    case.expect(
        "RAIL-PAY-16",
        not is_shareable(answer),
        "private or no-store",
        cache_control(answer),
        exchange=answer,
        where=where,
    )
